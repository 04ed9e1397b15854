"""The official Kubernetes client, with total deadlines and a choice of the connection.

Its `Configuration`, `ApiClient` and `RESTClientObject` make each request and send it through a pool of urllib3. Its
typed models are never built, and its kubeconfig loader is not used.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import urllib3.exceptions
from kubernetes.client.api_client import ApiClient, RequestSerialized
from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.client.rest import RESTClientObject, RESTResponse
from urllib3.response import HTTPResponse
from urllib3.util import Timeout

from gangboard.kube.connection_pools import EXCHANGE, Exchange, Pool, Pools, WatchConnections
from gangboard.kube.credentials import Credentials
from gangboard.kube.error_translation import TRANSPORT_ERRORS, SentRequest, handle_server_error
from gangboard.kube.errors import CredentialError
from gangboard.kube.transport import TLS_BROKEN_OFF, TLSConnection, tls_context
from gangboard.network_addresses import Destinations

MAX_IDLE = 8

_CLOSED = (ConnectionError, *TLS_BROKEN_OFF)
_SILENT = (TimeoutError, urllib3.exceptions.TimeoutError)


class RestClient(RESTClientObject):
    """Sends bodies unchanged.

    The official one takes objects. It would serialize them itself, and it declares a JSON patch that is given as bytes
    a strategic merge patch.
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
        """Send a request like the official client. A `body` is bytes."""
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
            retries=cast("int", False),  # 0 would wrap exceptions
            proxy="",  # None would use the proxy of the environment
            no_proxy="",
        )
        super().__init__(configuration)
        self.default_headers.clear()  # its User-Agent would override that of a request
        self.rest_client = RestClient(configuration, tls_context(credentials), destinations)
        self.watch_connections = WatchConnections()
        try:
            self.new_tls_connection()
        except urllib3.exceptions.HTTPError as error:
            raise CredentialError("The server address is not an address.") from error

    def close(self) -> None:
        """Close idle connections."""
        super().close()
        self.watch_connections.close()

    def new_tls_connection(self) -> TLSConnection:
        """Return a new, unconnected connection."""
        pool = self.rest_client.pool_manager.connection_from_url(self.configuration.host)
        return cast("Pool", pool).new_tls_connection()

    def exchange(
        self,
        request: SentRequest,
        query: Sequence[tuple[str, str]],
        headers: dict[str, str],
        body: bytes | None = None,
        tls: TLSConnection | None = None,
    ) -> HTTPResponse:
        """Send a request and return once the headers of its response have arrived. Raises KubeError.

        It uses `tls`, or an idle connection, or a new one. If the connection was used before, the request is repeated
        once in two cases:

        - The server had closed the connection.
        - It is `tls`, and no byte arrives within the connect deadline. The network may have forgotten the connection.

        Reading the response to its end returns a connection to the pool. Closing the response closes the connection.
        """
        is_kept = tls is not None and not tls.is_closed
        exchange = Exchange(
            _with_connect_deadline(request) if is_kept else request, tls, is_reused=is_kept
        )
        serialized = self._serialized(request, query, headers, body)
        timeout = (request.connect_seconds, max(request.seconds, 0.001))
        token = EXCHANGE.set(exchange)
        try:
            response = self.call_api(*serialized, _request_timeout=timeout).response
            return cast("HTTPResponse", response)
        except (*TRANSPORT_ERRORS, ApiException) as error:
            cause = _transport_error(error)
            repeatable = (*_CLOSED, *_SILENT) if is_kept else _CLOSED
            if not (exchange.is_reused and isinstance(cause, repeatable)):
                raise handle_server_error(cause, request) from cause
        finally:
            EXCHANGE.reset(token)
        # The connection is closed by now. A watch gets a new one, so that it can be cut as well.
        return self.exchange(request, query, headers, body, tls or self.new_tls_connection())

    def _serialized(
        self,
        request: SentRequest,
        query: Sequence[tuple[str, str]],
        headers: dict[str, str],
        body: bytes | None,
    ) -> RequestSerialized:
        bearer = {
            "type": "api_key",
            "in": "header",
            "key": "Authorization",
            "value": f"Bearer {request.secret}",
        }
        return self.param_serialize(
            request.method,
            request.path,
            query_params=list(query),
            header_params=headers,
            body=body,
            auth_settings=["BearerToken"] if request.secret else [],
            _request_auth=bearer,
        )


def _with_connect_deadline(request: SentRequest) -> SentRequest:
    """Return the request with a deadline that only covers reaching the server."""
    surplus = max(0.0, request.seconds - request.connect_seconds)
    return replace(request, deadline=request.deadline - surplus)


def _transport_error(error: Exception) -> Exception:
    """Return the original exception inside those of urllib3 and the client."""
    if isinstance(error, ApiException) and isinstance(error.__context__, Exception):
        error = error.__context__
    wraps = isinstance(error, urllib3.exceptions.ProtocolError | urllib3.exceptions.SSLError)
    inner = error.args[-1] if wraps and error.args else None
    return inner if isinstance(inner, Exception) else error
