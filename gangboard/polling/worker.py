"""What a poll worker process knows of itself: its name, its slots, its heartbeat."""

from __future__ import annotations

import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from gangboard.store.heartbeats import Pulse

HOLDER = f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}"
"""Name of this process in leases and heartbeats; never used twice."""
OWN_QUEUE = f"poll.{HOLDER}"
"""Only this process reads it: so its clusters come back to it and its caches stay warm."""
stopping = threading.Event()
"""Set when this process was told to end: windows end at once and give their clusters back."""

pulse = Pulse(HOLDER, "poll", settings.POLL_SLOTS)

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
