"""Deliveries: what is to be sent is written here, grouped for people, in the order of the feed for programs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from gangboard.notify.channels import WEBHOOK
from gangboard.notify.items import Item
from gangboard.store.models import Channel, Delivery, Rule

WAITING = "waiting"
FAILED = "failed"
SENT = "sent"
GIVEN_UP = "given-up"
STATES = (WAITING, FAILED, SENT, GIVEN_UP)
PAUSE = timedelta(minutes=1)
"""Between two messages of one rule to people on one channel: what happens meanwhile is one message."""
MOST_OF_WEBHOOK = 100
"""Events of one request to a program."""


def queue_items(
    rule: Rule, channels: Sequence[Channel], items: Sequence[Item], *, now: datetime
) -> None:
    """Let a rule tell these items. Inside the transaction that decides so."""
    for channel in channels:
        if channel.kind == WEBHOOK:
            _queue_for_program(rule, channel, list(items), now)
        else:
            _queue_for_people(rule, channel, list(items), now)


def _open_delivery(rule: Rule, channel: Channel) -> Delivery | None:
    """Return the newest delivery if nothing of it was sent yet; it is locked until the transaction ends."""
    newest = Delivery.objects.filter(rule=rule, channel=channel).order_by("-pk").select_for_update()
    found = newest.first()
    return found if found is not None and found.state == WAITING and not found.attempts else None


def _queue_for_people(rule: Rule, channel: Channel, items: list[Item], now: datetime) -> None:
    if (found := _open_delivery(rule, channel)) is not None:
        _append(found, items)
        return
    last = Delivery.objects.filter(rule=rule, channel=channel).order_by("-pk").first()
    next_at = now if last is None else max(now, min(last.next_at, now) + PAUSE)
    _add(rule, channel, items, next_at, now)


def _queue_for_program(rule: Rule, channel: Channel, items: list[Item], now: datetime) -> None:
    found = _open_delivery(rule, channel)
    if found is not None and len(found.items) < MOST_OF_WEBHOOK:
        room = MOST_OF_WEBHOOK - len(found.items)
        _append(found, items[:room])
        items = items[room:]
    for start in range(0, len(items), MOST_OF_WEBHOOK):
        _add(rule, channel, items[start : start + MOST_OF_WEBHOOK], now, now)


def _append(delivery: Delivery, items: list[Item]) -> None:
    delivery.items = [*delivery.items, *items]
    delivery.save(update_fields=["items"])


def _add(rule: Rule, channel: Channel, items: list[Item], next_at: datetime, now: datetime) -> None:
    Delivery.objects.create(
        rule=rule, channel=channel, items=items, state=WAITING, next_at=next_at, created_at=now
    )
