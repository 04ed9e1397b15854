"""Dispatch of due actions to act workers, as hints through the broker.

The row in the database is the order. A lost hint costs at most the seconds until the next sweep, so no
request waits for the broker: one thread sends the hints, and drops the surplus while it is blocked.
"""

from __future__ import annotations

import queue
import threading

from kombu.exceptions import KombuError, OperationalError

from gangboard.celery import app
from gangboard.logs import get_logger

log = get_logger(__name__)

QUEUE = "act"
ADVANCE = "gangboard.actions.tasks.advance"
EXPIRES = 60.0
"""Seconds after which a hint is stale. By then the sweeper has sent another one."""
MAX_QUEUED = 100

_hints: queue.Queue[str] = queue.Queue(MAX_QUEUED)
_lock = threading.Lock()
_thread: threading.Thread | None = None


def wake(action_id: str) -> None:
    """Hint to a worker that the action is due. Never blocks, never fails."""
    _ensure_thread()
    try:
        _hints.put_nowait(action_id)
    except queue.Full:
        log.warning("no worker woken, the sweeper will find it", action=action_id)


def send(action_id: str, *, delay: float = 0.0) -> None:
    """Enqueue the next run of an action. If the broker is unreachable, only log that."""
    try:
        app.send_task(
            ADVANCE,
            (action_id,),
            queue=QUEUE,
            countdown=delay or None,
            expires=delay + EXPIRES,
            retry=False,
        )
    except (KombuError, OperationalError, OSError) as error:
        log.warning("no worker woken, the sweeper will find it", action=action_id, why=str(error))


def _ensure_thread() -> None:
    global _thread  # one per process, started on first use
    with _lock:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_run, name="wake-workers", daemon=True)
            _thread.start()


def _run() -> None:
    while True:
        send(_hints.get())
