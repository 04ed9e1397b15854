"""Name, threads and sign of life of a process that sends messages."""

from __future__ import annotations

import socket
import uuid

from gangboard.notify.delivery import AT_ONCE
from gangboard.store.heartbeats import Pulse

HOLDER = f"{socket.gethostname()}-notify-{uuid.uuid4().hex[:8]}"
"""Name of this process in heartbeats; never used twice."""
NOTIFY_THREADS = 2
"""For the two orders of beat. Channels have threads of their own, see delivery.AT_ONCE."""

pulse = Pulse(HOLDER, "notify", AT_ONCE)
