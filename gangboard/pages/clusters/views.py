"""The Clusters page and the page of one cluster."""

from __future__ import annotations

from dataclasses import replace

from gangboard.pages.clusters.contents import ClusterContents, read_contents
from gangboard.pages.clusters.queries import cluster_detail, find_slot_shortage, list_clusters
from gangboard.pages.clusters.rows import ClusterRow, without_contact
from gangboard.pages.core.layout import Frame
from gangboard.pages.core.live.fragments import Fragment, FragmentList
from gangboard.pages.core.live.page import Fragments, LivePage


class ClustersPage(LivePage[tuple[ClusterRow, ...]]):
    """All clusters in which the viewer may see at least one namespace."""

    name = "clusters"
    template_name = "clusters/page.html"
    section = "clusters"
    welcomes = True

    def read(self, frame: Frame) -> tuple[ClusterRow, ...]:
        """Return the clusters."""
        return list_clusters(viewer=frame.viewer, now=frame.now)

    def fragments(self, frame: Frame, data: tuple[ClusterRow, ...]) -> Fragments:
        """Return a card for each cluster."""
        slots = find_slot_shortage(viewer=frame.viewer, liveness=frame.liveness, now=frame.now)
        contents = read_contents(viewer=frame.viewer, clusters=frame.clusters)
        cards = tuple(_card(row, contents.get(row.name)) for row in data)
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

    def fragments(self, frame: Frame, data: ClusterRow) -> Fragments:
        """Return its card, its outages and its resources."""
        freshness = {id_: row for id_, row in frame.clusters.items() if row.cluster == data.name}
        contents = read_contents(viewer=frame.viewer, clusters=freshness)
        resources = without_contact(data.resources)
        return (
            replace(_card(data, contents.get(data.name)), id="card"),
            Fragment("outages", "clusters/outages.html", {"state": data}, data.outages),
            Fragment("resources", "clusters/resources.html", {"state": data}, resources),
        )

    def context(self, frame: Frame, data: ClusterRow) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return its name."""
        return {"name": self.kwargs["name"]}


def _card(row: ClusterRow, contents: ClusterContents | None) -> Fragment:
    context = {"state": row, "contents": contents}
    return Fragment(f"c-{row.name}", "clusters/card.html", context, (row.printed_fields, contents))
