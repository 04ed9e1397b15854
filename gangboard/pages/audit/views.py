"""The page of the audit, and the audit as a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace

from gangboard.pages.audit.queries import AuditFilters, all_audit_lines, audit_groups
from gangboard.pages.audit.rows import (
    ACTION_EVENTS,
    ADMIN_EVENTS,
    COLUMNS,
    EXPORTED,
    AuditGroup,
    AuditGroupPage,
    AuditLineRow,
    event_label,
)
from gangboard.pages.core.exports import Formats
from gangboard.pages.core.forms import element_key
from gangboard.pages.core.layout import Frame
from gangboard.pages.core.live.fragments import Fragment, FragmentList
from gangboard.pages.core.live.page import Fragments
from gangboard.pages.core.pagination import Paginated
from gangboard.pages.core.query_state import Select, make_select, select_cluster, select_within
from gangboard.pages.core.record_page import RecordPage, export_view
from gangboard.pages.core.tables import time_text, write_csv
from gangboard.store.access import Viewer


def csv_lines(rows: Iterable[AuditLineRow]) -> Iterator[str]:
    """Yield the lines of a CSV file (RFC 4180), the heading first."""
    return write_csv(rows, EXPORTED)


def json_lines(rows: Iterable[AuditLineRow]) -> Iterator[str]:
    """Yield one line of JSON for each line of the audit."""
    for row in rows:
        values = {name: getattr(row, name) for name in EXPORTED}
        yield json.dumps({**values, "at": time_text(row.at)}, ensure_ascii=False) + "\n"


FORMATS: Formats[AuditLineRow] = {
    "csv": ("text/csv; charset=utf-8", csv_lines),
    "jsonl": ("application/x-ndjson", json_lines),
}


class AuditListPage(RecordPage[AuditGroupPage, AuditFilters]):
    """One page of the audit, the newest first."""

    name = "audit"
    template_name = "audit/page.html"
    filters = AuditFilters
    columns = COLUMNS

    def read_list(self, frame: Frame, cursor: str) -> AuditGroupPage:
        """Return the actions and lines that match the filters."""
        return audit_groups(
            viewer=frame.viewer, filters=self.address.filters, cursor=cursor, limit=self.page_size
        )

    def fragments(self, frame: Frame, data: Paginated[AuditGroupPage]) -> Fragments:  # noqa: ARG002  # LivePage's
        """Return a row for each action, and for each line without an action."""
        groups = data.page.groups
        return (
            FragmentList("audit-rows", tuple(map(_row, groups))),
            Fragment("nothing", "audit/nothing.html", {"empty": not groups}, not groups),
            data.pager,
        )

    def selects(self, frame: Frame) -> tuple[Select, ...]:
        """Return the filters by time, cluster and event."""
        filters = self.address.filters
        return (
            select_within("When", filters.within),
            select_cluster(frame.clusters, filters.cluster),
            _select_event(frame.viewer, filters.event),
        )


def _row(group: AuditGroup) -> Fragment:
    newest = group.newest
    key = f"action-{element_key(newest.action_id)}" if group.lines else f"line-{newest.id}"
    context = {"group": group, "row": newest}
    return Fragment(key, "audit/row.html", context, group)


def _select_event(viewer: Viewer, chosen: str) -> Select:
    select = make_select("event", "Event", _events(viewer), chosen)
    options = tuple(replace(option, label=event_label(option.value)) for option in select.options)
    return replace(select, options=options)


def _events(viewer: Viewer) -> tuple[str, ...]:
    """Return the events of the lines that this viewer may see."""
    administers = any(scope.role == "admin" and not scope.namespace for scope in viewer.scopes)
    return (*ACTION_EVENTS, *ADMIN_EVENTS) if administers else ACTION_EVENTS


export = export_view("audit", AuditFilters, FORMATS, all_audit_lines)
