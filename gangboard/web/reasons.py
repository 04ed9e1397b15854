"""The Reasons page: what keeps the most gangs and accelerators from running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.liveness import read_liveness
from gangboard.readmodels.reasons import ReasonRow, Reasons, StageReasons, read_reasons
from gangboard.store.access import Viewer
from gangboard.web.addresses import Address, make_select, read_address, select_cluster
from gangboard.web.auth import viewer_for
from gangboard.web.forms import element_key
from gangboard.web.layout import layout_fragments, render_page
from gangboard.web.live.fragments import Fragment, FragmentList
from gangboard.web.live.views import wait_for_updates


@dataclass(frozen=True, slots=True)
class ReasonFilters:
    """What the page is narrowed to."""

    cluster: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class ReasonLine:
    """One reason with the address of its gangs on the Board."""

    row: ReasonRow
    href: str


@require_GET
def reasons(request: HttpRequest) -> HttpResponse:
    """Show the reasons by stage."""
    viewer = viewer_for(request)
    now = timezone.now()
    address = read_address("reasons", ReasonFilters, request.GET)
    clusters = read_freshness(viewer=viewer, now=now)
    found, page = _page(viewer, address, clusters, now)
    return render_page(
        request,
        "reasons/page.html",
        viewer=viewer,
        now=now,
        page=page,
        section="reasons",
        live=address.live,
        context={
            "selects": (
                select_cluster(clusters, address.filters.cluster),
                make_select("namespace", "Namespace", found.namespaces, address.filters.namespace),
            )
        },
    )


@require_GET
def reasons_updates(request: HttpRequest) -> HttpResponse:
    """Answer the waiting request of the page."""
    viewer = viewer_for(request)
    address = read_address("reasons", ReasonFilters, request.GET)

    def read(viewer: Viewer) -> Sequence[Fragment | FragmentList]:
        now = timezone.now()
        return _page(viewer, address, read_freshness(viewer=viewer, now=now), now)[1]

    return wait_for_updates(request, viewer, address.live, read)


def _board(address: Address[ReasonFilters], **more: str) -> str:
    """Return the address of the Board with the same filters and more."""
    return f"{reverse('board')}?{urlencode([*address.pairs, *more.items()])}"


def _page(
    viewer: Viewer,
    address: Address[ReasonFilters],
    clusters: Mapping[int, Freshness],
    now: datetime,
) -> tuple[Reasons, tuple[Fragment | FragmentList, ...]]:
    found = read_reasons(
        viewer=viewer,
        cluster=address.filters.cluster,
        namespace=address.filters.namespace,
        clusters=clusters,
        now=now,
    )
    dearest = found.dearest and _line(found.dearest, address)
    commonest = found.commonest and _line(found.commonest, address)
    summary = {
        "found": found,
        "dearest": dearest,
        "commonest": commonest,
        "only_one": dearest == commonest,
        "apart": tuple((count, _board(address, health=count.face.word)) for count in found.apart),
        "unknown_href": _board(address, health="unknown"),
        "any_cluster": bool(clusters),
    }
    shown = (
        *(dearest, commonest, found.gangs, found.accelerators, found.apart, found.unknown),
        *(found.clusters, found.looked_at, found.unseen, bool(clusters)),
    )
    stages = tuple(_stage(stage, address) for stage in found.stages)
    return found, (
        *layout_fragments(clusters, read_liveness(now=now)),
        Fragment("summary", "reasons/summary.html", summary, shown),
        FragmentList("stages", stages),
    )


def _stage(stage: StageReasons, address: Address[ReasonFilters]) -> Fragment:
    lines = tuple(_line(row, address) for row in stage.rows)
    context = {"stage": stage, "lines": lines}
    return Fragment(
        f"stage-{element_key(stage.stage)}", "reasons/stage.html", context, (stage, lines)
    )


def _line(row: ReasonRow, address: Address[ReasonFilters]) -> ReasonLine:
    stage = {"stage": row.stage} if row.several_stages else {}
    return ReasonLine(row, _board(address, code=row.code, **stage))
