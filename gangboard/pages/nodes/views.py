"""The page of one node, and the page of the Jobs on it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest

from gangboard.actions.requests import MOST_AT_ONCE
from gangboard.domain.action import Verb
from gangboard.pages.core.layout import Frame
from gangboard.pages.core.live.fragments import Fragment
from gangboard.pages.core.live.page import Fragments, LivePage
from gangboard.pages.core.query_state import read_text
from gangboard.pages.nodes.node_jobs import NodeJob, jobs_on_node
from gangboard.pages.nodes.queries import read_node
from gangboard.pages.nodes.rows import NodeDetail
from gangboard.readmodels.action_labels import shared_label
from gangboard.readmodels.formatting import printable


class NodePage(LivePage[NodeDetail]):
    """One node: what it offers, who is on it, which waiting gangs would fit, and what keeps the others out."""

    name = "node"
    template_name = "nodes/page.html"
    section = "capacity"

    def read(self, frame: Frame) -> NodeDetail | None:
        """Return the node. A node that does not exist and one that the viewer may not see look the same."""
        return read_node(
            viewer=frame.viewer,
            cluster=self.kwargs["cluster"],
            name=self.kwargs["name"],
            clusters=frame.clusters,
            now=frame.now,
        )

    def fragments(self, frame: Frame, found: NodeDetail) -> Fragments:
        """Return all panels, each with the values that it prints."""
        state = {"node": found}
        may_act = any(
            frame.viewer.may_operate(found.freshness.cluster_id, row.gang.namespace)
            for row in found.occupants
        )
        verdict = (found.sentence, found.ready, found.cordoned, found.blind)
        room = (found.blind, found.amounts, found.stranded)
        waiting = (
            *(found.blind, found.cordoned, found.more_waiting),
            tuple(row.shown for row in found.waiting),
        )
        pods = (
            tuple(row.shown for row in found.occupants),
            *(found.others, found.stay, found.hidden, may_act),
        )
        facts = (
            *(found.ready, found.ready_since, found.ready_reason, found.cordoned),
            *(found.taints, found.topology, found.pool),
        )
        commands = {"commands": found.commands}
        return (
            Fragment("node-verdict", "nodes/verdict.html", state, verdict),
            Fragment("node-room", "nodes/room.html", state, room),
            Fragment("node-pods", "nodes/pods.html", {**state, "may_act": may_act}, pods),
            Fragment("node-waiting", "nodes/waiting.html", state, waiting),
            Fragment("node-facts", "nodes/facts.html", state, facts),
            Fragment("commands", "gang/commands.html", commands, found.commands),
        )

    def context(self, frame: Frame, found: NodeDetail) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return the node, for its name."""
        return {"node": found}


class NodeJobsPage(LivePage[tuple[NodeJob, ...]]):
    """The Jobs on a node, to hold them with one confirmation before the node is repaired.

    The page has the gangs that the viewer may see.
    """

    name = "node-jobs"
    template_name = "nodes/jobs_page.html"
    section = "capacity"
    cluster: str
    node: str

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Read the names of cluster and node from the address."""
        super().setup(request, *args, **kwargs)
        self.cluster, self.node = read_text(request.GET, "cluster"), read_text(request.GET, "node")

    @property
    def live(self) -> str:
        """Return the address of the waiting request, with the node."""
        return f"{super().live}?{urlencode({'cluster': self.cluster, 'node': self.node})}"

    def read(self, frame: Frame) -> tuple[NodeJob, ...] | None:
        """Return the Jobs; None when the viewer sees no such cluster.

        A node that the viewer may not see and a node without Jobs look the same.
        """
        is_visible = any(cluster.cluster == self.cluster for cluster in frame.clusters.values())
        if not self.node or not is_visible:
            return None
        return jobs_on_node(
            viewer=frame.viewer, cluster=self.cluster, node=self.node, now=frame.now
        )

    def fragments(self, frame: Frame, found: tuple[NodeJob, ...]) -> Fragments:  # noqa: ARG002  # LivePage's
        """Return the table of Jobs."""
        labels = [job.offer.label for job in found if job.offer.allowed]
        allowed = len(labels)
        state = {
            "jobs": found,
            "allowed": allowed,
            "word": shared_label(Verb.SUSPEND, labels),
            "most": MOST_AT_ONCE,
            "too_many": allowed > MOST_AT_ONCE,
        }
        return (Fragment("node-jobs", "nodes/jobs.html", state, tuple(state.values())),)

    def context(self, frame: Frame, found: tuple[NodeJob, ...]) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return the names, fit to print."""
        return {"cluster": printable(self.cluster), "node": printable(self.node)}
