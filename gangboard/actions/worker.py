"""What an act worker process knows of itself."""

from __future__ import annotations

import socket
import uuid

from gangboard.actions.engine import Engine
from gangboard.store.heartbeats import Pulse

HOLDER = f"{socket.gethostname()}-act-{uuid.uuid4().hex[:8]}"
"""Name of this process in leases and heartbeats; never used twice."""
THREADS = 8
"""Actions that one worker carries out at once; waiting for the network is most of it."""

engine = Engine(holder=HOLDER)
pulse = Pulse(HOLDER, "act", THREADS)
