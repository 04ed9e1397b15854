"""The audit: everything that was asked, refused, switched or taken away as a file. Never changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from gangboard.readmodels.action_export import audit_csv_lines, audit_json_lines
from gangboard.readmodels.action_query import ACTION_EVENTS, ADMIN_EVENTS, AuditFilters
from gangboard.readmodels.action_rows import AuditPage, AuditRow
from gangboard.readmodels.actions import audit_export_rows, audit_page
from gangboard.readmodels.freshness import read_freshness
from gangboard.readmodels.liveness import read_liveness
from gangboard.store.access import Viewer
from gangboard.web.action_tabs import tabs
from gangboard.web.addresses import Address, make_select, read_address, select_cluster
from gangboard.web.auth import viewer_for
from gangboard.web.exports import Formats, send_file
from gangboard.web.layout import layout_fragments, render_page
from gangboard.web.live.fragments import Fragment, FragmentList
from gangboard.web.live.views import wait_for_updates
from gangboard.web.pagination import PAGE_SIZE, paginate

FORMATS: Formats[AuditRow] = {
    "csv": ("text/csv; charset=utf-8", audit_csv_lines),
    "jsonl": ("application/x-ndjson", audit_json_lines),
}


@require_GET
def audit(request: HttpRequest) -> HttpResponse:
    """Show one page of the audit, the newest first."""
    viewer = viewer_for(request)
    now = timezone.now()
    address = read_address("audit", AuditFilters, request.GET)
    clusters = read_freshness(viewer=viewer, now=now)
    return render_page(
        request,
        "actions/audit.html",
        viewer=viewer,
        now=now,
        page=_page(viewer, address, now),
        section="actions",
        live=address.live,
        context={
            "filters": address.filters,
            "query": urlencode(address.pairs),
            "selects": (
                select_cluster(clusters, address.filters.cluster),
                make_select("event", "Event", _events(viewer), address.filters.event),
            ),
            "tabs": tabs("audit"),
        },
    )


def _events(viewer: Viewer) -> tuple[str, ...]:
    """Return the events that this viewer may come across."""
    administers = any(one.role == "admin" and not one.namespace for one in viewer.scopes)
    return (*ACTION_EVENTS, *ADMIN_EVENTS) if administers else ACTION_EVENTS


@require_GET
def audit_updates(request: HttpRequest) -> HttpResponse:
    """Answer the waiting request of the page."""
    viewer = viewer_for(request)
    address = read_address("audit", AuditFilters, request.GET)

    def read(viewer: Viewer) -> Sequence[Fragment | FragmentList]:
        return _page(viewer, address, timezone.now())

    return wait_for_updates(request, viewer, address.live, read)


@require_POST
def export(request: HttpRequest, ending: str) -> HttpResponseBase:
    """Send the lines of the audit that the filters ask for."""
    viewer = viewer_for(request)
    address = read_address("audit", AuditFilters, request.GET)
    return send_file(
        request,
        viewer,
        "audit",
        FORMATS.get(ending),
        ending,
        address.pairs,
        lambda: audit_export_rows(viewer, address.filters),
    )


def _page(
    viewer: Viewer, address: Address[AuditFilters], now: datetime
) -> tuple[Fragment | FragmentList, ...]:
    def read(cursor: str) -> AuditPage:
        return audit_page(viewer=viewer, filters=address.filters, cursor=cursor, limit=PAGE_SIZE)

    found, pager = paginate(address, read)
    return (
        *layout_fragments(read_freshness(viewer=viewer, now=now), read_liveness(now=now)),
        FragmentList(
            "audit-rows",
            tuple(
                Fragment(f"line-{row.id}", "actions/audit_row.html", {"row": row}, row)
                for row in found.rows
            ),
        ),
        Fragment(
            "nothing", "actions/audit_nothing.html", {"empty": not found.rows}, not found.rows
        ),
        pager,
    )
