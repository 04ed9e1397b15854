"""Delivery of messages: one at a time for each channel, with retries until success or for a day.

A channel has a lease, so two workers do not send to it at once. Each channel is served by a thread of its
own, so channels do not wait for each other. Channels whose last attempt failed share few of the threads.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Lock
from time import monotonic

from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from gangboard.logs import get_logger
from gangboard.notify.channels import may_use_channel
from gangboard.notify.items import read_items
from gangboard.notify.messages import ADMINS, Message, make_message, make_test_message
from gangboard.notify.outbox import FAILED, GIVEN_UP, SENT
from gangboard.notify.posting import WEBHOOK, Post, Receipt, run_sender, send
from gangboard.store.access import Viewer, viewers_of
from gangboard.store.models import Channel, Delivery, Rule
from gangboard.store.row_leases import RealDatabaseClock, RowLeases

log = get_logger(__name__)

AT_ONCE = 16
"""Channels that one worker sends to at once."""
FAILING_AT_ONCE = 6
"""Threads for channels whose last attempt failed, because they may hang again."""
FIRST_PAUSE = timedelta(seconds=10)
LONGEST_PAUSE = timedelta(hours=1)
GIVE_UP_AFTER = timedelta(hours=24)
GIVE_UP_REFUSED_AFTER = timedelta(hours=1)
"""How long a message is retried that the receiver refuses with a status of 400 to 499."""
TURN = 20.0
"""Seconds after which a channel with more messages returns its thread."""
LEASES = RowLeases("held_until", 60.0)
NOTHING_LEFT = "The owner of the rule may not see any of these changes."
_NOT_USABLE = "The owner of the rule may no longer use this channel."

Clock = Callable[[], datetime]
_threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="deliver")
_lock = Lock()
_busy: dict[int, bool] = {}
"""Channels that this process sends to, and whether their last attempt had failed."""


def start_due() -> None:
    """Start sending to every channel with due messages while threads are free. It never waits."""
    for channel_id, failing in due_channels(now=timezone.now()):
        with _lock:
            if channel_id in _busy or len(_busy) >= AT_ONCE:
                continue
            if failing and sum(_busy.values()) >= FAILING_AT_ONCE:
                continue
            _busy[channel_id] = failing
        _threads.submit(_serve_in_thread, channel_id)


def _serve_in_thread(channel_id: int) -> None:
    try:
        serve(channel_id)
    except (DatabaseError, InterfaceError) as error:
        log.warning("deliveries wait for the database", channel=channel_id, why=str(error))
    finally:
        connection.close()
        with _lock:
            _busy.pop(channel_id, None)


def due_channels(*, now: datetime) -> list[tuple[int, bool]]:
    """Return the channels with due messages and whether their last attempt failed, healthy ones first."""
    due = Channel.objects.filter(
        Q(next_at=None) | Q(next_at__lte=now) | Q(deliveries__rule=None),
        deliveries__finished_at=None,
        deliveries__next_at__lte=now,
    )
    rows = due.order_by("failures", "pk").values_list("pk", "failures").distinct()
    return [(id_, failures > 0) for id_, failures in rows]


def serve(channel_id: int, *, post: Post = run_sender, clock: Clock = timezone.now) -> int:
    """Send the due messages of one channel until one fails or the turn ends. Return the number of attempts."""
    row = Channel.objects.filter(pk=channel_id)
    leases, holder = RealDatabaseClock(), uuid.uuid4().hex
    if not LEASES.take(row, holder, leases):
        return 0
    tried, turn_end = 0, monotonic() + TURN
    try:
        while monotonic() < turn_end and (delivery := _claim(channel_id, clock())) is not None:
            tried += 1
            outcome = _attempt(delivery, clock(), post)
            if outcome is not None:
                _record_result(delivery, outcome, clock())
                if not outcome.ok:
                    break
            if not LEASES.extend(row.filter(holder=holder), leases):
                break
    finally:
        row.filter(holder=holder).update(holder="", held_until=None)
    return tried


def _claim(channel_id: int, now: datetime) -> Delivery | None:
    """Return the next due delivery and count the attempt. From now on the outbox adds no items to it.

    Test messages come first, then the failed message, so that the order stays.
    """
    with transaction.atomic():
        pending = Delivery.objects.filter(
            channel_id=channel_id, finished_at=None, next_at__lte=now
        ).select_related("channel")
        locked = pending.select_for_update(of=("self",))
        delivery = locked.filter(rule=None).order_by("pk").first()
        if delivery is None:
            ready = locked.filter(Q(channel__next_at=None) | Q(channel__next_at__lte=now))
            delivery = ready.order_by("-attempts", "pk").first()
        if delivery is None:
            return None
        delivery.attempts += 1
        delivery.save(update_fields=["attempts"])
    return delivery


def _attempt(delivery: Delivery, now: datetime, post: Post) -> Receipt | None:
    """Send a delivery once. A delivery without a message ends, and the result is None."""
    message, reason = _make_message(delivery, now)
    if message is None:
        _finish(delivery, GIVEN_UP, reason, now)
        return None
    channel = delivery.channel
    # The sender may take ten seconds, and connections to the database are few.
    if not connection.in_atomic_block:
        connection.close()
    return send(channel, message, key=f"msg_{delivery.pk}", at=now, post=post)


def _make_message(delivery: Delivery, now: datetime) -> tuple[Message | None, str]:
    rule, channel = delivery.rule, delivery.channel
    if rule is None:
        return make_test_message(channel.name, now=now), ""
    viewer = _viewer_of(rule)
    if viewer is None:
        return None, NOTHING_LEFT
    if not may_use_channel(rule, channel, viewer):
        return None, _NOT_USABLE
    everything = channel.kind == WEBHOOK
    items = read_items(delivery.items)
    return make_message(rule, items, viewer=viewer, now=now, everything=everything), NOTHING_LEFT


def _viewer_of(rule: Rule) -> Viewer | None:
    """Return the viewer whose rights apply to a message; None for a disabled person."""
    if rule.owner is None:
        return ADMINS
    return viewers_of([rule.owner])[rule.owner.pk] if rule.owner.is_active else None


def _record_result(delivery: Delivery, outcome: Receipt, now: datetime) -> None:
    """Store the result of an attempt."""
    if outcome.ok:
        _unchanged_channel(delivery).update(error="", failures=0, next_at=None, sent_at=now)
        _finish(delivery, SENT, "", now)
        if delivery.rule_id is None:
            # The channel works again, so its failed message goes at once.
            waiting = Delivery.objects.filter(channel_id=delivery.channel_id, state=FAILED)
            waiting.update(next_at=now)
        return
    failures = delivery.channel.failures + 1
    pause = min(FIRST_PAUSE * 2 ** min(failures - 1, 20), LONGEST_PAUSE)
    failed = {"error": outcome.sentence, "failures": failures, "next_at": now + pause}
    if not _unchanged_channel(delivery).update(**failed):
        pause = timedelta(0)  # the new address has not failed
    age = now - delivery.created_at
    if delivery.rule_id is None or (outcome.final and age >= GIVE_UP_REFUSED_AFTER):
        _finish(delivery, GIVEN_UP, outcome.sentence, now)
    else:
        Delivery.objects.filter(pk=delivery.pk).update(
            state=FAILED, error=outcome.sentence, next_at=now + pause
        )
    _give_up_old(delivery.channel_id, outcome.sentence, now)


def _unchanged_channel(delivery: Delivery) -> QuerySet[Channel]:
    """Return the channel of a delivery, unless an admin changed its address during the attempt."""
    return Channel.objects.filter(pk=delivery.channel_id, address=bytes(delivery.channel.address))


def _give_up_old(channel_id: int, error: str, now: datetime) -> None:
    """Give up all messages that a failing channel has delayed for GIVE_UP_AFTER.

    One attempt an hour would end fewer messages than the rules add.
    """
    old = Delivery.objects.filter(
        channel_id=channel_id, finished_at=None, created_at__lte=now - GIVE_UP_AFTER
    )
    old.update(state=GIVEN_UP, error=error, finished_at=now)


def _finish(delivery: Delivery, state: str, error: str, now: datetime) -> None:
    Delivery.objects.filter(pk=delivery.pk).update(state=state, error=error, finished_at=now)
