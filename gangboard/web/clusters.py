"""The Clusters page and the page of one cluster."""

from __future__ import annotations

from dataclasses import replace

from gangboard.readmodels.cluster_contents import ClusterContents, read_contents
from gangboard.readmodels.clusters import ClusterState, cluster_detail, find_slots, list_clusters
from gangboard.web.frame import Frame
from gangboard.web.live.fragments import Fragment, FragmentList
from gangboard.web.live_page import Fragments, LivePage


class ClustersPage(LivePage[tuple[ClusterState, ...]]):
    """All clusters of which the viewer may see something."""

    name = "clusters"
    template_name = "clusters/page.html"
    section = "clusters"
    welcomes = True

    def read(self, frame: Frame) -> tuple[ClusterState, ...]:
        """Return the clusters."""
        return tuple(list_clusters(viewer=frame.viewer, now=frame.now))

    def fragments(self, frame: Frame, found: tuple[ClusterState, ...]) -> Fragments:
        """Return a card for each cluster."""
        slots = find_slots(viewer=frame.viewer, liveness=frame.liveness, now=frame.now)
        contents = read_contents(viewer=frame.viewer, clusters=frame.clusters)
        cards = tuple(_card(state, contents.get(state.name)) for state in found)
        return (
            Fragment("slots", "clusters/slots.html", {"slots": slots}, slots),
            FragmentList("clusters", cards),
        )


class ClusterPage(LivePage[ClusterState]):
    """One cluster with every resource."""

    name = "cluster"
    template_name = "clusters/detail.html"
    section = "clusters"

    def read(self, frame: Frame) -> ClusterState | None:
        """Return the cluster."""
        return cluster_detail(self.kwargs["name"], viewer=frame.viewer, now=frame.now)

    def fragments(self, frame: Frame, found: ClusterState) -> Fragments:
        """Return its card, its outages and its resources."""
        resources = tuple(replace(row, contact_at=None) for row in found.resources)
        here = {id_: one for id_, one in frame.clusters.items() if one.cluster == found.name}
        contents = read_contents(viewer=frame.viewer, clusters=here)
        return (
            replace(_card(found, contents.get(found.name)), id="card"),
            Fragment("outages", "clusters/outages.html", {"state": found}, found.outages),
            Fragment("resources", "clusters/resources.html", {"state": found}, resources),
        )

    def context(self, frame: Frame, found: ClusterState) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return its name."""
        return {"name": self.kwargs["name"]}


def _card(state: ClusterState, contents: ClusterContents | None) -> Fragment:
    context = {"state": state, "contents": contents}
    return Fragment(f"c-{state.name}", "clusters/card.html", context, (_shown(state), contents))


def _shown(state: ClusterState) -> tuple[object, ...]:
    """Return all that a card prints besides what a clock changes."""
    return (
        state.freshness.shown,
        state.headline,
        state.problem_since,
        state.server,
        state.server_version,
        state.listed_at,
        tuple(replace(row, contact_at=None) for row in state.faults),
        state.objects,
        state.expiry and state.expiry.tone,
        state.actor_expiry and state.actor_expiry.tone,
        state.levers,
        state.step,
        state.claims,
        state.holder,
        state.gangs,
    )
