"""The Capacity page: nodes by pool, what is free, what incomplete gangs hold, what fits now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from gangboard.readmodels.capacity import Capacity, ClusterRow, read_capacity
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.liveness import read_liveness
from gangboard.store.access import Viewer
from gangboard.web import live
from gangboard.web.addresses import Pairs, make_select, read_text
from gangboard.web.frame import frame_parts, render_page
from gangboard.web.gate import signed_in
from gangboard.web.parts import Part, Rows


@dataclass(frozen=True, slots=True)
class CapacityAddress:
    """The state of the page: all of it stands in the address."""

    cluster: str
    by: str
    """Any label of nodes; empty: pools by their well-known labels."""

    @classmethod
    def read(cls, query: QueryDict) -> CapacityAddress:
        """Return the state that a query asks for."""
        return cls(read_text(query, "cluster"), read_text(query, "by"))

    @property
    def pairs(self) -> Pairs:
        """Return the state as pairs of a query."""
        return tuple(pair for pair in (("cluster", self.cluster), ("by", self.by)) if pair[1])


@signed_in
@require_GET
def capacity(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Show the nodes of the clusters that the viewer may see as a whole."""
    now = timezone.now()
    address = CapacityAddress.read(request.GET)
    clusters = read_freshness(viewer=viewer, now=now)
    found, page = _page(viewer, address, clusters, now)
    names = tuple(one.cluster for one in clusters.values())
    return render_page(
        request,
        "capacity/page.html",
        viewer=viewer,
        now=now,
        page=page,
        section="capacity",
        live=_live(address),
        context={
            "selects": (
                make_select("cluster", "Cluster", names, address.cluster),
                make_select("by", "Nodes by", found.labels, address.by, "pool"),
            )
        },
    )


@signed_in
@require_GET
def capacity_news(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Answer the waiting request of the page."""
    address = CapacityAddress.read(request.GET)

    def read(viewer: Viewer) -> Sequence[Part | Rows]:
        now = timezone.now()
        return _page(viewer, address, read_freshness(viewer=viewer, now=now), now)[1]

    return live.answer(request, viewer, _live(address), read)


def _live(address: CapacityAddress) -> str:
    return f"{reverse('capacity-news')}?{urlencode(address.pairs)}"


def _page(
    viewer: Viewer, address: CapacityAddress, clusters: Mapping[int, Freshness], now: datetime
) -> tuple[Capacity, tuple[Part | Rows, ...]]:
    found = read_capacity(viewer=viewer, cluster=address.cluster, by=address.by, clusters=clusters)
    nothing = {"empty": not found.clusters, "filtered": bool(address.cluster and clusters)}
    return found, (
        *frame_parts(clusters, read_liveness(now=now)),
        Rows("clusters", tuple(_cluster(row, address) for row in found.clusters)),
        Part("nothing", "capacity/nothing.html", nothing, tuple(nothing.values())),
    )


def _cluster(row: ClusterRow, address: CapacityAddress) -> Part:
    pairs = [("cluster", row.cluster), *(pair for pair in address.pairs if pair[0] == "by")]
    context = {
        "row": row,
        "by": address.by,
        "alone": f"{reverse('capacity')}?{urlencode(pairs)}",
    }
    return Part(f"c-{row.cluster}", "capacity/cluster.html", context, (row.shown, address.by))
