"""Lines of the audit that a viewer may see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from gangboard.pages.audit.rows import AuditGroup, AuditGroupPage, AuditLinePage, AuditLineRow
from gangboard.readmodels.cursors import LARGEST_PAGE, SortKey, read_page
from gangboard.readmodels.filters import all_equal, all_occur_in, since
from gangboard.readmodels.formatting import printable
from gangboard.store.access import Viewer
from gangboard.store.models import AuditEntry

_KEYS = (SortKey("at", descending=True), SortKey("pk", descending=True))
_SEARCHED = ("object_name", "namespace", "cluster_name", "sentence", "actor_name")


@dataclass(frozen=True, slots=True)
class AuditFilters:
    """Filters of the audit. An empty filter matches all lines."""

    cluster: str = ""
    namespace: str = ""
    actor: str = ""
    event: str = ""
    q: str = ""
    """Words that must all occur in names or sentence."""
    within: str = ""
    """One of WITHIN: the line was written since then. Any other word matches all lines."""


def audit_lines(
    *, viewer: Viewer, filters: AuditFilters, cursor: str | None = None, limit: int = 50
) -> AuditLinePage:
    """Return one page of the audit, the newest line first (1 query). Raises CursorError."""
    lines = _select(viewer=viewer, filters=filters)
    page, next_cursor = read_page(lines, _KEYS, cursor=cursor, limit=limit)
    return AuditLinePage(tuple(_row(viewer, entry) for entry in page), next_cursor)


def audit_groups(
    *, viewer: Viewer, filters: AuditFilters, cursor: str | None = None, limit: int = 50
) -> AuditGroupPage:
    """Return one page of the audit with one entry per action (at most 2 queries). Raises CursorError.

    Actions are sorted by their newest line. An entry has the lines of its action that match the filters.
    """
    lines = _select(viewer=viewer, filters=filters)
    page, next_cursor = read_page(_newest_of_each_action(lines), _KEYS, cursor=cursor, limit=limit)
    ids = {entry.action_id for entry in page if entry.action_id}
    by_action: dict[str, list[AuditLineRow]] = {}
    for entry in lines.filter(action_id__in=ids).order_by("pk") if ids else ():
        row = _row(viewer, entry)
        by_action.setdefault(row.action_id, []).append(row)
    groups = tuple(
        AuditGroup(_row(viewer, entry), tuple(by_action.get(entry.action_id or "", ())))
        for entry in page
    )
    return AuditGroupPage(groups, next_cursor)


def all_audit_lines(viewer: Viewer, filters: AuditFilters) -> Iterator[AuditLineRow]:
    """Yield every line that matches the filters, the newest first. Reads page by page to bound memory."""
    cursor: str | None = None
    while True:
        page = audit_lines(viewer=viewer, filters=filters, cursor=cursor, limit=LARGEST_PAGE)
        yield from page.rows
        cursor = page.next_cursor
        if cursor is None:
            return


def _select(*, viewer: Viewer, filters: AuditFilters) -> QuerySet[AuditEntry]:
    """Return the unordered lines that the viewer may see.

    Viewers of a namespace see its lines. Lines about a whole cluster or the whole installation are
    visible to their admins.
    """
    columns = {
        "cluster_name": filters.cluster,
        "namespace": filters.namespace,
        "actor_name": filters.actor,
        "event": filters.event,
    }
    visible = (viewer.gang_filter() & ~Q(namespace="")) | _lines_without_namespace(viewer)
    matches = all_equal(columns) & since("at", filters.within) & all_occur_in(filters.q, _SEARCHED)
    return AuditEntry.objects.filter(visible, matches)


def _lines_without_namespace(viewer: Viewer) -> Q:
    if viewer.is_admin:
        return Q(namespace="")
    cluster_ids = [
        scope.cluster_id
        for scope in viewer.scopes
        if scope.role == "admin" and not scope.namespace and scope.cluster_id is not None
    ]
    return Q(namespace="", cluster_id__in=cluster_ids)


def _newest_of_each_action(lines: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
    """Return the newest line of each action, and the lines without an action."""
    newer = lines.filter(action_id=OuterRef("action_id"), pk__gt=OuterRef("pk"))
    return lines.filter(Q(action_id=None) | ~Exists(newer))


def _row(viewer: Viewer, entry: AuditEntry) -> AuditLineRow:
    return AuditLineRow(
        number=entry.number,
        at=entry.at,
        event=entry.event,
        sentence=printable(entry.sentence),
        object_name=printable(entry.object_name),
        actor=printable(entry.actor_name),
        cluster=printable(entry.cluster_name),
        namespace=printable(entry.namespace),
        action_id=entry.action_id or "",
        source=printable(entry.source) if viewer.is_admin else "",
        digest=entry.digest,
        id=entry.pk,
    )
