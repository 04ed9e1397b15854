"""What a poll worker process knows of itself: its name, its slots, its heartbeat."""

from __future__ import annotations

import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import DatabaseError, connection

from gangboard.logs import get_logger
from gangboard.store.heartbeats import beat, stop_beating

log = get_logger(__name__)

HOLDER = f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}"
"""Name of this process in leases and heartbeats; never used twice."""
OWN_QUEUE = f"poll.{HOLDER}"
"""Only this process reads it: so its clusters come back to it and its caches stay warm."""
HEARTBEAT_SECONDS = 3.0
stopping = threading.Event()
"""Set when this process was told to end: windows end at once and give their clusters back."""

_slots = threading.BoundedSemaphore(settings.POLL_SLOTS)


@contextmanager
def slot() -> Iterator[bool]:
    """Take one of the slots of this worker for a watched cluster; yields False when none is free."""
    taken = _slots.acquire(blocking=False)
    try:
        yield taken
    finally:
        if taken:
            _slots.release()


class Pulse(threading.Thread):
    """Says every few seconds that this worker is alive."""

    def __init__(self) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self._ended = threading.Event()

    def run(self) -> None:
        """Write the heartbeat until told to end; a database that is away is tried again."""
        while not self._ended.is_set():
            try:
                beat(HOLDER, "poll", settings.POLL_SLOTS)
            except DatabaseError as error:
                log.warning("heartbeat not written", why=str(error))
            finally:
                connection.close()
            self._ended.wait(HEARTBEAT_SECONDS)

    def end(self) -> None:
        """Stop, and take the heartbeat away: a worker that stopped on purpose is not dead."""
        self._ended.set()
        try:
            stop_beating(HOLDER)
        except DatabaseError as error:
            log.warning("heartbeat not removed", why=str(error))
        finally:
            connection.close()
