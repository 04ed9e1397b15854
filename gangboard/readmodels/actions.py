"""Actions and the audit as a viewer is shown them, and the record as a file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime, timedelta

from django.db.models import QuerySet

from gangboard.domain.action import ActionState, StepKind, Verb
from gangboard.domain.hold import HOLD_LEVER
from gangboard.readmodels.action_ends import with_ends
from gangboard.readmodels.action_labels import action_face, lever_label
from gangboard.readmodels.action_query import (
    ACTION_KEYS,
    AUDIT_KEYS,
    ActionFilters,
    AuditFilters,
    newest_of_each_action,
    select_actions,
    select_audit,
)
from gangboard.readmodels.action_rows import (
    ActionPage,
    ActionRow,
    AuditGroup,
    AuditGroupPage,
    AuditPage,
    AuditRow,
    BatchRow,
    StepRow,
)
from gangboard.readmodels.cursors import LARGEST_PAGE, CursorError, read_page
from gangboard.readmodels.printable import printable
from gangboard.store.access import Viewer
from gangboard.store.models import Action, ActionStep, AuditEntry

__all__ = ["ActionFilters", "AuditFilters", "CursorError"]

MOST_OF_GANG = 50
"""Actions on one gang's page."""
LONGEST_PATCH = 20_000
"""Characters of a patch that are printed; ours have a few hundred."""


def action_row(*, viewer: Viewer, action_id: str) -> ActionRow | None:
    """Return one action, or None when there is none or the viewer may not see it (at most 3 queries)."""
    if "\x00" in action_id:  # the one character that PostgreSQL refuses
        return None
    found = _visible(viewer).filter(pk=action_id)
    return next(iter(with_ends(viewer, _rows(found))), None)


def actions_page(
    *, viewer: Viewer, filters: ActionFilters, cursor: str | None = None, limit: int = 50
) -> ActionPage:
    """Return one page of actions, the newest first (at most 3 queries). Raises CursorError."""
    found = select_actions(viewer=viewer, filters=filters)
    found = found.prefetch_related("steps")
    page, following = read_page(found, ACTION_KEYS, cursor=cursor, limit=limit)
    return ActionPage(with_ends(viewer, map(_row, page)), following)


def actions_of_gang(*, viewer: Viewer, gang_id: str) -> tuple[ActionRow, ...]:
    """Return the last actions on a gang and its Jobs, the newest first; also of one that is gone."""
    return _rows(_visible(viewer).filter(gang_id=gang_id)[:MOST_OF_GANG])


def actions_by_id(*, viewer: Viewer, ids: Collection[str]) -> dict[str, ActionRow]:
    """Return those of some actions that the viewer may see (no query, else 2)."""
    return {row.id: row for row in _rows(_visible(viewer).filter(pk__in=ids))} if ids else {}


def batch_row(*, viewer: Viewer, batch: str) -> BatchRow | None:
    """Return what was confirmed together, or None when there is nothing that the viewer may see."""
    if not batch or "\x00" in batch:
        return None
    visible = _visible(viewer).filter(batch=batch).order_by("requested_at", "id")
    found = list(visible.prefetch_related("steps"))
    rows = with_ends(viewer, map(_row, found))
    stoppable = sum(
        row.is_unsent
        and action.cluster_id is not None
        and viewer.may_stop(action.cluster_id, action.namespace, asked_by=action.user_id)
        for action, row in zip(found, rows, strict=True)
    )
    return BatchRow(batch, rows, stoppable) if rows else None


def export_rows(viewer: Viewer, filters: ActionFilters) -> Iterator[ActionRow]:
    """Yield every action that the viewer may see and asked for, the newest first.

    Read page by page, so neither memory nor a transaction grows with the record.
    """
    cursor: str | None = None
    while True:
        page = actions_page(viewer=viewer, filters=filters, cursor=cursor, limit=LARGEST_PAGE)
        yield from page.rows
        cursor = page.next_cursor
        if cursor is None:
            return


def audit_page(
    *, viewer: Viewer, filters: AuditFilters, cursor: str | None = None, limit: int = 50
) -> AuditPage:
    """Return one page of the audit, the newest first (1 query). Raises CursorError.

    What concerns a whole cluster or the installation is shown to its admins only.
    """
    found = select_audit(viewer=viewer, filters=filters)
    page, following = read_page(found, AUDIT_KEYS, cursor=cursor, limit=limit)
    return AuditPage(tuple(_audit_row(viewer, entry) for entry in page), following)


def audit_groups(
    *, viewer: Viewer, filters: AuditFilters, cursor: str | None = None, limit: int = 50
) -> AuditGroupPage:
    """Return one page of the audit with one entry an action (at most 2 queries). Raises CursorError.

    An action stands where its newest line is; its lines are those that the filters leave.
    """
    found = select_audit(viewer=viewer, filters=filters)
    page, following = read_page(
        newest_of_each_action(found), AUDIT_KEYS, cursor=cursor, limit=limit
    )
    ids = {entry.action_id for entry in page if entry.action_id}
    lines: dict[str, list[AuditRow]] = {}
    for entry in found.filter(action_id__in=ids).order_by("pk") if ids else ():
        row = _audit_row(viewer, entry)
        lines.setdefault(row.action_id, []).append(row)
    groups = tuple(
        AuditGroup(_audit_row(viewer, entry), tuple(lines.get(entry.action_id or "", ())))
        for entry in page
    )
    return AuditGroupPage(groups, following)


def audit_export_rows(viewer: Viewer, filters: AuditFilters) -> Iterator[AuditRow]:
    """Yield every line of the audit that the viewer may see and asked for, the newest first."""
    cursor: str | None = None
    while True:
        page = audit_page(viewer=viewer, filters=filters, cursor=cursor, limit=LARGEST_PAGE)
        yield from page.rows
        cursor = page.next_cursor
        if cursor is None:
            return


def _visible(viewer: Viewer) -> QuerySet[Action]:
    order = (key.order_by for key in ACTION_KEYS)
    return Action.objects.filter(viewer.gang_filter()).order_by(*order)


def _rows(found: QuerySet[Action]) -> tuple[ActionRow, ...]:
    return tuple(_row(action) for action in found.prefetch_related("steps"))


def _row(action: Action) -> ActionRow:
    steps = list(action.steps.all())
    return ActionRow(
        id=action.pk,
        verb=action.verb,
        cluster=action.cluster_name,
        api_group=printable(action.api_group),
        kind=printable(action.kind),
        namespace=printable(action.namespace),
        name=printable(action.name),
        uid=printable(action.uid),
        generation=action.generation,
        gang_id=action.gang_id,
        state=action.state,
        is_final=action.finished_at is not None,
        face=action_face(
            action.state,
            action.verb,
            action.lever,
            reverted_by=action.reverted_by,
            only_released=_only_released(action, steps),
        ),
        lever=action.lever,
        lever_label=lever_label(action.lever, forced=action.forced),
        reason=printable(action.reason),
        actor=printable(action.actor_name),
        via=action.via,
        forced=action.forced,
        message=printable(action.message),
        warnings=tuple(printable(str(text)) for text in action.warnings),
        reactions=tuple(printable(str(text)) for text in action.reactions),
        before=_texts(action.before),
        after=_texts(action.after),
        steps=tuple(_step(step) for step in steps),
        button=printable(action.button),
        reverted_by=printable(action.reverted_by),
        held_seconds=action.held_seconds,
        until=action.until,
        batch=action.batch,
        requested_at=action.requested_at,
        sent_at=action.sent_at,
        applied_at=action.applied_at,
        finished_at=action.finished_at,
        stop_asked=bool(action.stop_asked_by),
        nodes=tuple(printable(str(node)) for node in action.context.get("nodes", ())),
        watched_until=_watched_until(action),
    )


def _watched_until(action: Action) -> datetime | None:
    """Return until when it is watched: from when it was sent, or since its spec was changed last."""
    seconds, quiet = action.context.get("watch"), action.context.get("quiet_since")
    since = datetime.fromisoformat(quiet) if quiet else action.sent_at
    if action.state != ActionState.APPLIED or since is None or not seconds:
        return None
    return since + timedelta(seconds=seconds)


def _only_released(action: Action, steps: Iterable[ActionStep]) -> bool:
    """Whether a release takes the Hold away and resumes nothing: the JobSet itself is suspended."""
    if action.verb != Verb.RESUME or action.lever != HOLD_LEVER:
        return False
    kinds = {step.kind for step in steps}
    return StepKind.DELETE_HOLD in kinds and StepKind.PATCH not in kinds


def _step(step: ActionStep) -> StepRow:
    return StepRow(
        name=printable(step.name),
        method=step.method,
        path=printable(step.path),
        patch=printable(step.patch, LONGEST_PATCH),
        dry_run=step.dry_run,
        state=step.state,
        result=printable(step.result),
        at=step.at,
    )


def _texts(fields: dict[str, object]) -> dict[str, str]:
    return {printable(str(name)): printable(str(value)) for name, value in fields.items()}


def _audit_row(viewer: Viewer, entry: AuditEntry) -> AuditRow:
    return AuditRow(
        id=entry.pk,
        at=entry.at,
        actor=printable(entry.actor_name),
        event=entry.event,
        cluster=printable(entry.cluster_name),
        namespace=printable(entry.namespace),
        object_name=printable(entry.object_name),
        sentence=printable(entry.sentence),
        action_id=entry.action_id or "",
        number=entry.number,
        digest=entry.digest,
        source=printable(entry.source) if viewer.is_admin else "",
    )
