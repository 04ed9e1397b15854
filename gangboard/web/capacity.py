"""The Capacity page: nodes by pool, what is free, what incomplete gangs hold, what fits now."""

from __future__ import annotations

from dataclasses import dataclass

from gangboard.readmodels.capacity import Capacity, ClusterRow, read_capacity
from gangboard.web.addresses import Address, make_select, select_cluster
from gangboard.web.live.fragments import Fragment, FragmentList
from gangboard.web.live_page import FilteredPage, Fragments, Frame


@dataclass(frozen=True, slots=True)
class CapacityFilters:
    """What the page is narrowed to."""

    cluster: str = ""
    by: str = ""
    """Any label of nodes; empty for pools by their well-known labels."""


class CapacityPage(FilteredPage[Capacity, CapacityFilters]):
    """The nodes of the clusters that the viewer may see as a whole."""

    name = "capacity"
    template_name = "capacity/page.html"
    section = "capacity"
    filters = CapacityFilters

    def read(self, frame: Frame) -> Capacity:
        """Return the nodes that the filters leave."""
        filters = self.address.filters
        return read_capacity(
            viewer=frame.viewer, cluster=filters.cluster, by=filters.by, clusters=frame.clusters
        )

    def fragments(self, frame: Frame, found: Capacity) -> Fragments:
        """Return a fragment for each cluster."""
        filtered = bool(self.address.filters.cluster and frame.clusters)
        nothing = {"empty": not found.clusters, "filtered": filtered}
        return (
            FragmentList("clusters", tuple(_cluster(row, self.address) for row in found.clusters)),
            Fragment("nothing", "capacity/nothing.html", nothing, tuple(nothing.values())),
        )

    def context(self, frame: Frame, found: Capacity) -> dict[str, object]:
        """Return the filters."""
        filters = self.address.filters
        return {
            "selects": (
                select_cluster(frame.clusters, filters.cluster),
                make_select("by", "Nodes by", found.labels, filters.by, "pool"),
            )
        }


def _cluster(row: ClusterRow, address: Address[CapacityFilters]) -> Fragment:
    alone = address.link(cluster=row.cluster)
    context = {"row": row, "by": address.filters.by, "alone": alone}
    return Fragment(
        f"c-{row.cluster}", "capacity/cluster.html", context, (row.shown, address.filters.by)
    )
