"""What a poll worker process knows of itself: its name, its slots, its heartbeat."""

from __future__ import annotations

import socket
import threading
import uuid

from django.conf import settings

from gangboard.polling.poll_slots import PollSlots
from gangboard.store.heartbeats import HeartbeatThread

HOLDER = f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}"
"""Name of this process in leases and heartbeats; never used twice."""
OWN_QUEUE = f"poll.{HOLDER}"
"""Only this process reads it: so its clusters come back to it and its caches stay warm."""
stopping = threading.Event()
"""Set when this process was told to end: windows end at once and give their clusters back."""

pulse = HeartbeatThread(HOLDER, "poll", settings.POLL_SLOTS)

slots = PollSlots(settings.POLL_SLOTS)
