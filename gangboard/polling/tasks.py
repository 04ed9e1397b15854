"""Celery tasks of a poll worker, and the state of its process: name, slots, heartbeat."""

from __future__ import annotations

import socket
import threading
import uuid
from typing import Any

from celery import shared_task
from celery.signals import celeryd_after_setup, worker_ready, worker_shutting_down
from django.conf import settings

from gangboard.polling.checks.runs import run_checks
from gangboard.polling.cluster_rotation import poll_for_one_window
from gangboard.polling.poll_slots import PollSlots
from gangboard.polling.retention import clean_up
from gangboard.polling.trial_runs import run_trial
from gangboard.polling.use_readings import due_sources, read_cluster_use
from gangboard.store.checks import due_checks
from gangboard.store.cluster_leases import free_clusters
from gangboard.store.cluster_trials import due_trials
from gangboard.store.heartbeats import HeartbeatThread, record_task_arrival

EXPIRES = 10.0
"""Seconds after which a message to poll is stale. The seed task sends a new one."""
TRIAL_EXPIRES = 4.0
"""Seconds after which the next seed task has sent the trial or check again."""
USE_EXPIRES = 4.0
"""Seconds after which the next seed task has sent a reading again."""
QUEUE = "poll"

HOLDER = f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}"
"""Unique name of this process in leases and heartbeats."""
OWN_QUEUE = f"poll.{HOLDER}"
"""Queue that only this process reads, so that its clusters come back to it and its caches stay warm."""
stopping = threading.Event()
"""Set when this process shuts down. Windows then end at once and release their clusters."""

pulse = HeartbeatThread(HOLDER, "poll", settings.POLL_SLOTS)

slots = PollSlots(settings.POLL_SLOTS)


@shared_task(name="gangboard.polling.tasks.seed")
def seed() -> None:
    """Enqueue due trials, checks and readings of use, and a poll of each cluster without a lease.

    A run also proves that messages are delivered.
    """
    record_task_arrival(QUEUE)
    for free in free_clusters():
        poll.apply_async((free.cluster_id,), queue=QUEUE, expires=EXPIRES)
    for trial_id in due_trials():
        try_access.apply_async((trial_id,), queue=QUEUE, expires=TRIAL_EXPIRES)
    for run_id in due_checks():
        check_manifests.apply_async((run_id,), queue=QUEUE, expires=TRIAL_EXPIRES)
    for cluster_id in due_sources():
        read_use.apply_async((cluster_id,), queue=QUEUE, expires=USE_EXPIRES)


@shared_task(name="gangboard.polling.tasks.poll")
def poll(cluster_id: int) -> None:
    """Poll the cluster for one window, then enqueue the next window for this same worker."""
    next_cluster_id = poll_for_one_window(cluster_id, holder=HOLDER, slots=slots, stopping=stopping)
    if next_cluster_id is not None:
        poll.apply_async((next_cluster_id,), queue=OWN_QUEUE, expires=EXPIRES)


@shared_task(name="gangboard.polling.tasks.try_access")
def try_access(trial_id: str) -> None:
    """Try the credentials that an admin has entered."""
    run_trial(trial_id)


@shared_task(name="gangboard.polling.tasks.check_manifests")
def check_manifests(run_id: str) -> None:
    """Answer a check of manifests for one cluster, and others that are due."""
    run_checks(run_id)


@shared_task(name="gangboard.polling.tasks.read_use")
def read_use(cluster_id: int) -> None:
    """Read the accelerator use of a cluster's gangs, if that is due."""
    read_cluster_use(cluster_id)


@shared_task(name="gangboard.polling.tasks.housekeep")
def housekeep() -> None:
    """Delete expired rows."""
    clean_up()


@celeryd_after_setup.connect
def read_own_queue(instance: Any, **_: object) -> None:
    """Let a poll worker also read its own queue."""
    if QUEUE in instance.app.amqp.queues.consume_from:
        instance.app.amqp.queues.select_add(OWN_QUEUE)


@worker_ready.connect
def start_heartbeat(sender: Any, **_: object) -> None:
    """Start the heartbeat of a poll worker."""
    if QUEUE in sender.app.amqp.queues.consume_from:
        pulse.start()


@worker_shutting_down.connect
def stop_heartbeat(**_: object) -> None:
    """End the heartbeat and the windows, so that the worker does not count as dead and others get its clusters."""
    stopping.set()
    pulse.stop()
