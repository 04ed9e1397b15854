"""The Clusters page and the page of one cluster."""

from __future__ import annotations

from dataclasses import replace

from gangboard.pages.clusters.contents import ClusterContents, read_contents
from gangboard.pages.clusters.queries import cluster_detail, find_slots, list_clusters
from gangboard.pages.clusters.rows import ClusterRow, without_contact
from gangboard.pages.core.layout import Frame
from gangboard.pages.core.live.fragments import Fragment, FragmentList
from gangboard.pages.core.live.page import Fragments, LivePage


class ClustersPage(LivePage[tuple[ClusterRow, ...]]):
    """All clusters of which the viewer may see something."""

    name = "clusters"
    template_name = "clusters/page.html"
    section = "clusters"
    welcomes = True

    def read(self, frame: Frame) -> tuple[ClusterRow, ...]:
        """Return the clusters."""
        return list_clusters(viewer=frame.viewer, now=frame.now)

    def fragments(self, frame: Frame, found: tuple[ClusterRow, ...]) -> Fragments:
        """Return a card for each cluster."""
        slots = find_slots(viewer=frame.viewer, liveness=frame.liveness, now=frame.now)
        contents = read_contents(viewer=frame.viewer, clusters=frame.clusters)
        cards = tuple(_card(row, contents.get(row.name)) for row in found)
        return (
            Fragment("slots", "clusters/slots.html", {"slots": slots}, slots),
            FragmentList("clusters", cards),
        )


class ClusterPage(LivePage[ClusterRow]):
    """One cluster with every resource."""

    name = "cluster"
    template_name = "clusters/detail.html"
    section = "clusters"

    def read(self, frame: Frame) -> ClusterRow | None:
        """Return the cluster."""
        return cluster_detail(self.kwargs["name"], viewer=frame.viewer, now=frame.now)

    def fragments(self, frame: Frame, found: ClusterRow) -> Fragments:
        """Return its card, its outages and its resources."""
        freshness = {id_: row for id_, row in frame.clusters.items() if row.cluster == found.name}
        contents = read_contents(viewer=frame.viewer, clusters=freshness)
        resources = without_contact(found.resources)
        return (
            replace(_card(found, contents.get(found.name)), id="card"),
            Fragment("outages", "clusters/outages.html", {"state": found}, found.outages),
            Fragment("resources", "clusters/resources.html", {"state": found}, resources),
        )

    def context(self, frame: Frame, found: ClusterRow) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return its name."""
        return {"name": self.kwargs["name"]}


def _card(row: ClusterRow, contents: ClusterContents | None) -> Fragment:
    context = {"state": row, "contents": contents}
    return Fragment(f"c-{row.name}", "clusters/card.html", context, (row.shown, contents))
