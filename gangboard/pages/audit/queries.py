"""Lines of the audit that a viewer may see."""

from __future__ import annotations

from dataclasses import dataclass

from gangboard.pages.audit.rows import AuditLineRow
from gangboard.readmodels.action_query import AuditFilters
from gangboard.readmodels.actions import audit_page
from gangboard.store.access import Viewer


@dataclass(frozen=True, slots=True)
class AuditLinePage:
    """Some lines, the newest first, and the cursor of the next page."""

    rows: tuple[AuditLineRow, ...]
    next_cursor: str | None


def audit_lines(
    *, viewer: Viewer, filters: AuditFilters, cursor: str | None, limit: int
) -> AuditLinePage:
    """Return one page of the audit (1 query): the lines of the Audit page. Raises CursorError."""
    found = audit_page(viewer=viewer, filters=filters, cursor=cursor, limit=limit)
    rows = tuple(
        AuditLineRow(
            number=row.number,
            at=row.at,
            event=row.event,
            sentence=row.sentence,
            object=row.object_name or None,
            actor=row.actor,
            cluster=row.cluster or None,
            namespace=row.namespace or None,
            action_id=row.action_id or None,
            source=row.source or None,
            digest=row.digest,
        )
        for row in found.rows
    )
    return AuditLinePage(rows, found.next_cursor)
