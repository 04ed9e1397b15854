"""The official client, with what it lacks: whole deadlines, and a say in which connection is used.

Its `Configuration`, `ApiClient` and `RESTClientObject` make each request and send it through a pool
of urllib3. No model of it is ever built, and nothing of its kubeconfig loader is used.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, cast

import urllib3.exceptions
from kubernetes.client.api_client import ApiClient, RequestSerialized
from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.client.rest import RESTClientObject, RESTResponse
from urllib3.connectionpool import HTTPSConnectionPool
from urllib3.poolmanager import PoolManager
from urllib3.response import BaseHTTPResponse, HTTPResponse
from urllib3.util import Timeout

from gangboard.kube.credentials import Credentials
from gangboard.kube.error_translation import (
    TRANSPORT_ERRORS,
    SentRequest,
    answer_error,
    connect_error,
)
from gangboard.kube.errors import CredentialError
from gangboard.kube.transport import TLS_BROKEN_OFF, TLSConnection, tls_context
from gangboard.kube.watch_connection_pool import IDLE_SECONDS, WatchConnections
from gangboard.network_addresses import Destinations

MAX_IDLE = 8


@dataclass(slots=True)
class _Exchange:
    """One request and its answer, as far as the pool must know of it."""

    asked: SentRequest
    tls: TLSConnection | None
    """The connection to use. None takes one that is idle, else a new one."""
    reused: bool = False
    """It was idle: the server may have closed it meanwhile."""


_CLOSED = (ConnectionError, *TLS_BROKEN_OFF)
_SILENT = (TimeoutError, urllib3.exceptions.TimeoutError)

_EXCHANGE: ContextVar[_Exchange] = ContextVar("exchange")
"""That of this thread: neither the client nor urllib3 has an argument for it."""


class Pool(HTTPSConnectionPool):
    """urllib3's pool of idle connections to one server; the exchange says which one it needs."""

    ConnectionCls = TLSConnection

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # urllib3 reserves places for connections that it makes; not all of ours come from here.
        while self.pool is not None and not self.pool.empty():
            self.pool.get_nowait()

    destinations: Destinations | None = None
    """Where its connections may lead. None: anywhere."""

    def new_tls_connection(self) -> TLSConnection:
        """Return an unconnected connection that nobody has used."""
        return cast("TLSConnection", self._new_conn())

    def _new_conn(self) -> Any:
        connection = cast("TLSConnection", super()._new_conn())
        connection.destinations = self.destinations
        return connection

    def _get_conn(self, timeout: float | None = None) -> TLSConnection:
        exchange = _EXCHANGE.get()
        if exchange.tls is not None:
            return exchange.tls
        connection = cast("TLSConnection", super()._get_conn(timeout))
        if time.monotonic() - connection.idle_since >= IDLE_SECONDS:
            connection.close()
        exchange.reused = not connection.is_closed
        return connection

    def _validate_conn(self, conn: Any) -> None:
        """Connect, if need be. A KubeError passes through urllib3 and the client as it is."""
        asked = _EXCHANGE.get().asked
        if conn.is_closed:
            try:
                conn.connect_by(asked.until)
            except TRANSPORT_ERRORS as error:
                raise connect_error(error, asked) from error
        conn.wire.until = asked.until
        super()._validate_conn(conn)

    def _put_conn(self, conn: Any) -> None:
        """Keep a connection whose answer was read to its end; None is one that was given up."""
        if conn is None or conn.can_be_cut:
            return  # whoever watches on it gives it back, or disposes of it
        # The server may have asked to close: then http.client has let go of the socket.
        if conn.is_closed or self.pool is None or self.pool.full():
            conn.close()
            return
        conn.idle_since = time.monotonic()
        super()._put_conn(conn)


class Pools(PoolManager):
    """urllib3's, but a redirect is an answer like others: nobody even reads where it leads."""

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
        """As urllib3's."""
        return super().urlopen(method, url, **{**settings, "redirect": False})


class RestClient(RESTClientObject):
    """Sends bodies as they are.

    The official one takes objects: it would write JSON of its own, and declares a JSON patch that
    is given as bytes a strategic merge patch.
    """

    def __init__(
        self,
        configuration: Configuration,
        context: ssl.SSLContext,
        destinations: Destinations | None = None,
    ) -> None:
        super().__init__(configuration)
        settings = self.pool_manager.connection_pool_kw
        self.pool_manager = Pools(destinations, ssl_context=context, **settings)

    def request(
        self,
        method: str,
        url: str,
        headers: Any = None,
        body: Any = None,
        post_params: Any = None,
        _request_timeout: Any = None,
    ) -> RESTResponse:
        """As the official one; a `body` is bytes."""
        if body is None:
            answer = super().request(method, url, headers, None, post_params, _request_timeout)
            return cast("RESTResponse", answer)
        connect, read = _request_timeout
        response = self.pool_manager.urlopen(
            method,
            url,
            body=body,
            headers=headers,
            timeout=Timeout(connect=connect, read=read),
            preload_content=False,
        )
        return RESTResponse(response)


class Client(ApiClient):
    """The official client of one API server: no retries, no redirects, no proxies, verified TLS."""

    def __init__(self, credentials: Credentials, destinations: Destinations | None = None) -> None:
        """Raises CredentialError."""
        configuration = Configuration(
            host=credentials.server,
            tls_server_name=credentials.tls_server_name,
            connection_pool_maxsize=MAX_IDLE,
            retries=cast("int", False),  # 0 would wrap what it meets
            proxy="",  # None would be that of the environment
            no_proxy="",
        )
        super().__init__(configuration)
        self.default_headers.clear()  # its User-Agent goes before that of a request
        self.rest_client = RestClient(configuration, tls_context(credentials), destinations)
        self.watch_connections = WatchConnections()
        try:
            self.new_tls_connection()
        except urllib3.exceptions.HTTPError as error:
            raise CredentialError("The server address is not an address.") from error

    def close(self) -> None:
        """Close what is idle."""
        super().close()
        self.watch_connections.close()

    def new_tls_connection(self) -> TLSConnection:
        """Return an unconnected connection that nobody has used."""
        pool = self.rest_client.pool_manager.connection_from_url(self.configuration.host)
        return cast("Pool", pool).new_tls_connection()

    def exchange(
        self,
        asked: SentRequest,
        query: Sequence[tuple[str, str]],
        headers: dict[str, str],
        body: bytes | None = None,
        tls: TLSConnection | None = None,
    ) -> HTTPResponse:
        """Send a request and return once the headers of its answer are here. Raises KubeError.

        Over `tls`, or over one that is idle. On one that was used before it is repeated once where the
        server had closed that, and on such a `tls` also where nothing comes within the deadline for
        reaching the server: the network may have forgotten it, and does not say so.
        Reading the answer to its end gives a connection of the pool back, closing the answer closes it.
        """
        is_kept = tls is not None and not tls.is_closed
        exchange = _Exchange(_briefly(asked) if is_kept else asked, tls, reused=is_kept)
        request = self._serialized(asked, query, headers, body)
        timeout = (asked.connect_seconds, max(asked.seconds, 0.001))
        under_way = _EXCHANGE.set(exchange)
        try:
            return cast("HTTPResponse", self.call_api(*request, _request_timeout=timeout).response)
        except (*TRANSPORT_ERRORS, ApiException) as error:
            fault = _wire_fault(error)
            in_vain = (*_CLOSED, *_SILENT) if is_kept else _CLOSED
            if not (exchange.reused and isinstance(fault, in_vain)):
                raise answer_error(fault, asked) from fault
        finally:
            _EXCHANGE.reset(under_way)
        # It is closed by now; one of a watch is connected anew, so that it can be cut all the same.
        return self.exchange(asked, query, headers, body, tls or self.new_tls_connection())

    def _serialized(
        self,
        asked: SentRequest,
        query: Sequence[tuple[str, str]],
        headers: dict[str, str],
        body: bytes | None,
    ) -> RequestSerialized:
        bearer = {
            "type": "api_key",
            "in": "header",
            "key": "Authorization",
            "value": f"Bearer {asked.secret}",
        }
        return self.param_serialize(
            asked.method,
            asked.path,
            query_params=list(query),
            header_params=headers,
            body=body,
            auth_settings=["BearerToken"] if asked.secret else [],
            _request_auth=bearer,
        )


def _briefly(asked: SentRequest) -> SentRequest:
    """Return the request with no more time than for reaching the server."""
    return replace(asked, until=asked.until - max(0.0, asked.seconds - asked.connect_seconds))


def _wire_fault(error: Exception) -> Exception:
    """Return what was met on the wire, out of what urllib3 and the client have made of it."""
    if isinstance(error, ApiException) and isinstance(error.__context__, Exception):
        error = error.__context__
    wraps = isinstance(error, urllib3.exceptions.ProtocolError | urllib3.exceptions.SSLError)
    inner = error.args[-1] if wraps and error.args else None
    return inner if isinstance(inner, Exception) else error
