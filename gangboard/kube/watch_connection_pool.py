"""Connections of watches that ended as they should, for the watches that come next."""

from __future__ import annotations

import threading
import time

from gangboard.kube.transport import TLSConnection

IDLE_SECONDS = 30.0
"""Load balancers forget a silent connection sooner or later, and do not say so."""


class WatchConnections:
    """Open connections to one API server that nobody uses now. Thread-safe."""

    def __init__(self) -> None:
        """Start with none."""
        self._lock = threading.Lock()
        self._kept: list[TLSConnection] = []

    def take(self) -> TLSConnection | None:
        """Return one that its server has not left, as far as can be seen here; None without one."""
        while True:
            with self._lock:
                if not self._kept:
                    return None
                tls = self._kept.pop()
            if time.monotonic() - tls.idle_since < IDLE_SECONDS and tls.is_connected:
                return tls
            tls.dispose()

    def keep(self, tls: TLSConnection) -> None:
        """Take one whose last answer was read to its end, and nothing came behind that."""
        tls.idle_since = time.monotonic()
        with self._lock:
            self._kept.append(tls)

    def close(self) -> None:
        """Close all of them."""
        with self._lock:
            kept, self._kept = self._kept, []
        for tls in kept:
            tls.dispose()
