"""Celery tasks of the write side. Each takes an id and calls one service."""

from __future__ import annotations

import socket
import uuid
from typing import Any

from celery import shared_task
from celery.signals import worker_ready, worker_shutting_down

from gangboard.actions import dispatch, drift_detection, hold_proofs
from gangboard.actions.engine import Engine
from gangboard.actions.sweeper import Sweeper
from gangboard.actions.worker_slots import WORKER_SLOTS
from gangboard.store.heartbeats import HeartbeatThread, record_task_arrival

PROVE_QUEUE = "prove"
"""Queue of checks after an action: a cluster that hangs holds no thread that acts."""
EXPIRES = 4.0
"""Seconds after which a message of the sweeper is stale, because the sweeper sends another one."""
HOLDER = f"{socket.gethostname()}-act-{uuid.uuid4().hex[:8]}"
"""Name of this process in leases and heartbeats; never used twice."""
PROVER = f"{socket.gethostname()}-prove-{uuid.uuid4().hex[:8]}"
"""Name of this process as a prove worker."""
PROVE_THREADS = 4
"""Clusters that one worker inspects in parallel. A hanging cluster blocks a thread for some seconds a minute."""

_sweeper = Sweeper()
engine = Engine(holder=HOLDER)
pulse = HeartbeatThread(HOLDER, "act", WORKER_SLOTS)
prove_pulse = HeartbeatThread(PROVER, "prove", PROVE_THREADS)


@shared_task(name=dispatch.ADVANCE)
def advance(action_id: str) -> None:
    """Work on an action for some seconds, then enqueue its next run."""
    delay = engine.advance(action_id)
    if delay is not None:
        dispatch.send(action_id, delay=delay)
    for next_action_id in engine.next_in_line():
        dispatch.send(next_action_id)


@shared_task(name="gangboard.actions.tasks.sweep")
def sweep() -> None:
    """Enqueue due work that no worker has claimed. A run also proves that messages are delivered."""
    record_task_arrival(dispatch.QUEUE)
    _sweeper.dispatch(dispatch.send, _enqueue(inspect), _enqueue(prove))


@shared_task(name="gangboard.actions.tasks.inspect")
def inspect(cluster_id: int) -> None:
    """Inspect the verified actions of a cluster that seem to be undone."""
    drift_detection.inspect_all(cluster_id, engine.clock)


@shared_task(name="gangboard.actions.tasks.prove")
def prove(cluster_id: int) -> None:
    """Prove the Holds of a cluster again."""
    hold_proofs.prove_all(cluster_id, engine.clock)


def _enqueue(task: Any) -> Any:
    return lambda cluster_id: task.apply_async((cluster_id,), queue=PROVE_QUEUE, expires=EXPIRES)


@worker_ready.connect
def start_heartbeat(sender: Any, **_: object) -> None:
    """Start the heartbeat of this worker, if it is an act worker or a prove worker."""
    for queue, queue_pulse in ((dispatch.QUEUE, pulse), (PROVE_QUEUE, prove_pulse)):
        if queue in sender.app.amqp.queues.consume_from:
            queue_pulse.start()


@worker_shutting_down.connect
def stop_heartbeat(**_: object) -> None:
    """End the heartbeat, so that a stopped worker does not count as dead."""
    pulse.stop()
    prove_pulse.stop()
