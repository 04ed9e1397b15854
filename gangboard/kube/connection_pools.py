"""Pools of open connections to one API server: urllib3's pool for requests, and ours for watches."""

from __future__ import annotations

import threading
import time
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

from urllib3.connectionpool import HTTPSConnectionPool
from urllib3.poolmanager import PoolManager
from urllib3.response import BaseHTTPResponse

from gangboard.kube.error_translation import TRANSPORT_ERRORS, SentRequest, connect_error
from gangboard.kube.transport import TLSConnection
from gangboard.network_addresses import Destinations

IDLE_SECONDS = 30.0
"""Seconds after which an idle connection is not used again. Load balancers forget a silent connection without notice."""


@dataclass(slots=True)
class Exchange:
    """One request and its response, as far as the pool must know them."""

    request: SentRequest
    tls: TLSConnection | None
    """The connection to use, or None for an idle or a new one."""
    is_reused: bool = False
    """The connection was idle, so the server may have closed it meanwhile."""


EXCHANGE: ContextVar[Exchange] = ContextVar("exchange")
"""The exchange of this thread. The client and urllib3 have no argument for it."""


class Pool(HTTPSConnectionPool):
    """urllib3's pool of idle connections to one server. The exchange selects the connection."""

    ConnectionCls = TLSConnection

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # urllib3 reserves places for the connections that it creates. Some of ours come from elsewhere.
        while self.pool is not None and not self.pool.empty():
            self.pool.get_nowait()

    destinations: Destinations | None = None
    """Permitted addresses, or None for any."""

    def new_tls_connection(self) -> TLSConnection:
        """Return a new, unconnected connection."""
        return cast("TLSConnection", self._new_conn())

    def _new_conn(self) -> Any:
        connection = cast("TLSConnection", super()._new_conn())
        connection.destinations = self.destinations
        return connection

    def _get_conn(self, timeout: float | None = None) -> TLSConnection:
        exchange = EXCHANGE.get()
        if exchange.tls is not None:
            return exchange.tls
        connection = cast("TLSConnection", super()._get_conn(timeout))
        if time.monotonic() - connection.idle_since >= IDLE_SECONDS:
            connection.close()
        exchange.is_reused = not connection.is_closed
        return connection

    def _validate_conn(self, conn: Any) -> None:
        """Connect, if necessary. A KubeError passes through urllib3 and the client unchanged."""
        request = EXCHANGE.get().request
        if conn.is_closed:
            try:
                conn.connect_by(request.deadline)
            except TRANSPORT_ERRORS as error:
                raise connect_error(error, request) from error
        conn.wire.deadline = request.deadline
        super()._validate_conn(conn)

    def _put_conn(self, conn: Any) -> None:
        """Keep a connection whose response was read to its end. None stands for one that was given up."""
        if conn is None or conn.can_be_cut:
            return  # the watch returns its own connection, or disposes of it
        # If the server asked to close the connection, http.client has released the socket.
        if conn.is_closed or self.pool is None or self.pool.full():
            conn.close()
            return
        conn.idle_since = time.monotonic()
        super()._put_conn(conn)


class Pools(PoolManager):
    """urllib3's pool manager without redirects. A redirect is an ordinary response, and its target is not read."""

    def __init__(self, destinations: Destinations | None, **settings: Any) -> None:
        super().__init__(**settings)
        self.pool_classes_by_scheme = {"https": Pool}
        self._destinations = destinations

    def _new_pool(self, *args: Any, **kwargs: Any) -> Any:
        pool = super()._new_pool(*args, **kwargs)
        cast("Pool", pool).destinations = self._destinations
        return pool

    def urlopen(  # type: ignore[override]  # as urllib3's own
        self, method: str, url: str, **settings: Any
    ) -> BaseHTTPResponse:
        """Open a URL like urllib3's own method, without redirects."""
        return super().urlopen(method, url, **{**settings, "redirect": False})


class WatchConnections:
    """Open connections of cleanly ended watches, for the next watches. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[TLSConnection] = []

    def take(self) -> TLSConnection | None:
        """Return a connection that the server has not visibly closed, or None."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                tls = self._idle.pop()
            if time.monotonic() - tls.idle_since < IDLE_SECONDS and tls.is_connected:
                return tls
            tls.dispose()

    def keep(self, tls: TLSConnection) -> None:
        """Keep a connection whose last response was read to its end, with no bytes after it."""
        tls.idle_since = time.monotonic()
        with self._lock:
            self._idle.append(tls)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for tls in idle:
            tls.dispose()
