"""The Capacity page: nodes by pool, what is free, what incomplete gangs hold, what fits now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from gangboard.readmodels.capacity import Capacity, ClusterRow, read_capacity
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.liveness import read_liveness
from gangboard.store.access import Viewer
from gangboard.web.addresses import Address, make_select, read_address, select_cluster
from gangboard.web.auth import viewer_for
from gangboard.web.layout import layout_fragments, render_page
from gangboard.web.live.fragments import Fragment, FragmentList
from gangboard.web.live.views import wait_for_updates


@dataclass(frozen=True, slots=True)
class CapacityFilters:
    """What the page is narrowed to."""

    cluster: str = ""
    by: str = ""
    """Any label of nodes; empty: pools by their well-known labels."""


@require_GET
def capacity(request: HttpRequest) -> HttpResponse:
    """Show the nodes of the clusters that the viewer may see as a whole."""
    viewer = viewer_for(request)
    now = timezone.now()
    address = read_address("capacity", CapacityFilters, request.GET)
    clusters = read_freshness(viewer=viewer, now=now)
    found, page = _page(viewer, address, clusters, now)
    return render_page(
        request,
        "capacity/page.html",
        viewer=viewer,
        now=now,
        page=page,
        section="capacity",
        live=address.live,
        context={
            "selects": (
                select_cluster(clusters, address.filters.cluster),
                make_select("by", "Nodes by", found.labels, address.filters.by, "pool"),
            )
        },
    )


@require_GET
def capacity_updates(request: HttpRequest) -> HttpResponse:
    """Answer the waiting request of the page."""
    viewer = viewer_for(request)
    address = read_address("capacity", CapacityFilters, request.GET)

    def read(viewer: Viewer) -> Sequence[Fragment | FragmentList]:
        now = timezone.now()
        return _page(viewer, address, read_freshness(viewer=viewer, now=now), now)[1]

    return wait_for_updates(request, viewer, address.live, read)


def _page(
    viewer: Viewer,
    address: Address[CapacityFilters],
    clusters: Mapping[int, Freshness],
    now: datetime,
) -> tuple[Capacity, tuple[Fragment | FragmentList, ...]]:
    found = read_capacity(
        viewer=viewer, cluster=address.filters.cluster, by=address.filters.by, clusters=clusters
    )
    nothing = {"empty": not found.clusters, "filtered": bool(address.filters.cluster and clusters)}
    return found, (
        *layout_fragments(clusters, read_liveness(now=now)),
        FragmentList("clusters", tuple(_cluster(row, address) for row in found.clusters)),
        Fragment("nothing", "capacity/nothing.html", nothing, tuple(nothing.values())),
    )


def _cluster(row: ClusterRow, address: Address[CapacityFilters]) -> Fragment:
    alone = address.link(cluster=row.cluster)
    context = {"row": row, "by": address.filters.by, "alone": alone}
    return Fragment(
        f"c-{row.cluster}", "capacity/cluster.html", context, (row.shown, address.filters.by)
    )
