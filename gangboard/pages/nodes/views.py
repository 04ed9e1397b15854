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
    """One node: its resources, the gangs on it, and the waiting gangs that would fit or are excluded."""

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

    def fragments(self, frame: Frame, data: NodeDetail) -> Fragments:
        """Return the panels, each with the values that it prints."""
        state = {"node": data}
        may_act = any(
            frame.viewer.may_operate(data.freshness.cluster_id, row.gang.namespace)
            for row in data.occupants
        )
        verdict = (data.sentence, data.ready, data.cordoned, data.blind)
        capacity = (data.blind, data.amounts, data.stranded)
        waiting = (
            *(data.blind, data.cordoned, data.more_waiting),
            tuple(row.printed_fields for row in data.waiting),
        )
        pods = (
            tuple(row.printed_fields for row in data.occupants),
            *(data.other_pods, data.staying, data.hidden, may_act),
        )
        facts = (
            *(data.ready, data.ready_since, data.ready_reason, data.cordoned),
            *(data.taints, data.topology, data.pool),
        )
        commands = {"commands": data.commands}
        return (
            Fragment("node-verdict", "nodes/verdict.html", state, verdict),
            Fragment("node-room", "nodes/room.html", state, capacity),
            Fragment("node-pods", "nodes/pods.html", {**state, "may_act": may_act}, pods),
            Fragment("node-waiting", "nodes/waiting.html", state, waiting),
            Fragment("node-facts", "nodes/facts.html", state, facts),
            Fragment("commands", "gang/commands.html", commands, data.commands),
        )

    def context(self, frame: Frame, data: NodeDetail) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return the node, whose name the template prints."""
        return {"node": data}


class NodeJobsPage(LivePage[tuple[NodeJob, ...]]):
    """The Jobs on a node, to suspend them with one confirmation before a repair of the node.

    It shows the Jobs of gangs that the viewer may see.
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
        """Return the Jobs, or None if the viewer may not see the cluster.

        A node that the viewer may not see and a node without Jobs look the same.
        """
        is_visible = any(cluster.cluster == self.cluster for cluster in frame.clusters.values())
        if not self.node or not is_visible:
            return None
        return jobs_on_node(
            viewer=frame.viewer, cluster=self.cluster, node=self.node, now=frame.now
        )

    def fragments(self, frame: Frame, data: tuple[NodeJob, ...]) -> Fragments:  # noqa: ARG002  # LivePage's
        """Return the table of Jobs."""
        labels = [job.offer.label for job in data if job.offer.allowed]
        allowed = len(labels)
        state = {
            "jobs": data,
            "allowed": allowed,
            "word": shared_label(Verb.SUSPEND, labels),
            "most": MOST_AT_ONCE,
            "too_many": allowed > MOST_AT_ONCE,
            "place": f"node:{self.node}",
        }
        return (Fragment("node-jobs", "nodes/jobs.html", state, tuple(state.values())),)

    def context(self, frame: Frame, data: tuple[NodeJob, ...]) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return the sanitized names of cluster and node."""
        return {"cluster": printable(self.cluster), "node": printable(self.node)}
