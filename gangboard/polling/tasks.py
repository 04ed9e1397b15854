"""Celery's doors to the read side: take ids, call one service."""

from __future__ import annotations

from typing import Any

from celery import shared_task
from celery.signals import celeryd_after_setup, worker_ready, worker_shutting_down

from gangboard.polling.cluster_rotation import poll_for_one_window
from gangboard.polling.retention import clean_up
from gangboard.polling.trial_runs import run_trial
from gangboard.polling.worker import HOLDER, OWN_QUEUE, pulse, slots, stopping
from gangboard.store.cluster_leases import free_clusters
from gangboard.store.cluster_trials import due_trials
from gangboard.store.heartbeats import record_task_arrival

EXPIRES = 10.0
"""Seconds after which an order to poll is stale: somebody gives it again."""
TRIAL_EXPIRES = 4.0
"""Seconds after which the next seed has ordered the trial again."""
QUEUE = "poll"


@shared_task(name="gangboard.polling.tasks.seed")
def seed() -> None:
    """Order a poll of every cluster that nobody holds, and due trials; its running shows that orders arrive."""
    record_task_arrival(QUEUE)
    for free in free_clusters():
        poll.apply_async((free.cluster_id,), queue=QUEUE, expires=EXPIRES)
    for trial_id in due_trials():
        try_access.apply_async((trial_id,), queue=QUEUE, expires=TRIAL_EXPIRES)


@shared_task(name="gangboard.polling.tasks.poll")
def poll(cluster_id: int) -> None:
    """Hold the cluster for a window, then order the next window from this same worker."""
    following = poll_for_one_window(cluster_id, holder=HOLDER, slots=slots, stopping=stopping)
    if following is not None:
        poll.apply_async((following,), queue=OWN_QUEUE, expires=EXPIRES)


@shared_task(name="gangboard.polling.tasks.try_access")
def try_access(trial_id: str) -> None:
    """Try the credentials that an admin has given."""
    run_trial(trial_id)


@shared_task(name="gangboard.polling.tasks.housekeep")
def housekeep() -> None:
    """Drop what nobody will ask for any more."""
    clean_up()


@celeryd_after_setup.connect
def read_own_queue(instance: Any, **_: object) -> None:
    """Let this worker read its own queue as well, if it is one that polls."""
    if QUEUE in instance.app.amqp.queues.consume_from:
        instance.app.amqp.queues.select_add(OWN_QUEUE)


@worker_ready.connect
def start_heartbeat(sender: Any, **_: object) -> None:
    """Begin to say that this worker is alive, if it is one that polls."""
    if QUEUE in sender.app.amqp.queues.consume_from:
        pulse.start()


@worker_shutting_down.connect
def stop_heartbeat(**_: object) -> None:
    """A worker that is told to stop is not dead, and somebody else may have its clusters."""
    stopping.set()
    pulse.stop()
