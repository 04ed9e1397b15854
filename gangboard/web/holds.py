"""The list of all Holds: who holds what, since when, why, and whether it is in force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_GET

from gangboard.domain.action import Verb
from gangboard.domain.shell import is_safe_in_shell
from gangboard.readmodels.action_offers import no_right
from gangboard.readmodels.action_rows import HoldPage, HoldRow, OfferRow
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.holds import HoldFilters
from gangboard.readmodels.holds import holds as read_holds
from gangboard.readmodels.liveness import read_liveness
from gangboard.store.access import Viewer
from gangboard.web.action_tabs import tabs
from gangboard.web.addresses import Address, read_address, select_cluster
from gangboard.web.auth import viewer_for
from gangboard.web.forms import element_key
from gangboard.web.layout import layout_fragments, render_page
from gangboard.web.live.fragments import Fragment, FragmentList
from gangboard.web.live.views import wait_for_updates
from gangboard.web.pagination import PAGE_SIZE, paginate


@require_GET
def holds(request: HttpRequest) -> HttpResponse:
    """Show one page of the Holds, and the clusters whose Holds cannot be seen."""
    viewer = viewer_for(request)
    now = timezone.now()
    address = read_address("holds", HoldFilters, request.GET)
    clusters = read_freshness(viewer=viewer, now=now)
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
            "selects": (select_cluster(clusters, address.filters.cluster),),
            "tabs": tabs("holds"),
        },
    )


@require_GET
def holds_updates(request: HttpRequest) -> HttpResponse:
    """Answer the waiting request of the page."""
    viewer = viewer_for(request)
    address = read_address("holds", HoldFilters, request.GET)

    def read(viewer: Viewer) -> Sequence[Fragment | FragmentList]:
        return _page(viewer, address, timezone.now())

    return wait_for_updates(request, viewer, address.live, read)


def _page(
    viewer: Viewer, address: Address[HoldFilters], now: datetime
) -> tuple[Fragment | FragmentList, ...]:
    clusters = read_freshness(viewer=viewer, now=now)

    def read(cursor: str) -> HoldPage:
        return read_holds(
            viewer=viewer, filters=address.filters, limit=PAGE_SIZE, cursor=cursor, now=now
        )

    found, pager = paginate(address, read)
    nothing = {
        "empty": not found.rows,
        "filtered": bool(address.pairs),
        "unseen": bool(found.unseen),
    }
    return (
        *layout_fragments(clusters, read_liveness(now=now)),
        Fragment("unseen", "holds/unseen.html", {"unseen": found.unseen}, found.unseen),
        FragmentList("hold-rows", tuple(_row(row, viewer, clusters) for row in found.rows)),
        Fragment("nothing", "holds/nothing.html", nothing, tuple(nothing.values())),
        pager,
    )


def _row(row: HoldRow, viewer: Viewer, clusters: Mapping[int, Freshness]) -> Fragment:
    offer, key = _release(row, viewer, clusters), element_key(row.uid)
    # A check that says the same again is told once a minute, not with every poll.
    checked = row.checked_at and row.checked_at.replace(second=0, microsecond=0)
    return Fragment(
        f"hold-{key}",
        "holds/row.html",
        {"row": row, "offer": offer, "why_id": f"why-{key}"},
        (replace(row, checked_at=checked), offer),
    )


def _by_hand(row: HoldRow) -> str:
    """Return how the Hold goes without gangboard: no command where a name is not fit for a shell."""
    if not is_safe_in_shell(row.name, row.namespace):
        return "Delete the Hold by hand."
    return f"By hand: kubectl delete hold {row.name} -n {row.namespace}"


def _release(row: HoldRow, viewer: Viewer, clusters: Mapping[int, Freshness]) -> OfferRow:
    """Return the button that resumes the held Job; without a Job the Hold goes by hand."""
    id_ = next((key for key, one in clusters.items() if one.cluster == row.cluster), 0)
    why_not = no_right(viewer, id_, row.namespace)
    if not why_not and id_ in clusters:
        why_not = clusters[id_].why_closed
    if not why_not and not row.job_uid:
        why_not = f"There is no Job to resume. {_by_hand(row)}"
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
