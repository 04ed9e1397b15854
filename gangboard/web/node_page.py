"""The Node page: what it offers, who is on it, which waiting gangs would fit, and what keeps the others out."""

from __future__ import annotations

from gangboard.readmodels.nodes import NodeView, read_node
from gangboard.web.frame import Frame
from gangboard.web.live.fragments import Fragment
from gangboard.web.live_page import Fragments, LivePage


class NodePage(LivePage[NodeView]):
    """One node; one that is not there and one that may not be seen look the same."""

    name = "node"
    template_name = "nodes/page.html"
    section = "capacity"

    def read(self, frame: Frame) -> NodeView | None:
        """Return the node."""
        return read_node(
            viewer=frame.viewer,
            cluster=self.kwargs["cluster"],
            name=self.kwargs["name"],
            clusters=frame.clusters,
            now=frame.now,
        )

    def fragments(self, frame: Frame, found: NodeView) -> Fragments:
        """Return all panels."""
        state = {"node": found}
        may_act = any(
            frame.viewer.may_operate(found.freshness.cluster_id, one.gang.namespace)
            for one in found.occupants
        )
        said = (found.sentence, found.ready, found.cordoned, found.blind)
        room = (found.blind, found.amounts, found.stranded)
        waiting = (
            *(found.blind, found.cordoned, found.more_waiting),
            tuple(one.shown for one in found.waiting),
        )
        here = (
            tuple(one.shown for one in found.occupants),
            *(found.others, found.stay, found.hidden, may_act),
        )
        facts = (
            *(found.ready, found.ready_since, found.ready_reason, found.cordoned),
            *(found.taints, found.topology, found.pool),
        )
        commands = {"commands": found.commands}
        return (
            Fragment("node-verdict", "nodes/verdict.html", state, said),
            Fragment("node-room", "nodes/room.html", state, room),
            Fragment("node-pods", "nodes/pods.html", {**state, "may_act": may_act}, here),
            Fragment("node-waiting", "nodes/waiting.html", state, waiting),
            Fragment("node-facts", "nodes/facts.html", state, facts),
            Fragment("commands", "gang/commands.html", commands, found.commands),
        )

    def context(self, frame: Frame, found: NodeView) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return the names, fit to print."""
        return {"node": found}
