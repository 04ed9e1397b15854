"""Matching rules with the events of the feed, each event once and in order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from gangboard.domain.action import ActionState
from gangboard.domain.health import Health
from gangboard.notify.items import event_item
from gangboard.notify.listeners import Listener, Marks, PendingDeliveries, read_listeners
from gangboard.notify.rules import RUNS, Trigger
from gangboard.store.feed import CHUNK, FeedType, newest_number, number_events, read_after
from gangboard.store.models import FeedEvent, NotifyCursor, Rule, VerdictSpan

AT_ONCE = 1000
"""Events of one transaction."""
MOST_ROUNDS = 50
"""Maximum number of rounds of one call. The next call continues."""
_TRIGGERS = (Trigger.VERDICT, Trigger.ACTION, Trigger.REVERTED, Trigger.RUNS)


def match_feed(*, now: datetime) -> int:
    """Number the new events of the feed and write deliveries for them. Return the number of their items."""
    for _ in range(MOST_ROUNDS):
        if number_events() < CHUNK:
            break
    total = 0
    for _ in range(MOST_ROUNDS):
        number, items = _match_some(now)
        total += items
        if number < AT_ONCE:
            break
    return total


def _match_some(now: datetime) -> tuple[int, int]:
    """Match the next events. Return the number of events and of items for messages.

    The process locks the row of the cursor, so that each event is matched once.
    """
    if not NotifyCursor.objects.exists():
        NotifyCursor.objects.get_or_create(pk=1, defaults={"number": newest_number()})
    with transaction.atomic():
        cursor = NotifyCursor.objects.select_for_update().get(pk=1)
        events = read_after(cursor.number, limit=AT_ONCE)
        if not events:
            return 0, 0
        item_count = _match(events, now)
        NotifyCursor.objects.filter(pk=1).update(number=events[-1].number)
    return len(events), item_count


def _match(events: Sequence[FeedEvent], now: datetime) -> int:
    listeners = read_listeners(_TRIGGERS)
    if not listeners:
        return 0
    gangs = {event.span.gang_id for event in events if event.span is not None}
    marks, deliveries = Marks(listeners, map(_subject, gangs)), PendingDeliveries()
    for event in events:
        for listener in listeners:
            if _matches_event(listener, event, marks):
                assert event.number is not None  # noqa: S101  # of read_after
                deliveries.add(listener, event_item(event.number), at=event.at)
                if listener.rule.trigger == Trigger.RUNS:
                    end_rule(listener.rule, now=now)
    number = deliveries.queue(now=now)
    marks.save(now=now)
    return number


def end_rule(rule: Rule, *, now: datetime) -> None:
    """End a rule about one gang, which sends only one message."""
    rule.ended_at = now
    Rule.objects.filter(pk=rule.pk).update(ended_at=now)


def _subject(gang_id: str) -> str:
    return f"gang:{gang_id}"


def _matches_event(listener: Listener, event: FeedEvent, marks: Marks) -> bool:
    rule = listener.rule
    if rule.ended_at is not None:
        return False
    if event.type == FeedType.ACTION.value:
        return _matches_action(listener, event)
    span = event.span
    if span is None:
        return False
    if rule.trigger == Trigger.RUNS:
        over = event.type == FeedType.DELETED.value or span.health in RUNS
        return (
            over
            and span.gang_id == rule.gang_id
            and listener.viewer.sees(event.cluster_id, event.namespace)
        )
    if rule.trigger != Trigger.VERDICT:
        return False
    if event.type == FeedType.DELETED.value:
        marks.forget(rule, _subject(span.gang_id))
        # A rule about certain verdicts does not cover the end of a gang.
        return not rule.health and not rule.code and _matches_span(listener, span)
    return _matches_verdict(listener, span, marks)


def _matches_verdict(listener: Listener, span: VerdictSpan, marks: Marks) -> bool:
    subject = _subject(span.gang_id)
    if _matches_span(listener, span):
        return marks.is_new(listener.rule, subject, f"{span.health}/{span.code}")
    if span.health != Health.UNKNOWN:
        # A gang without visibility for a while has not changed.
        marks.forget(listener.rule, subject)
    return False


def _matches_span(listener: Listener, span: VerdictSpan) -> bool:
    return listener.matches_gang(
        span.cluster_id,
        span.namespace,
        kind=span.kind,
        code=span.code,
        health=span.health,
        accelerators=span.accelerators,
    )


def _matches_action(listener: Listener, event: FeedEvent) -> bool:
    rule, action = listener.rule, event.action
    if action is None or rule.kind not in ("", action.kind):
        return False
    if rule.trigger == Trigger.REVERTED and action.state != ActionState.REVERTED:
        return False
    is_triggered = rule.trigger in (Trigger.ACTION, Trigger.REVERTED)
    return is_triggered and listener.matches_namespace(event.cluster_id, event.namespace)
