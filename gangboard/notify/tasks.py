"""Celery tasks that match rules and send messages, and the process that runs them."""

from __future__ import annotations

import socket
import uuid
from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down
from django.utils import timezone

from gangboard.notify.delivery import AT_ONCE, start_due
from gangboard.notify.matching import match_feed
from gangboard.notify.waiting import match_waiting
from gangboard.store.heartbeats import HeartbeatThread

QUEUE = "notify"
HOLDER = f"{socket.gethostname()}-notify-{uuid.uuid4().hex[:8]}"
"""Name of this process in heartbeats. It is never reused."""
NOTIFY_THREADS = 2
"""For the two tasks of beat. Channels have threads of their own; see `delivery.AT_ONCE`."""

pulse = HeartbeatThread(HOLDER, "notify", AT_ONCE)


@shared_task(name="gangboard.notify.tasks.notify")
def notify() -> None:
    """Match new events of the feed with the rules, and start sending due messages."""
    match_feed(now=timezone.now())
    start_due()


@shared_task(name="gangboard.notify.tasks.look")
def look() -> None:
    """Match rules about time: long waits, ending Holds, silent clusters."""
    match_waiting(now=timezone.now())


@worker_ready.connect
def start_heartbeat(sender: Any, **_: object) -> None:
    """Start the heartbeat if this worker sends messages."""
    if QUEUE in sender.app.amqp.queues.consume_from:
        pulse.start()


@worker_shutting_down.connect
def stop_heartbeat(**_: object) -> None:
    """Remove the heartbeat of a worker that stops on purpose."""
    pulse.stop()
