"""What an act worker process knows of itself."""

from __future__ import annotations

import socket
import uuid

from gangboard.actions.engine import Engine
from gangboard.actions.worker_slots import WORKER_SLOTS
from gangboard.store.heartbeats import Pulse

HOLDER = f"{socket.gethostname()}-act-{uuid.uuid4().hex[:8]}"
"""Name of this process in leases and heartbeats; never used twice."""
PROVER = f"{socket.gethostname()}-prove-{uuid.uuid4().hex[:8]}"
"""The same of a process that proves."""
PROVE_THREADS = 4
"""Clusters that one worker looks at at once. One that hangs takes a thread for some seconds a minute."""

engine = Engine(holder=HOLDER)
pulse = Pulse(HOLDER, "act", WORKER_SLOTS)
prove_pulse = Pulse(PROVER, "prove", PROVE_THREADS)
