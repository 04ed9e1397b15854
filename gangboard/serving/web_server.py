"""The web server: the options of granian, and of the sockets that it listens on."""

from __future__ import annotations

import os
import socket
from pathlib import Path

WEB_SERVER = (
    "gangboard.entry:application",
    # All open pages wait in one process; see `web.live.notifier`.
    *("--interface", "asginl", "--workers", "1", "--loop", "asyncio"),
    # One connection carries one request at a time.
    *("--http", "1", "--no-ws"),
    # Connections that are open, and that may wait to be.
    *("--backpressure", "4096", "--backlog", "4096"),
    # Milliseconds and bytes for the headers; the time also ends connections on which nobody asks.
    *("--http1-header-read-timeout", "10000", "--http1-buffer-size", "65536"),
)


_DESCRIPTORS = Path("/proc/self/fd")


def end_stuck_connections(seconds: float) -> int:
    """Let the kernel end connections whose other side has taken nothing for so long; return of how many sockets.

    Each connection has it from the socket that it came in by. Nothing above the kernel ends them: a
    reader who never reads would keep his socket, and what is in its buffers, for ever. Only Linux can
    (TCP_USER_TIMEOUT, tcp(7)); elsewhere 0 is returned.
    """
    if not hasattr(socket, "TCP_USER_TIMEOUT") or not _DESCRIPTORS.is_dir():
        return 0
    found = 0
    for name in os.listdir(_DESCRIPTORS):
        try:
            one = socket.socket(fileno=os.dup(int(name)))
        except OSError:  # no socket, or closed meanwhile
            continue
        with one:
            if _listens(one):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000))
                found += 1
    return found


def _listens(one: socket.socket) -> bool:
    return one.family in (socket.AF_INET, socket.AF_INET6) and bool(
        one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    )
