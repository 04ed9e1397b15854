"""The audit: everything that was asked, refused, switched or taken away as a file. Never changed."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_POST

from gangboard.readmodels.action_export import audit_csv_lines, audit_json_lines
from gangboard.readmodels.action_query import ACTION_EVENTS, ADMIN_EVENTS, AuditFilters
from gangboard.readmodels.action_rows import AuditPage, AuditRow
from gangboard.readmodels.actions import audit_export_rows, audit_page
from gangboard.store.access import Viewer
from gangboard.web.action_tabs import tabs
from gangboard.web.addresses import make_select, read_address, select_cluster, select_within
from gangboard.web.auth import viewer_for
from gangboard.web.exports import Formats, send_file
from gangboard.web.live.fragments import Fragment, FragmentList
from gangboard.web.live_page import Fragments, Frame
from gangboard.web.pagination import PAGE_SIZE, ListPage, Paginated

FORMATS: Formats[AuditRow] = {
    "csv": ("text/csv; charset=utf-8", audit_csv_lines),
    "jsonl": ("application/x-ndjson", audit_json_lines),
}


class AuditListPage(ListPage[AuditPage, AuditFilters]):
    """One page of the audit, the newest first."""

    name = "audit"
    template_name = "actions/audit.html"
    section = "actions"
    filters = AuditFilters

    def read_list(self, frame: Frame, cursor: str) -> AuditPage:
        """Return the lines that the filters leave."""
        return audit_page(
            viewer=frame.viewer, filters=self.address.filters, cursor=cursor, limit=PAGE_SIZE
        )

    def fragments(self, frame: Frame, found: Paginated[AuditPage]) -> Fragments:  # noqa: ARG002  # LivePage's
        """Return a row for each line."""
        rows = found.page.rows
        return (
            FragmentList(
                "audit-rows",
                tuple(
                    Fragment(f"line-{row.id}", "actions/audit_row.html", {"row": row}, row)
                    for row in rows
                ),
            ),
            Fragment("nothing", "actions/audit_nothing.html", {"empty": not rows}, not rows),
            found.pager,
        )

    def context(self, frame: Frame, found: Paginated[AuditPage]) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return the filters and the tabs."""
        filters = self.address.filters
        return {
            "filters": filters,
            "query": urlencode(self.address.pairs),
            "selects": (
                select_within("When", filters.within),
                select_cluster(frame.clusters, filters.cluster),
                make_select("event", "Event", _events(frame.viewer), filters.event),
            ),
            "tabs": tabs("audit"),
        }


def _events(viewer: Viewer) -> tuple[str, ...]:
    """Return the events that this viewer may come across."""
    administers = any(one.role == "admin" and not one.namespace for one in viewer.scopes)
    return (*ACTION_EVENTS, *ADMIN_EVENTS) if administers else ACTION_EVENTS


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
