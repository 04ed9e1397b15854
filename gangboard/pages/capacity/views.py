"""The Capacity page: nodes by pool, their free accelerators, and the pods that fit on them now."""

from __future__ import annotations

from dataclasses import dataclass

from gangboard.pages.capacity.queries import read_capacity
from gangboard.pages.capacity.rows import Capacity, ClusterCapacityRow
from gangboard.pages.core.layout import Frame, not_counted_line
from gangboard.pages.core.live.fragments import Fragment, FragmentList
from gangboard.pages.core.live.page import FilteredPage, Fragments
from gangboard.pages.core.query_state import (
    Address,
    make_select,
    period_of,
    select_cluster,
    select_period,
)
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.trends import Trends, current_values, read_trends, since_known
from gangboard.readmodels.waits_by_queue import read_waits_by_queue


@dataclass(frozen=True, slots=True)
class CapacityFilters:
    """The filters of the page."""

    cluster: str = ""
    by: str = ""
    """Any label of nodes; empty for pools by their well-known labels."""
    days: str = ""
    """`14` for curves over a fortnight, else they are over a day."""


@dataclass(frozen=True, slots=True)
class CapacityData:
    """The nodes and their curves."""

    capacity: Capacity
    trends: Trends


class CapacityPage(FilteredPage[CapacityData, CapacityFilters]):
    """The nodes of the clusters that the viewer may see as a whole."""

    name = "capacity"
    template_name = "capacity/page.html"
    section = "capacity"
    welcomes = True
    filters = CapacityFilters

    def read(self, frame: Frame) -> CapacityData:
        """Return the nodes that the filters leave, and their curves."""
        filters = self.address.filters
        capacity = read_capacity(
            viewer=frame.viewer, cluster=filters.cluster, by=filters.by, clusters=frame.clusters
        )
        trends = read_trends(
            viewer=frame.viewer,
            clusters=frame.clusters,
            now=frame.now,
            cluster=filters.cluster,
            period=period_of(filters.days),
        )
        return CapacityData(capacity, since_known(trends))

    def fragments(self, frame: Frame, data: CapacityData) -> Fragments:
        """Return the chart and a fragment for each cluster."""
        filtered = bool(self.address.filters.cluster and frame.clusters)
        rows, trends = data.capacity.clusters, data.trends
        nothing = {"empty": not rows, "filtered": filtered}
        drawn = (
            *(trends.used, trends.held, trends.free, trends.away, trends.left_out),
            trends.known_since,
        )
        legend = current_values(trends, data.capacity.accelerators)
        return (
            not_counted_line(frame.clusters, self.address.filters.cluster),
            Fragment("trend", "capacity/trend.html", {"trends": trends}, drawn),
            Fragment("trend-legend", "trends/legend.html", {"legend": legend}, legend),
            FragmentList("clusters", tuple(_cluster(row, self.address) for row in rows)),
            Fragment("nothing", "capacity/nothing.html", nothing, tuple(nothing.values())),
        )

    def context(self, frame: Frame, data: CapacityData) -> dict[str, object]:
        """Return the filters and the waits. Waits are typical over days, so updates do not change them."""
        filters = self.address.filters
        return {
            "waits": read_waits_by_queue(
                viewer=frame.viewer, clusters=frame.clusters, cluster=filters.cluster
            ),
            "selects": (
                select_cluster(frame.clusters, filters.cluster),
                make_select(
                    "by",
                    "Nodes by",
                    data.capacity.labels,
                    filters.by,
                    printable(data.capacity.default_label) or "pool label",
                ),
                select_period(filters.days),
            ),
        }


def _cluster(row: ClusterCapacityRow, address: Address[CapacityFilters]) -> Fragment:
    cluster_address = address.link(cluster=row.cluster)
    context = {"row": row, "by": address.filters.by, "alone": cluster_address}
    return Fragment(
        f"c-{row.cluster}", "capacity/cluster.html", context, (row.shown, address.filters.by)
    )
