"""All Jobs with pods on one node, to hold them with one confirmation before it is worked on."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest

from gangboard.actions.requests import MOST_AT_ONCE
from gangboard.domain.action import Verb
from gangboard.readmodels.action_labels import shared_label
from gangboard.readmodels.node_jobs import NodeJob, jobs_on_node
from gangboard.readmodels.printable import printable
from gangboard.web.addresses import read_text
from gangboard.web.frame import Frame
from gangboard.web.live.fragments import Fragment
from gangboard.web.live_page import Fragments, LivePage


class NodeJobsPage(LivePage[tuple[NodeJob, ...]]):
    """The Jobs on a node, of the gangs that the viewer may see."""

    name = "node-jobs"
    template_name = "actions/node.html"
    section = "capacity"
    cluster: str
    node: str

    def setup(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """Read which node is asked for."""
        super().setup(request, *args, **kwargs)
        self.cluster, self.node = read_text(request.GET, "cluster"), read_text(request.GET, "node")

    @property
    def live(self) -> str:
        """Return the address of the waiting request, with the node."""
        return f"{super().live}?{urlencode({'cluster': self.cluster, 'node': self.node})}"

    def read(self, frame: Frame) -> tuple[NodeJob, ...] | None:
        """Return the Jobs; None when the viewer sees no such cluster.

        A node that it does not see and one without Jobs of its look the same.
        """
        seen = any(one.cluster == self.cluster for one in frame.clusters.values())
        if not self.node or not seen:
            return None
        return jobs_on_node(
            viewer=frame.viewer, cluster=self.cluster, node=self.node, now=frame.now
        )

    def fragments(self, frame: Frame, found: tuple[NodeJob, ...]) -> Fragments:  # noqa: ARG002  # LivePage's
        """Return the table of Jobs."""
        labels = [one.offer.label for one in found if one.offer.allowed]
        allowed = len(labels)
        state = {
            "jobs": found,
            "allowed": allowed,
            "word": shared_label(Verb.SUSPEND, labels),
            "most": MOST_AT_ONCE,
            "too_many": allowed > MOST_AT_ONCE,
        }
        return (Fragment("node-jobs", "actions/node_jobs.html", state, tuple(state.values())),)

    def context(self, frame: Frame, found: tuple[NodeJob, ...]) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return the names, fit to print."""
        return {"cluster": printable(self.cluster), "node": printable(self.node)}
