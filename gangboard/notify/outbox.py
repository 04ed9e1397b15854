"""Deliveries that wait to be sent. For people they are grouped, for programs they keep the order of the feed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from gangboard.notify.items import Item, add_more
from gangboard.notify.posting import WEBHOOK
from gangboard.store.models import Channel, Delivery, Rule

WAITING = "waiting"
FAILED = "failed"
SENT = "sent"
GIVEN_UP = "given-up"
STATES = (WAITING, FAILED, SENT, GIVEN_UP)
PAUSE = timedelta(minutes=1)
"""Minimum interval between two messages of one rule to people on one channel. Its changes form one message."""
MOST_OF_WEBHOOK = 100
"""Maximum number of events in one request to a program."""
MOST_FOR_PEOPLE = 5000
"""Maximum number of changes that one message to people ranks. The others are counted."""
MOST_WAITING = 500
"""Maximum number of waiting messages of a channel: 50,000 events for a program. Later ones are dropped."""
LEFT_OUT = f"The channel had {MOST_WAITING} messages waiting, so this one was left out."


def queue_items(
    rule: Rule, channels: Sequence[Channel], items: Sequence[Item], *, now: datetime
) -> None:
    """Write the deliveries of a rule about these items. Call it inside a transaction."""
    for channel in channels:
        if channel.kind == WEBHOOK:
            _queue_for_program(rule, channel, list(items), now)
        else:
            _queue_for_people(rule, channel, list(items), now)


def _open_delivery(rule: Rule, channel: Channel) -> Delivery | None:
    """Return the newest delivery, locked, if it has had no attempt."""
    newest = Delivery.objects.filter(rule=rule, channel=channel).exclude(error=LEFT_OUT)
    delivery = newest.order_by("-pk").select_for_update().first()
    return (
        delivery
        if delivery is not None and delivery.state == WAITING and not delivery.attempts
        else None
    )


def _queue_for_people(rule: Rule, channel: Channel, items: list[Item], now: datetime) -> None:
    if (open_delivery := _open_delivery(rule, channel)) is not None:
        _append(open_delivery, items)
        return
    if not _free_slots(channel):
        _drop(rule, channel, len(items), now)
        return
    last = Delivery.objects.filter(rule=rule, channel=channel).order_by("-pk").first()
    next_at = now if last is None else max(now, min(last.next_at, now) + PAUSE)
    _add(rule, channel, items, next_at, now)


def _queue_for_program(rule: Rule, channel: Channel, items: list[Item], now: datetime) -> None:
    open_delivery = _open_delivery(rule, channel)
    if open_delivery is not None and len(open_delivery.items) < MOST_OF_WEBHOOK:
        space = MOST_OF_WEBHOOK - len(open_delivery.items)
        _append(open_delivery, items[:space])
        items = items[space:]
    if not items:
        return
    accepted = _free_slots(channel) * MOST_OF_WEBHOOK
    for start in range(0, min(len(items), accepted), MOST_OF_WEBHOOK):
        _add(rule, channel, items[start : start + MOST_OF_WEBHOOK], now, now)
    if len(items) > accepted:
        _drop(rule, channel, len(items) - accepted, now)


def _free_slots(channel: Channel) -> int:
    """Return how many more messages a channel may queue."""
    return max(0, MOST_WAITING - Delivery.objects.filter(channel=channel, finished_at=None).count())


def _append(delivery: Delivery, items: list[Item]) -> None:
    space = max(0, MOST_FOR_PEOPLE - len(delivery.items))
    delivery.items = add_more([*delivery.items, *items[:space]], len(items[space:]))
    delivery.save(update_fields=["items"])


def _add(rule: Rule, channel: Channel, items: list[Item], next_at: datetime, now: datetime) -> None:
    Delivery.objects.create(
        rule=rule,
        channel=channel,
        items=add_more(items[:MOST_FOR_PEOPLE], len(items[MOST_FOR_PEOPLE:])),
        state=WAITING,
        next_at=next_at,
        created_at=now,
    )


def _drop(rule: Rule, channel: Channel, number: int, now: datetime) -> None:
    """Count dropped changes in one finished delivery per hour."""
    counted = Delivery.objects.filter(
        rule=rule, channel=channel, error=LEFT_OUT, created_at__gt=now - timedelta(hours=1)
    )
    delivery = counted.select_for_update().first() or Delivery(
        rule=rule,
        channel=channel,
        state=GIVEN_UP,
        error=LEFT_OUT,
        next_at=now,
        created_at=now,
        finished_at=now,
    )
    delivery.items = add_more(delivery.items, number)
    delivery.save()
