"""Dispatch of due actions to act workers: a hint, given beside the request that made the action due.

The row in the database is the order; whoever loses this hint loses at most the seconds until the
next sweep. So nobody waits for the broker: one thread hands the hints over, and while it is stuck
the surplus is dropped.
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
"""Seconds after which a hint is stale: the sweeper has long given another one."""
MOST_WAITING = 100

_hints: queue.Queue[str] = queue.Queue(MOST_WAITING)
_lock = threading.Lock()
_thread: threading.Thread | None = None


def wake(action_id: str) -> None:
    """Let a worker look at the action soon. Never waits, never fails."""
    _ensure_thread()
    try:
        _hints.put_nowait(action_id)
    except queue.Full:
        log.warning("no worker woken, the sweeper will find it", action=action_id)


def send(action_id: str, *, delay: float = 0.0) -> None:
    """Order the next look at an action from the broker; a broker that is away is only logged."""
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
    global _thread  # one for the process, made when it is needed first
    with _lock:
        if _thread is None or not _thread.is_alive():
            _thread = threading.Thread(target=_run, name="wake-workers", daemon=True)
            _thread.start()


def _run() -> None:
    while True:
        send(_hints.get())
