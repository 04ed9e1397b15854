"""The Reasons page: what keeps the most gangs and accelerators from running."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.liveness import read_liveness
from gangboard.readmodels.reasons import ReasonRow, Reasons, StageReasons, read_reasons
from gangboard.store.access import Viewer
from gangboard.web import live
from gangboard.web.addresses import Pairs, make_select, read_text
from gangboard.web.frame import frame_parts, render_page
from gangboard.web.gate import signed_in
from gangboard.web.parts import Part, Rows
from gangboard.web.targets import element_key


@dataclass(frozen=True, slots=True)
class ReasonsAddress:
    """The state of the page: all of it stands in the address."""

    cluster: str
    namespace: str

    @classmethod
    def read(cls, query: QueryDict) -> ReasonsAddress:
        """Return the state that a query asks for."""
        return cls(read_text(query, "cluster"), read_text(query, "namespace"))

    @property
    def pairs(self) -> Pairs:
        """Return the state as pairs of a query."""
        every = (("cluster", self.cluster), ("namespace", self.namespace))
        return tuple(pair for pair in every if pair[1])

    def board(self, **more: str) -> str:
        """Return the address of the Board with the same filters and more."""
        return f"{reverse('board')}?{urlencode([*self.pairs, *more.items()])}"


@dataclass(frozen=True, slots=True)
class ReasonLine:
    """One reason with the address of its gangs on the Board."""

    row: ReasonRow
    href: str


@signed_in
@require_GET
def reasons(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Show the reasons by stage."""
    now = timezone.now()
    address = ReasonsAddress.read(request.GET)
    clusters = read_freshness(viewer=viewer, now=now)
    found, page = _page(viewer, address, clusters, now)
    names = tuple(one.cluster for one in clusters.values())
    return render_page(
        request,
        "reasons/page.html",
        viewer=viewer,
        now=now,
        page=page,
        section="reasons",
        live=_live(address),
        context={
            "selects": (
                make_select("cluster", "Cluster", names, address.cluster),
                make_select("namespace", "Namespace", found.namespaces, address.namespace),
            )
        },
    )


@signed_in
@require_GET
def reasons_news(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Answer the waiting request of the page."""
    address = ReasonsAddress.read(request.GET)

    def read(viewer: Viewer) -> Sequence[Part | Rows]:
        now = timezone.now()
        return _page(viewer, address, read_freshness(viewer=viewer, now=now), now)[1]

    return live.answer(request, viewer, _live(address), read)


def _live(address: ReasonsAddress) -> str:
    return f"{reverse('reasons-news')}?{urlencode(address.pairs)}"


def _page(
    viewer: Viewer, address: ReasonsAddress, clusters: Mapping[int, Freshness], now: datetime
) -> tuple[Reasons, tuple[Part | Rows, ...]]:
    found = read_reasons(
        viewer=viewer,
        cluster=address.cluster,
        namespace=address.namespace,
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
        "apart": tuple((count, address.board(health=count.face.word)) for count in found.apart),
        "unknown_href": address.board(health="unknown"),
        "any_cluster": bool(clusters),
    }
    shown = (
        *(dearest, commonest, found.gangs, found.accelerators, found.apart, found.unknown),
        *(found.clusters, found.looked_at, found.unseen, bool(clusters)),
    )
    stages = tuple(_stage(stage, address) for stage in found.stages)
    return found, (
        *frame_parts(clusters, read_liveness(now=now)),
        Part("summary", "reasons/summary.html", summary, shown),
        Rows("stages", stages),
    )


def _stage(stage: StageReasons, address: ReasonsAddress) -> Part:
    lines = tuple(_line(row, address) for row in stage.rows)
    context = {"stage": stage, "lines": lines}
    return Part(f"stage-{element_key(stage.stage)}", "reasons/stage.html", context, (stage, lines))


def _line(row: ReasonRow, address: ReasonsAddress) -> ReasonLine:
    stage = {"stage": row.stage} if row.several_stages else {}
    return ReasonLine(row, address.board(code=row.code, **stage))
