"""The transport: HTTPS on 127.0.0.1, one thread per connection, and the transport faults."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import ssl
import struct
import threading
import time
import uuid
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from simulator import refusals
from simulator.api import API
from simulator.certificates import Identity
from simulator.faults import Fault
from simulator.requests import Request, parse
from simulator.responses import Answer

_GZIP_FROM = 128 * 1024  # The real server compresses responses above this size.
_IDLE_SECONDS = 120.0
_DISCONNECTS = (ConnectionError, ssl.SSLError, TimeoutError, BrokenPipeError, ValueError)


class Server(ThreadingHTTPServer):
    """Listens, and passes requests to the API."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    allow_reuse_address = True

    def __init__(
        self, api: API, identity: Identity, tokens: dict[str, tuple[str, bool]], port: int
    ) -> None:
        """`tokens` are bearer tokens with their user and whether they are read-only."""
        super().__init__(("127.0.0.1", port), _Handler)
        self.api = api
        self.tokens = tokens
        self._context = identity.server_context()
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()

    @property
    def url(self) -> str:
        """Return the URL of the server."""
        return f"https://127.0.0.1:{self.server_address[1]}"

    def get_request(self) -> tuple[socket.socket, Any]:
        """Accept a connection. Its own thread does the handshake, so that no client blocks others."""
        plain, address = super().get_request()
        plain.settimeout(_IDLE_SECONDS)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wrapped = self._context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        with self._guard:
            self._open.add(wrapped)
        return wrapped, address

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Do the handshake and serve the connection until it ends."""
        with contextlib.suppress(*_DISCONNECTS, OSError):
            request.do_handshake()
            super().finish_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        with self._guard:
            self._open.discard(request)
        with contextlib.suppress(OSError):
            super().shutdown_request(request)

    def drop_connections(self) -> None:
        """Close every connection at once, like a server that crashes."""
        with self._guard:
            doomed = list(self._open)
        for connection in doomed:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Server
    connection: ssl.SSLSocket
    wbufsize = -1  # Headers and body leave together. Watches flush each piece themselves.

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_GET  # noqa: N815 - the base class looks for these names
    do_PUT = do_GET  # noqa: N815
    do_PATCH = do_GET  # noqa: N815
    do_DELETE = do_GET  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Log no requests, because the demo's terminal belongs to the product."""

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = parse(self.command, self.path, self.headers, body)  # type: ignore[arg-type]  # Read like a Mapping.
        scheme, _, token = (self.headers.get("Authorization") or "").partition(" ")
        if scheme.lower() != "bearer" or token not in self.server.tokens:
            refusal = refusals.unauthorized()
            self._send(request, Answer(refusal.code, _body(refusal)))
            return
        request.user, request.read_only = self.server.tokens[token]
        answer = self.server.api.answer(request)
        by_kind = {fault.kind: fault for fault in answer.faults}
        if "reset" in by_kind:
            self._reset()
        elif "hang" in by_kind:
            self._wait(by_kind["hang"])
            self.close_connection = True
        elif answer.chunks is not None:
            self._stream(answer, by_kind)
        else:
            self._send(request, answer, by_kind)

    def _send(
        self, request: Request, answer: Answer, faults: dict[str, Fault] | None = None
    ) -> None:
        faults = faults or {}
        body = answer.body
        self.send_response(answer.code)
        self.send_header("Audit-Id", str(uuid.uuid4()))
        self.send_header("Content-Type", answer.content_type)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        zipped = "gzip" in (request.headers.get("Accept-Encoding") or "")
        if zipped and len(body) > _GZIP_FROM and not faults:
            body = gzip.compress(body, compresslevel=1)
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if "truncated" in faults:
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self.close_connection = True
        elif "drip" in faults:
            self._drip(faults["drip"], (body[i : i + 1] for i in range(len(body))))
        else:
            self.wfile.write(body)

    def _stream(self, answer: Answer, faults: dict[str, Fault]) -> None:
        assert answer.chunks is not None  # noqa: S101  # The caller has checked it.
        self.send_response(answer.code)
        self.send_header("Audit-Id", str(uuid.uuid4()))
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        if "dead_watch" in faults:
            self._wait(faults["dead_watch"])
            self.close_connection = True
            return
        for chunk in answer.chunks:
            if "half_line" in faults:
                self._chunk(chunk[: len(chunk) // 2])
                self.close_connection = True
                return
            if "drip" in faults:
                single = (chunk[i : i + 1] for i in range(len(chunk)))
                self._drip(faults["drip"], map(_chunked, single))
            else:
                self._chunk(chunk)
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, chunk: bytes) -> None:
        self.wfile.write(_chunked(chunk))
        self.wfile.flush()

    def _drip(self, fault: Fault, chunks: Iterable[bytes]) -> None:
        for chunk in chunks:
            self.wfile.write(chunk)
            self.wfile.flush()
            if not fault.released.is_set():
                self._pause(fault, fault.options["every"])

    def _wait(self, fault: Fault) -> None:
        """Hold the connection until the fault is removed or the server stops."""
        while not fault.released.is_set() and not self.server.api.stopping.is_set():
            self._pause(fault, 0.2)

    def _pause(self, fault: Fault, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (
            remaining := deadline - time.monotonic()
        ) > 0 and not self.server.api.stopping.is_set():
            if fault.released.wait(min(remaining, 0.2)):
                return

    def _reset(self) -> None:
        # A linger of zero seconds makes the kernel send a reset when the socket is closed.
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True
        socket.close(self.connection.detach())


def _chunked(chunk: bytes) -> bytes:
    return f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n"


def _body(refusal: refusals.Refusal) -> bytes:
    return json.dumps(refusal.body).encode()
