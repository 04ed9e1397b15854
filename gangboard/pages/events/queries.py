"""The feed as one viewer may read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q
from django.urls import reverse

from gangboard.pages.events.feed_cursors import FeedCursor, write_cursor
from gangboard.pages.events.rows import ChangeActionRow, ChangeGangRow, ChangePage, ChangeRow
from gangboard.readmodels.action_rows import ActionRow
from gangboard.readmodels.actions import actions_by_id
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.verdict_spans import SpanRow, rows_of_spans
from gangboard.store.access import Viewer
from gangboard.store.feed import newest_number, read_after, read_newest
from gangboard.store.models import FeedEvent, Gang


@dataclass(frozen=True, slots=True)
class EventFilters:
    """Filters of events. Empty means all."""

    cluster: str = ""
    namespace: str = ""
    type: str = ""
    health: tuple[str, ...] = ()
    code: str = ""
    gang: str = ""

    @property
    def condition(self) -> Q:
        """The condition on events. An action has neither health nor code."""
        columns = {
            "cluster__name": self.cluster,
            "namespace": self.namespace,
            "type": self.type,
            "span__health__in": self.health,
            "span__code": self.code,
        }
        condition = Q(**{column: value for column, value in columns.items() if value})
        if self.gang:
            condition &= Q(span__gang_id=self.gang) | Q(action__gang_id=self.gang)
        return condition


def read_changes(
    *, viewer: Viewer, after: FeedCursor, filters: EventFilters, limit: int, now: datetime
) -> ChangePage:
    """Return the next events after a cursor, the oldest first (at most 5 queries, and `hidden_names`)."""
    # Read the newest number before the events. No event appears later with a lower number.
    newest = max(newest_number(), after.number)
    condition = viewer.gang_filter() & filters.condition
    events = read_after(after.number, limit=limit, condition=condition)
    rows = _rows(events, viewer)
    if len(events) == limit:
        last = events[-1]
        return ChangePage(rows, write_cursor(_number(last), last.at), _number(last))
    number = max([newest, *(_number(event) for event in events)])
    return ChangePage(rows, write_cursor(number, now), number)


def read_last_changes(
    *, viewer: Viewer, filters: EventFilters, limit: int
) -> tuple[ChangeRow, ...]:
    """Return the newest events, the newest first (at most 4 queries, and `hidden_names`)."""
    condition = viewer.gang_filter() & filters.condition
    return _rows(read_newest(limit=limit, condition=condition), viewer)


def _rows(events: Sequence[FeedEvent], viewer: Viewer) -> tuple[ChangeRow, ...]:
    spans = [event.span for event in events if event.span is not None]
    verdict_rows = rows_of_spans(spans, viewer=viewer)
    actions = actions_by_id(
        viewer=viewer, ids=[event.action_id for event in events if event.action_id]
    )
    gangs = _gangs({action.gang_id for action in actions.values()}, viewer)
    rows: list[ChangeRow] = []
    for event in events:
        if event.span is not None:
            rows.append(_of_verdict(event, verdict_rows[event.span.pk]))
        elif event.action_id in actions:
            rows.append(_of_action(event, actions[event.action_id], gangs))
    return tuple(rows)


def _of_verdict(event: FeedEvent, verdict: SpanRow) -> ChangeRow:
    span = event.span
    assert span is not None  # noqa: S101  # for the type checker: the caller has looked
    return ChangeRow(
        cursor=write_cursor(_number(event), event.at),
        at=event.at,
        type=event.type,
        cluster=event.cluster.name,
        namespace=printable(event.namespace),
        gang=ChangeGangRow(
            span.gang_id, printable(span.kind), printable(span.api_group), printable(span.name)
        ),
        health=verdict.health,
        code=verdict.code,
        title=verdict.title,
        message=verdict.message,
        action=None,
        face=verdict.face,
        href=reverse("gang", args=[span.gang_id]),
    )


def _of_action(event: FeedEvent, row: ActionRow, gangs: Mapping[str, ChangeGangRow]) -> ChangeRow:
    return ChangeRow(
        cursor=write_cursor(_number(event), event.at),
        at=event.at,
        type=event.type,
        cluster=event.cluster.name,
        namespace=row.namespace,
        gang=gangs.get(row.gang_id),
        health=None,
        code=None,
        title=f"{row.label} {row.kind} {row.name}",
        message=row.message,
        action=ChangeActionRow(row.id, row.verb, row.state, row.message),
        face=row.face,
        href=reverse("action", args=[row.id]),
    )


def _gangs(ids: set[str], viewer: Viewer) -> dict[str, ChangeGangRow]:
    if not ids - {""}:
        return {}
    gangs = Gang.objects.filter(viewer.gang_filter(), pk__in=ids)
    return {
        id_: ChangeGangRow(id_, printable(kind), printable(group), printable(name))
        for id_, kind, group, name in gangs.values_list("id", "kind", "api_group", "name")
    }


def _number(event: FeedEvent) -> int:
    return event.number or 0
