"""Requests with a deadline that holds for the whole answer; only reading is ever repeated."""

from __future__ import annotations

import io
import ssl
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from urllib.parse import urlencode

from urllib3.response import HTTPResponse

from gangboard.kube.credentials import Credentials
from gangboard.kube.errors import KubeError
from gangboard.kube.faults import (
    WIRE_FAULTS,
    Asked,
    answer_fault,
    connect_fault,
    not_json_fault,
    status_fault,
)
from gangboard.kube.tokens import TokenFile
from gangboard.kube.transport import Request, TLSConnection, tls_context

Query = Mapping[str, str] | Iterable[tuple[str, str]] | None

JSON = "application/json"
MAX_BYTES = 128 * 1024 * 1024
"""Twice the size at which a list asks for smaller pages."""
MOST_OF_AN_ERROR = 512 * 1024
"""A 422 can quote the whole object, twice, before it says what is wrong with it."""
READ_SIZE = 256 * 1024
MOST_IDLE = 8
IDLE_SECONDS = 30.0
"""Load balancers forget a silent connection sooner or later, and do not say so."""


class Connection:
    """The way to one API server, for any number of threads.

    No redirects, no proxies of the environment, no retries, always verified TLS. `close` it.
    `write_client.WriteClient` has the writes.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        connect_deadline: float = 3.0,
        total_deadline: float = 30.0,
        max_bytes: int = MAX_BYTES,
        gzip: bool = True,
    ) -> None:
        """Deadlines in seconds. `max_bytes` of one answer, unpacked. Raises CredentialError."""
        self.host = credentials.host
        self.total_deadline = total_deadline
        self._credentials = credentials
        self._connect_deadline = connect_deadline
        self._max_bytes = max_bytes
        self._encoding = "gzip" if gzip else "identity"
        self._context = tls_context(credentials)
        file = credentials.token_file
        self._token_file = TokenFile(Path(file)) if file is not None else None
        self._lock = threading.Lock()
        self._idle: list[tuple[TLSConnection, float]] = []
        self._closed = False

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close what is idle; what is in use closes itself when it is done."""
        with self._lock:
            self._closed = True
        self.rest()

    def rest(self) -> None:
        """Close what is idle now: nobody will ask for a while."""
        with self._lock:
            idle, self._idle = self._idle, []
        for tls, _ in idle:
            tls.dispose()

    def get(
        self, path: str, query: Query = None, *, deadline: float | None = None, accept: str = JSON
    ) -> bytes:
        """The complete JSON answer. Raises KubeError.

        `path` starts with a slash and is URL-safe. `deadline`: seconds from now to the last byte;
        None means the connection's own.
        """
        asked = self._asked("GET", path, deadline)
        request = self._request(asked, query, {"Accept": accept, "Accept-Encoding": self._encoding})
        tls = self._idle_connection()
        response = self._again(tls, request, asked) if tls else None
        if tls is None or response is None:
            tls = self.new_tls_connection()
            response = self._first(tls, request, asked)
        return self._finish(tls, response, asked)

    def send(
        self,
        tls: TLSConnection,
        method: str,
        path: str,
        query: Query,
        body: bytes,
        headers: Mapping[str, str],
        *,
        deadline: float | None = None,
    ) -> tuple[HTTPResponse, bytes]:
        """Connect a new TLS connection, send a request once, and return the complete JSON answer.

        For requests that must not be repeated: a connection of its own cannot be one that the server has
        closed meanwhile. Raises KubeError; whether a byte has left then, the connection knows.
        """
        asked = self._asked(method, path, deadline)
        common = {"Accept": JSON, "Accept-Encoding": self._encoding}
        request = self._request(asked, query, {**common, **headers}, body)
        response = self._first(tls, request, asked)
        return response, self._finish(tls, response, asked)

    def open(
        self, tls: TLSConnection, path: str, query: Query, *, accept: str = JSON
    ) -> HTTPResponse:
        """Connect a new TLS connection, send a request, and return once the headers say 200 and JSON.

        For answers without an end. The caller disposes of the connection. Raises KubeError.
        """
        asked = self._asked("GET", path, None)
        request = self._request(asked, query, {"Accept": accept, "Accept-Encoding": "identity"})
        response = self._first(tls, request, asked)
        try:
            self._check(response, asked)
        except BaseException:
            response.close()
            raise
        return response

    def new_tls_connection(self) -> TLSConnection:
        """Return an unconnected TLS connection of one's own."""
        return TLSConnection(self._credentials, self._context, self._connect_deadline)

    def _asked(self, method: str, path: str, deadline: float | None) -> Asked:
        token = self._token_file.current() if self._token_file else self._credentials.token
        seconds = self.total_deadline if deadline is None else deadline
        until = time.monotonic() + seconds
        wait = self._connect_deadline
        return Asked(self.host, method, path, wait, seconds, until, secret=token or "")

    def _first(self, tls: TLSConnection, request: Request, asked: Asked) -> HTTPResponse:
        """Connect and send. The connection is disposed of when that fails."""
        try:
            try:
                tls.connect_until(asked.until)
            except WIRE_FAULTS as error:
                raise connect_fault(error, asked) from error
            try:
                return tls.exchange(request, asked.until)
            except WIRE_FAULTS as error:
                raise answer_fault(error, asked) from error
        except BaseException:
            tls.dispose()
            raise

    def _again(self, tls: TLSConnection, request: Request, asked: Asked) -> HTTPResponse | None:
        """Send on a connection that was idle. None: the server had closed it and never saw the request."""
        try:
            return tls.exchange(request, asked.until)
        except (ConnectionError, ssl.SSLEOFError):
            tls.dispose()
            return None
        except WIRE_FAULTS as error:
            tls.dispose()
            raise answer_fault(error, asked) from error
        except BaseException:
            tls.dispose()
            raise

    def _request(
        self, asked: Asked, query: Query, headers: Mapping[str, str], body: bytes | None = None
    ) -> Request:
        complete = {"User-Agent": "gangboard", **headers}
        if asked.secret:
            complete["Authorization"] = f"Bearer {asked.secret}"
        target = f"{self._credentials.prefix}{asked.path}"
        pairs = list(query.items() if isinstance(query, Mapping) else query or ())
        if pairs:
            target = f"{target}?{urlencode(pairs)}"
        return Request(asked.method, target, complete, body)

    def _finish(self, tls: TLSConnection, response: HTTPResponse, asked: Asked) -> bytes:
        try:
            self._check(response, asked)
            body = self._read(response, asked)
        except BaseException:
            response.close()
            tls.dispose()
            raise
        self._give_back(tls)
        head, tail = body[:64].lstrip(), body[-64:].rstrip()
        if not head.startswith((b"{", b"[")):
            raise not_json_fault(response.status, response.headers, body, asked)
        if not tail.endswith((b"}", b"]")):
            raise KubeError(
                "broken-off",
                f"The JSON that {asked.host} sent for {asked.request} ends in the middle,"
                f" after {len(body)} bytes.",
                status=response.status,
            )
        return body

    def _check(self, response: HTTPResponse, asked: Asked) -> None:
        """Raise the KubeError of a bad status or content type. What it read of it stays short."""
        kind = response.headers.get("Content-Type", JSON).partition(";")[0].strip().lower()
        good = 200 <= response.status < 300
        if good and kind in ("", JSON):
            return
        try:
            body = response.read(MOST_OF_AN_ERROR, decode_content=True)
        except WIRE_FAULTS:
            # The status was said; that its explanation broke off does not change it.
            body = b""
        fault = not_json_fault if good else status_fault
        raise fault(response.status, response.headers, body, asked)

    def _read(self, response: HTTPResponse, asked: Asked) -> bytes:
        announced = response.headers.get("Content-Length", "")
        if announced.isdecimal() and int(announced[:20]) > self._max_bytes:
            raise self._too_large(asked)
        body = io.BytesIO()
        try:
            while piece := response.read(READ_SIZE, decode_content=True):
                if body.tell() + len(piece) > self._max_bytes:
                    raise self._too_large(asked)
                body.write(piece)
        except WIRE_FAULTS as error:
            raise answer_fault(error, asked) from error
        return body.getvalue()

    def _too_large(self, asked: Asked) -> KubeError:
        limit = f"{self._max_bytes / 1024 / 1024:.3g} MiB"
        return KubeError(
            "too-large", f"The answer of {asked.host} to {asked.request} is over {limit}."
        )

    def _idle_connection(self) -> TLSConnection | None:
        """Return the connection used last, if it still stands."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                tls, since = self._idle.pop()
            if time.monotonic() - since < IDLE_SECONDS and tls.is_connected:
                return tls
            tls.dispose()

    def _give_back(self, tls: TLSConnection) -> None:
        # The server may have asked to close: then http.client has let go of the socket.
        with self._lock:
            if tls.sock is not None and not self._closed and len(self._idle) < MOST_IDLE:
                self._idle.append((tls, time.monotonic()))
                return
        tls.dispose()
