"""Celery's tasks of the write side, and the processes that run them.

A task takes an id and calls one service.
"""

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
"""Seconds after which an order of the sweeper is stale: it gives another one."""
HOLDER = f"{socket.gethostname()}-act-{uuid.uuid4().hex[:8]}"
"""Name of this process in leases and heartbeats; never used twice."""
PROVER = f"{socket.gethostname()}-prove-{uuid.uuid4().hex[:8]}"
"""Name of a process that proves."""
PROVE_THREADS = 4
"""Clusters that one worker inspects at the same time. A cluster that hangs takes a thread for some seconds a minute."""

_sweeper = Sweeper()
engine = Engine(holder=HOLDER)
pulse = HeartbeatThread(HOLDER, "act", WORKER_SLOTS)
prove_pulse = HeartbeatThread(PROVER, "prove", PROVE_THREADS)


@shared_task(name=dispatch.ADVANCE)
def advance(action_id: str) -> None:
    """Work on an action for some seconds, then order the next look at it."""
    delay = engine.advance(action_id)
    if delay is not None:
        dispatch.send(action_id, delay=delay)
    for waiting in engine.next_in_line():
        dispatch.send(waiting)


@shared_task(name="gangboard.actions.tasks.sweep")
def sweep() -> None:
    """Enqueue due work that no worker has claimed. A run also proves that messages are delivered."""
    record_task_arrival(dispatch.QUEUE)
    _sweeper.order(dispatch.send, _order(inspect), _order(prove))


@shared_task(name="gangboard.actions.tasks.inspect")
def inspect(cluster_id: int) -> None:
    """Check the verified actions of a cluster that seem to be undone."""
    drift_detection.inspect_all(cluster_id, engine.clock)


@shared_task(name="gangboard.actions.tasks.prove")
def prove(cluster_id: int) -> None:
    """Prove the Holds of a cluster again."""
    hold_proofs.prove_all(cluster_id, engine.clock)


def _order(task: Any) -> Any:
    return lambda subject: task.apply_async((subject,), queue=PROVE_QUEUE, expires=EXPIRES)


@worker_ready.connect
def start_heartbeat(sender: Any, **_: object) -> None:
    """Begin to say that this worker is alive, if it is one that acts or one that proves."""
    for queue, beating in ((dispatch.QUEUE, pulse), (PROVE_QUEUE, prove_pulse)):
        if queue in sender.app.amqp.queues.consume_from:
            beating.start()


@worker_shutting_down.connect
def stop_heartbeat(**_: object) -> None:
    """A worker that is told to stop is not dead."""
    pulse.stop()
    prove_pulse.stop()
