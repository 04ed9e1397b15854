"""Requests with a deadline that holds for the whole answer; only reading is ever repeated."""

from __future__ import annotations

import io
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType

from urllib3.response import HTTPResponse

from gangboard.kube.credentials import Credentials
from gangboard.kube.error_translation import (
    TRANSPORT_ERRORS,
    SentRequest,
    answer_error,
    not_json_error,
    status_error,
)
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.kube.tokens import TokenFile
from gangboard.kube.transport import TLSConnection
from gangboard.network_addresses import Destinations

Query = Mapping[str, str] | Iterable[tuple[str, str]] | None

JSON = "application/json"
MAX_BYTES = 128 * 1024 * 1024
"""Twice the size at which a list asks for smaller pages."""
MAX_ERROR_BYTES = 512 * 1024
"""A 422 can quote the whole object, twice, before it says what is wrong with it."""
READ_SIZE = 256 * 1024


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
        destinations: Destinations | None = None,
    ) -> None:
        """Deadlines in seconds. `max_bytes` of one answer, unpacked. Raises CredentialError.

        `destinations`: where credentials from a page may lead. Others may lead anywhere.
        """
        self.host = credentials.host
        self.total_deadline = total_deadline
        self._credentials = credentials
        self._connect_deadline = connect_deadline
        self._max_bytes = max_bytes
        self._encoding = "gzip" if gzip else "identity"
        # Only a process that connects pays for the official client: 0.17 s of CPU and 14 MiB.
        from gangboard.kube.api_client import Client

        is_guarded = credentials.origin is not None
        self._client = Client(credentials, (destinations or Destinations()) if is_guarded else None)
        file = credentials.token_file
        self._token_file = TokenFile(Path(file)) if file is not None else None

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
        """Close what is idle; what is in use closes itself when it is done.

        Whoever asks again is connected anew.
        """
        self._client.close()

    def get(
        self, path: str, query: Query = None, *, deadline: float | None = None, accept: str = JSON
    ) -> bytes:
        """Return the complete JSON answer. Raises KubeError.

        `path` starts with a slash and is URL-safe. `deadline`: seconds from now to the last byte;
        None means the connection's own.
        """
        asked = self._asked("GET", path, deadline)
        headers = self._headers(self._encoding, accept)
        return self._finish(self._client.exchange(asked, _pairs(query), headers), asked)

    def review(self, path: str, body: bytes) -> bytes:
        """Post an object that the server answers and does not keep, and return its answer. Raises KubeError.

        Nothing changes by it, so it is repeated as a read is.
        """
        asked = self._asked("POST", path, None)
        headers = {**self._headers(self._encoding), "Content-Type": JSON}
        return self._finish(self._client.exchange(asked, (), headers, body), asked)

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
        complete = {**self._headers(self._encoding), **headers}
        response = self._client.exchange(asked, _pairs(query), complete, body, tls)
        return response, self._finish(response, asked)

    def open(
        self, tls: TLSConnection, path: str, query: Query, *, accept: str = JSON
    ) -> HTTPResponse:
        """Send a request over `tls`, connected if need be, and return once the headers say 200 and JSON.

        For answers without an end. The caller disposes of the connection, or keeps it. Raises KubeError.
        """
        asked = self._asked("GET", path, None)
        headers = self._headers("identity", accept)
        response = self._client.exchange(asked, _pairs(query), headers, tls=tls)
        try:
            self._check(response, asked)
        except BaseException:
            response.close()
            raise
        return response

    def new_tls_connection(self) -> TLSConnection:
        """Return an unconnected TLS connection of one's own."""
        return self._client.new_tls_connection()

    def connection_for_watch(self) -> TLSConnection:
        """Return a connection that can be cut: one that was kept, else an unconnected one."""
        tls = self._client.watch_connections.take() or self._client.new_tls_connection()
        tls.can_be_cut = True
        return tls

    def keep(self, tls: TLSConnection) -> None:
        """Keep the connection of a watch for the next one: its answer was read to the very end."""
        self._client.watch_connections.keep(tls)

    def _asked(self, method: str, path: str, deadline: float | None) -> SentRequest:
        token = self._token_file.current() if self._token_file else self._credentials.token
        seconds = self.total_deadline if deadline is None else deadline
        until = time.monotonic() + seconds
        wait = self._connect_deadline
        return SentRequest(self.host, method, path, wait, seconds, until, secret=token or "")

    def _finish(self, response: HTTPResponse, asked: SentRequest) -> bytes:
        try:
            self._check(response, asked)
            body = self._read(response, asked)
        except BaseException:
            response.close()
            raise
        head, tail = body[:64].lstrip(), body[-64:].rstrip()
        if not head.startswith((b"{", b"[")):
            raise not_json_error(response.status, response.headers, body, asked)
        if not tail.endswith((b"}", b"]")):
            raise KubeError(
                KubeErrorCode.BROKEN_OFF,
                f"The JSON that {asked.host} sent for {asked.request} ends in the middle,"
                f" after {len(body)} bytes.",
                status=response.status,
            )
        return body

    def _check(self, response: HTTPResponse, asked: SentRequest) -> None:
        """Raise the KubeError of a bad status or content type. What it read of it stays short."""
        kind = response.headers.get("Content-Type", JSON).partition(";")[0].strip().lower()
        good = 200 <= response.status < 300
        if good and kind in ("", JSON):
            return
        try:
            body = response.read(MAX_ERROR_BYTES, decode_content=True)
        except TRANSPORT_ERRORS:
            # The status was said; that its explanation broke off does not change it.
            body = b""
        fault = not_json_error if good else status_error
        raise fault(response.status, response.headers, body, asked)

    def _read(self, response: HTTPResponse, asked: SentRequest) -> bytes:
        announced = response.headers.get("Content-Length", "")
        if announced.isdecimal() and int(announced[:20]) > self._max_bytes:
            raise self._too_large(asked)
        body = io.BytesIO()
        try:
            while piece := response.read(READ_SIZE, decode_content=True):
                if body.tell() + len(piece) > self._max_bytes:
                    raise self._too_large(asked)
                body.write(piece)
        except TRANSPORT_ERRORS as error:
            raise answer_error(error, asked) from error
        return body.getvalue()

    def _too_large(self, asked: SentRequest) -> KubeError:
        limit = f"{self._max_bytes / 1024 / 1024:.3g} MiB"
        return KubeError(
            KubeErrorCode.TOO_LARGE,
            f"The answer of {asked.host} to {asked.request} is over {limit}.",
        )

    @staticmethod
    def _headers(encoding: str, accept: str = JSON) -> dict[str, str]:
        return {"User-Agent": "gangboard", "Accept": accept, "Accept-Encoding": encoding}


def _pairs(query: Query) -> list[tuple[str, str]]:
    return list(query.items() if isinstance(query, Mapping) else query or ())
