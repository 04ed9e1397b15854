"""Requests with a deadline for the whole response. Reads may be repeated, writes never are."""

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
    handle_server_error,
    status_error,
    wrong_type_error,
)
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.kube.tokens import TokenFile
from gangboard.kube.transport import TLSConnection
from gangboard.network_addresses import Destinations

Query = Mapping[str, str] | Iterable[tuple[str, str]] | None

JSON = "application/json"
TEXT = "text/plain"
MAX_RESPONSE_BYTES = 128 * 1024 * 1024
"""Twice the size above which a list requests smaller pages."""
MAX_ERROR_BYTES = 512 * 1024
"""A 422 can quote the whole object, twice, before the reason."""
READ_SIZE = 256 * 1024


class Connection:
    """A connection to one API server, for any number of threads. Close it after use.

    It uses no redirects, no proxies of the environment and no retries, and always verifies TLS.
    `write_client.WriteClient` has the writes.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        connect_deadline: float = 3.0,
        total_deadline: float = 30.0,
        max_bytes: int = MAX_RESPONSE_BYTES,
        gzip: bool = True,
        destinations: Destinations | None = None,
    ) -> None:
        """Deadlines are in seconds. `max_bytes` limits one unpacked response.

        `destinations`: the addresses that credentials from a page may use. Other credentials may use any. Raises
        CredentialError.
        """
        self.host = credentials.host
        self.total_deadline = total_deadline
        self._credentials = credentials
        self._connect_deadline = connect_deadline
        self._max_bytes = max_bytes
        self._encoding = "gzip" if gzip else "identity"
        # Imported here, because the official client takes 0.17 s of CPU and 14 MiB, which only a process that
        # connects needs.
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
        """Close idle connections. Connections in use are closed after their request. Later requests open new ones."""
        self._client.close()

    def get(
        self, path: str, query: Query = None, *, deadline: float | None = None, accept: str = JSON
    ) -> bytes:
        """Return the complete JSON response. Raises KubeError.

        `path` starts with a slash and is URL-safe. `deadline`: seconds from now to the last byte, by default those of
        the connection.
        """
        request = self._new_request("GET", path, deadline)
        headers = self._headers(self._encoding, accept)
        return self._finish(self._client.exchange(request, _pairs(query), headers), request)

    def get_text(
        self, path: str, query: Query, *, deadline: float, max_bytes: int, kept_bytes: int
    ) -> tuple[bytes, int]:
        """Return the end of a plain text, at most `kept_bytes`, and the number of bytes that were read.

        It reads at most `max_bytes` and then closes the connection, so a server that sends more is cut off there.
        `deadline`: seconds from now to the last byte. Raises KubeError.
        """
        request = self._new_request("GET", path, deadline)
        headers = self._headers("identity", f"{TEXT}, {JSON}")
        response = self._client.exchange(request, _pairs(query), headers)
        end, number = bytearray(), 0
        try:
            self._check(response, request, wanted=TEXT)
            while number < max_bytes and (
                piece := response.read(min(READ_SIZE, max_bytes - number))
            ):
                number += len(piece)
                end += piece
                del end[:-kept_bytes]
        except TRANSPORT_ERRORS as error:
            response.close()
            raise handle_server_error(error, request) from error
        except BaseException:
            response.close()
            raise
        if number >= max_bytes:
            response.close()
        return bytes(end), number

    def review(self, path: str, body: bytes) -> bytes:
        """Post an object that the server answers and does not store, and return its response. Raises KubeError.

        It changes nothing, so it is repeated like a read.
        """
        request = self._new_request("POST", path, None)
        headers = {**self._headers(self._encoding), "Content-Type": JSON}
        return self._finish(self._client.exchange(request, (), headers, body), request)

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
        """Connect a new TLS connection, send a request once, and return the complete JSON response.

        This is for requests that must not be repeated: the server cannot have closed a new connection meanwhile.
        Raises KubeError. `tls.has_written` then tells whether a byte was sent.
        """
        request = self._new_request(method, path, deadline)
        complete = {**self._headers(self._encoding), **headers}
        response = self._client.exchange(request, _pairs(query), complete, body, tls)
        return response, self._finish(response, request)

    def open(
        self, tls: TLSConnection, path: str, query: Query, *, accept: str = JSON
    ) -> HTTPResponse:
        """Send a request over `tls`, and return once the headers say 200 and JSON. Connect it if necessary.

        This is for responses without an end. The caller disposes of the connection, or keeps it. Raises KubeError.
        """
        request = self._new_request("GET", path, None)
        headers = self._headers("identity", accept)
        response = self._client.exchange(request, _pairs(query), headers, tls=tls)
        try:
            self._check(response, request)
        except BaseException:
            response.close()
            raise
        return response

    def new_tls_connection(self) -> TLSConnection:
        """Return a new, unconnected TLS connection."""
        return self._client.new_tls_connection()

    def connection_for_watch(self) -> TLSConnection:
        """Return a connection that can be cut: a kept one, or a new unconnected one."""
        tls = self._client.watch_connections.take() or self._client.new_tls_connection()
        tls.can_be_cut = True
        return tls

    def keep(self, tls: TLSConnection) -> None:
        """Keep the connection of a watch whose response was read to its end, for the next watch."""
        self._client.watch_connections.keep(tls)

    def _new_request(self, method: str, path: str, deadline: float | None) -> SentRequest:
        token = self._token_file.current() if self._token_file else self._credentials.token
        seconds = self.total_deadline if deadline is None else deadline
        deadline_at = time.monotonic() + seconds
        connect_seconds = self._connect_deadline
        return SentRequest(
            self.host, method, path, connect_seconds, seconds, deadline_at, secret=token or ""
        )

    def _finish(self, response: HTTPResponse, request: SentRequest) -> bytes:
        try:
            self._check(response, request)
            body = self._read(response, request)
        except BaseException:
            response.close()
            raise
        head, tail = body[:64].lstrip(), body[-64:].rstrip()
        if not head.startswith((b"{", b"[")):
            raise wrong_type_error(response.status, response.headers, body, request)
        if not tail.endswith((b"}", b"]")):
            raise KubeError(
                KubeErrorCode.BROKEN_OFF,
                f"The JSON that {request.host} sent for {request.request_line} is cut off after {len(body)} bytes.",
                status=response.status,
            )
        return body

    def _check(self, response: HTTPResponse, request: SentRequest, wanted: str = JSON) -> None:
        """Raise the KubeError of a bad status or content type. It reads a limited part of the body."""
        kind = response.headers.get("Content-Type", wanted).partition(";")[0].strip().lower()
        good = 200 <= response.status < 300
        if good and kind in ("", wanted):
            return
        try:
            body = response.read(MAX_ERROR_BYTES, decode_content=True)
        except TRANSPORT_ERRORS:
            # The status is known. A broken explanation does not change it.
            body = b""
        if good:
            raise wrong_type_error(response.status, response.headers, body, request, wanted)
        raise status_error(response.status, response.headers, body, request)

    def _read(self, response: HTTPResponse, request: SentRequest) -> bytes:
        announced = response.headers.get("Content-Length", "")
        if announced.isdecimal() and int(announced[:20]) > self._max_bytes:
            raise self._too_large(request)
        body = io.BytesIO()
        try:
            while piece := response.read(READ_SIZE, decode_content=True):
                if body.tell() + len(piece) > self._max_bytes:
                    raise self._too_large(request)
                body.write(piece)
        except TRANSPORT_ERRORS as error:
            raise handle_server_error(error, request) from error
        return body.getvalue()

    def _too_large(self, request: SentRequest) -> KubeError:
        limit = f"{self._max_bytes / 1024 / 1024:.3g} MiB"
        return KubeError(
            KubeErrorCode.TOO_LARGE,
            f"The answer of {request.host} to {request.request_line} is over {limit}.",
        )

    @staticmethod
    def _headers(encoding: str, accept: str = JSON) -> dict[str, str]:
        return {"User-Agent": "gangboard", "Accept": accept, "Accept-Encoding": encoding}


def _pairs(query: Query) -> list[tuple[str, str]]:
    return list(query.items() if isinstance(query, Mapping) else query or ())
