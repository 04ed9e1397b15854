"""The web server granian: its options, and options of its sockets."""

from __future__ import annotations

import os
import socket
from pathlib import Path

WEB_SERVER = (
    "gangboard.entry:application",
    # All open pages wait in one process: see `web.live.notifier`.
    *("--interface", "asginl", "--workers", "1", "--loop", "asyncio"),
    # One connection carries one request at a time.
    *("--http", "1", "--no-ws"),
    # Open connections, and connections that wait to be accepted.
    *("--backpressure", "4096", "--backlog", "4096"),
    # Milliseconds and bytes for the headers; the time also ends idle connections.
    *("--http1-header-read-timeout", "10000", "--http1-buffer-size", "65536"),
)
"""Options of granian for `manage.py up`, the Dockerfile and tests."""
_DESCRIPTORS = Path("/proc/self/fd")


def end_stuck_connections(seconds: float) -> int:
    """Let the kernel end connections whose client takes no data for this time. Return the number of listening sockets.

    A connection inherits the option from its listening socket. granian does not end such connections, so a client
    that never reads would keep a socket and its buffers for ever. Only Linux has the option (TCP_USER_TIMEOUT,
    tcp(7)). Other systems return 0.
    """
    if not hasattr(socket, "TCP_USER_TIMEOUT") or not _DESCRIPTORS.is_dir():
        return 0
    listening = 0
    for name in os.listdir(_DESCRIPTORS):
        try:
            candidate = socket.socket(fileno=os.dup(int(name)))
        except OSError:  # not a socket, or closed meanwhile
            continue
        with candidate:
            if _is_listening(candidate):
                candidate.setsockopt(
                    socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000)
                )
                listening += 1
    return listening


def _is_listening(candidate: socket.socket) -> bool:
    return candidate.family in (socket.AF_INET, socket.AF_INET6) and bool(
        candidate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    )
