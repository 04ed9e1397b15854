"""The list of all Holds: who holds what, since when, why, and whether it is in force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET

from gangboard.domain.action import Verb
from gangboard.readmodels.action_rows import HoldPage, HoldRow, OfferRow
from gangboard.readmodels.cursors import CursorError
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.holds import HoldFilters
from gangboard.readmodels.holds import holds as read_holds
from gangboard.readmodels.liveness import read_liveness
from gangboard.readmodels.offers import no_right
from gangboard.store.access import Viewer
from gangboard.web import live
from gangboard.web.action_tabs import tabs
from gangboard.web.addresses import Pairs, make_select, read_text
from gangboard.web.frame import frame_parts, render_page
from gangboard.web.gate import signed_in
from gangboard.web.parts import Part, Rows
from gangboard.web.targets import element_key

PAGE = 100


@dataclass(frozen=True, slots=True)
class HoldsAddress:
    """The state of the page."""

    filters: HoldFilters
    cursor: str

    @classmethod
    def read(cls, query: QueryDict) -> HoldsAddress:
        """Return the state that a query asks for."""
        filters = HoldFilters(
            cluster=read_text(query, "cluster"),
            namespace=read_text(query, "namespace"),
            q=read_text(query, "q"),
        )
        return cls(filters, query.get("cursor", "")[:2000])

    @property
    def pairs(self) -> Pairs:
        """Return the filters as pairs of a query."""
        filters = self.filters
        every = (
            ("q", filters.q),
            ("cluster", filters.cluster),
            ("namespace", filters.namespace),
        )
        return tuple(pair for pair in every if pair[1])

    @property
    def live(self) -> str:
        """Return the live address."""
        cursor = [("cursor", self.cursor)] if self.cursor else []
        return f"{reverse('holds-news')}?{urlencode([*self.pairs, *cursor])}"


@signed_in
@require_GET
def holds(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Show one page of the Holds, and the clusters whose Holds cannot be seen."""
    now = timezone.now()
    address = HoldsAddress.read(request.GET)
    clusters = read_freshness(viewer=viewer, now=now)
    names = tuple(cluster.cluster for cluster in clusters.values())
    return render_page(
        request,
        "holds/page.html",
        viewer=viewer,
        now=now,
        page=_page(viewer, address, now),
        section="actions",
        live=address.live,
        context={
            "filters": address.filters,
            "selects": (make_select("cluster", "Cluster", names, address.filters.cluster),),
            "tabs": tabs("holds"),
        },
    )


@signed_in
@require_GET
def holds_news(request: HttpRequest, viewer: Viewer) -> HttpResponse:
    """Answer the waiting request of the page."""
    address = HoldsAddress.read(request.GET)

    def read(viewer: Viewer) -> Sequence[Part | Rows]:
        return _page(viewer, address, timezone.now())

    return live.answer(request, viewer, address.live, read)


def _page(viewer: Viewer, address: HoldsAddress, now: datetime) -> tuple[Part | Rows, ...]:
    clusters = read_freshness(viewer=viewer, now=now)

    def read(cursor: str) -> HoldPage:
        return read_holds(
            viewer=viewer, filters=address.filters, limit=PAGE, cursor=cursor, now=now
        )

    try:
        found = read(address.cursor)
    except CursorError:
        # An old link to a later page: the first page is better than an error.
        address = replace(address, cursor="")
        found = read("")
    home, following = reverse("holds"), found.next_cursor
    pager = {
        "next": f"{home}?{urlencode([*address.pairs, ('cursor', following)])}" if following else "",
        "first": f"{home}?{urlencode(address.pairs)}" if address.cursor else "",
    }
    nothing = {
        "empty": not found.rows,
        "filtered": bool(address.pairs),
        "unseen": bool(found.unseen),
    }
    return (
        *frame_parts(clusters, read_liveness(now=now)),
        Part("unseen", "holds/unseen.html", {"unseen": found.unseen}, found.unseen),
        Rows("hold-rows", tuple(_row(row, viewer, clusters) for row in found.rows)),
        Part("nothing", "holds/nothing.html", nothing, tuple(nothing.values())),
        Part("pager", "board/pager.html", pager, tuple(pager.values())),
    )


def _row(row: HoldRow, viewer: Viewer, clusters: Mapping[int, Freshness]) -> Part:
    offer, key = _release(row, viewer, clusters), element_key(row.uid)
    # A check that says the same again is told once a minute, not with every poll.
    checked = row.checked_at and row.checked_at.replace(second=0, microsecond=0)
    return Part(
        f"hold-{key}",
        "holds/row.html",
        {"row": row, "offer": offer, "why_id": f"why-{key}"},
        (replace(row, checked_at=checked), offer),
    )


def _release(row: HoldRow, viewer: Viewer, clusters: Mapping[int, Freshness]) -> OfferRow:
    """Return the button that resumes the held Job; without a Job the Hold goes by hand."""
    id_ = next((key for key, one in clusters.items() if one.cluster == row.cluster), 0)
    why_not = no_right(viewer, id_, row.namespace)
    if not why_not and not row.job_uid:
        why_not = (
            f"There is no Job to resume. By hand: kubectl delete hold {row.name} -n {row.namespace}"
        )
    return OfferRow(
        verb=Verb.RESUME.value,
        label="Release",
        allowed=not why_not,
        lever="",
        why_not=why_not,
        warnings=(),
        cluster=row.cluster,
        api_group="batch",
        kind="Job",
        namespace=row.namespace,
        name=row.job,
        uid=row.job_uid or row.uid,
        generation=row.job_generation or 0,
        gang_id=row.gang_id,
    )
