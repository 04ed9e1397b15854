"""The audit: everything that was asked, refused, switched or taken away as a file. Never changed."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_POST

from gangboard.readmodels.action_export import audit_csv_lines, audit_json_lines
from gangboard.readmodels.action_query import ACTION_EVENTS, ADMIN_EVENTS, AuditFilters
from gangboard.readmodels.action_rows import AuditGroup, AuditGroupPage, AuditRow
from gangboard.readmodels.actions import audit_export_rows, audit_groups
from gangboard.readmodels.audit_labels import event_label
from gangboard.store.access import Viewer
from gangboard.web.action_tabs import tabs
from gangboard.web.addresses import Select, make_select, read_address, select_cluster, select_within
from gangboard.web.auth import viewer_for
from gangboard.web.exports import Formats, send_file
from gangboard.web.forms import element_key
from gangboard.web.frame import Frame
from gangboard.web.live.fragments import Fragment, FragmentList
from gangboard.web.live_page import Fragments
from gangboard.web.pagination import ListPage, Paginated

FORMATS: Formats[AuditRow] = {
    "csv": ("text/csv; charset=utf-8", audit_csv_lines),
    "jsonl": ("application/x-ndjson", audit_json_lines),
}


class AuditListPage(ListPage[AuditGroupPage, AuditFilters]):
    """One page of the audit, the newest first."""

    name = "audit"
    template_name = "actions/audit.html"
    section = "actions"
    filters = AuditFilters

    def read_list(self, frame: Frame, cursor: str) -> AuditGroupPage:
        """Return the actions and lines that the filters leave."""
        return audit_groups(
            viewer=frame.viewer, filters=self.address.filters, cursor=cursor, limit=self.page_size
        )

    def fragments(self, frame: Frame, found: Paginated[AuditGroupPage]) -> Fragments:  # noqa: ARG002  # LivePage's
        """Return a row for each action, and for each line about none."""
        groups = found.page.groups
        return (
            FragmentList(
                "audit-rows",
                tuple(map(_row, groups)),
            ),
            Fragment("nothing", "actions/audit_nothing.html", {"empty": not groups}, not groups),
            found.pager,
        )

    def context(self, frame: Frame, found: Paginated[AuditGroupPage]) -> dict[str, object]:  # noqa: ARG002  # LivePage's
        """Return the filters and the tabs."""
        filters = self.address.filters
        return {
            "filters": filters,
            "query": urlencode(self.address.pairs),
            "selects": (
                select_within("When", filters.within),
                select_cluster(frame.clusters, filters.cluster),
                _select_event(frame.viewer, filters.event),
            ),
            "tabs": tabs("audit"),
        }


def _row(group: AuditGroup) -> Fragment:
    newest = group.newest
    key = f"action-{element_key(newest.action_id)}" if group.lines else f"line-{newest.id}"
    context = {"group": group, "row": newest}
    return Fragment(key, "actions/audit_row.html", context, group)


def _select_event(viewer: Viewer, chosen: str) -> Select:
    select = make_select("event", "Event", _events(viewer), chosen)
    options = tuple(replace(one, label=event_label(one.value)) for one in select.options)
    return replace(select, options=options)


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
