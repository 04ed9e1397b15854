"""The Actions page: the record of what was asked for, each action, and the record as a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from urllib.parse import urlencode

from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
)
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from gangboard.domain.action import ActionState, Lever, Verb
from gangboard.readmodels.action_export import csv_lines, json_lines
from gangboard.readmodels.action_labels import LEVER_LABELS
from gangboard.readmodels.action_query import ActionFilters
from gangboard.readmodels.action_rows import ActionPage, ActionRow
from gangboard.readmodels.actions import action_row, actions_page, export_rows
from gangboard.readmodels.freshness import Freshness, read_freshness
from gangboard.readmodels.liveness import read_liveness
from gangboard.store.access import Viewer
from gangboard.web.action_tabs import tabs
from gangboard.web.addresses import (
    Address,
    Option,
    Select,
    make_select,
    read_address,
    select_cluster,
)
from gangboard.web.auth import viewer_for
from gangboard.web.exports import Formats, send_file
from gangboard.web.layout import layout_fragments, render_page
from gangboard.web.live.fragments import Fragment, FragmentList
from gangboard.web.live.views import wait_for_updates
from gangboard.web.pagination import PAGE_SIZE, paginate

FORMATS: Formats[ActionRow] = {
    "csv": ("text/csv; charset=utf-8", csv_lines),
    "jsonl": ("application/x-ndjson", json_lines),
}


@require_GET
def actions(request: HttpRequest) -> HttpResponse:
    """Show one page of the record, the newest first."""
    viewer = viewer_for(request)
    now = timezone.now()
    address = read_address("actions", ActionFilters, request.GET)
    clusters = read_freshness(viewer=viewer, now=now)
    return render_page(
        request,
        "actions/page.html",
        viewer=viewer,
        now=now,
        page=_page(viewer, address, now),
        section="actions",
        live=address.live,
        context={
            "filters": address.filters,
            "query": urlencode(address.pairs),
            "tabs": tabs("actions"),
            "selects": _selects(address.filters, clusters),
        },
    )


@require_GET
def actions_updates(request: HttpRequest) -> HttpResponse:
    """Answer the waiting request of the Actions page."""
    viewer = viewer_for(request)
    address = read_address("actions", ActionFilters, request.GET)

    def read(viewer: Viewer) -> Sequence[Fragment | FragmentList]:
        return _page(viewer, address, timezone.now())

    return wait_for_updates(request, viewer, address.live, read)


@require_GET
def action(request: HttpRequest, action_id: str) -> HttpResponse:
    """Show one action with every request that it made; missing and forbidden look the same."""
    viewer = viewer_for(request)
    now = timezone.now()
    row = action_row(viewer=viewer, action_id=action_id)
    if row is None:
        raise Http404
    return render_page(
        request,
        "actions/action.html",
        viewer=viewer,
        now=now,
        page=_action_page(viewer, row, now),
        section="actions",
        live=_action_live(action_id),
        context={"row": row},
    )


@require_GET
def action_updates(request: HttpRequest, action_id: str) -> HttpResponse:
    """Answer the waiting request of an action's page."""
    viewer = viewer_for(request)

    def read(viewer: Viewer) -> Sequence[Fragment | FragmentList]:
        row = action_row(viewer=viewer, action_id=action_id)
        return () if row is None else _action_page(viewer, row, timezone.now())

    return wait_for_updates(request, viewer, _action_live(action_id), read)


@require_POST
def export(request: HttpRequest, ending: str) -> HttpResponseBase:
    """Send the record of actions that the filters ask for, line by line."""
    viewer = viewer_for(request)
    address = read_address("actions", ActionFilters, request.GET)
    return send_file(
        request,
        viewer,
        "actions",
        FORMATS.get(ending),
        ending,
        address.pairs,
        lambda: export_rows(viewer, address.filters),
    )


def _selects(filters: ActionFilters, clusters: Mapping[int, Freshness]) -> tuple[Select, ...]:
    levers = (
        Option(lever.value, LEVER_LABELS[lever], lever.value == filters.lever) for lever in Lever
    )
    return (
        select_cluster(clusters, filters.cluster),
        make_select("verb", "Verb", tuple(Verb), filters.verb),
        make_select("state", "State", tuple(ActionState), filters.state),
        Select("lever", "Lever", tuple(levers)),
    )


def _action_live(action_id: str) -> str:
    return reverse("action-updates", args=[action_id])


def _page(
    viewer: Viewer, address: Address[ActionFilters], now: datetime
) -> tuple[Fragment | FragmentList, ...]:
    def read(cursor: str) -> ActionPage:
        return actions_page(viewer=viewer, filters=address.filters, cursor=cursor, limit=PAGE_SIZE)

    found, pager = paginate(address, read)
    nothing = {"empty": not found.rows, "filtered": bool(address.pairs)}
    return (
        *layout_fragments(read_freshness(viewer=viewer, now=now), read_liveness(now=now)),
        FragmentList("action-rows", tuple(_row(row) for row in found.rows)),
        Fragment("nothing", "actions/nothing.html", nothing, tuple(nothing.values())),
        pager,
    )


def _row(row: ActionRow) -> Fragment:
    return Fragment(f"a-{row.id}", "actions/row.html", {"row": row}, row)


def _action_page(
    viewer: Viewer, row: ActionRow, now: datetime
) -> tuple[Fragment | FragmentList, ...]:
    return (
        *layout_fragments(read_freshness(viewer=viewer, now=now), read_liveness(now=now)),
        Fragment("outcome", "actions/outcome.html", {"row": row}, row),
        Fragment("requests", "actions/requests.html", {"row": row}, (row.steps, row.is_final)),
    )
