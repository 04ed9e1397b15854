"""A real HTTPS server on localhost that runs the script of a test against its clients."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.kube.certificates import Issued

GOES_ON = 60.0
"""Seconds for which a server keeps up a fault that the client must not wait for."""


@dataclass(frozen=True)
class Request:
    target: str
    headers: Mapping[str, str]
    line: str
    body: bytes = b""

    @property
    def method(self) -> str:
        return self.line.split(" ")[0]

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.target).query).items()}


class Clock:
    """The client's clock: as far ahead of the real one as a test, or its server, has set it."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


class Wire:
    """The server's end of one connection."""

    def __init__(self, sock: ssl.SSLSocket, stopping: threading.Event) -> None:
        self._sock = sock
        self._stopping = stopping
        self.is_open = True

    def send(self, data: bytes) -> None:
        self._sock.sendall(data)

    def head(self, status: int = 200, **headers: str) -> None:
        """Status and headers; `Content_Type` and so on, JSON by default."""
        named = {"Content_Type": "application/json", **headers}
        lines = [f"HTTP/1.1 {status} Something"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in named.items()]
        self.send(("\r\n".join(lines) + "\r\n\r\n").encode())

    def answer(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.head(status, Content_Length=str(len(body)), **headers)
        self.send(body)

    def json(self, document: Any, status: int = 200, **headers: str) -> None:
        self.answer(json.dumps(document).encode(), status, **headers)

    def stream(self) -> None:
        self.head(Transfer_Encoding="chunked", Content_Type="application/json;stream=watch")

    def chunk(self, data: bytes) -> None:
        self.send(b"%x\r\n%b\r\n" % (len(data), data))

    def end_chunks(self) -> None:
        self.send(b"0\r\n\r\n")

    def drip(self, data: bytes, clock: Clock) -> None:
        """One byte in each second of the clock, as long as the client listens."""
        for position in range(len(data)):
            self.send(data[position : position + 1])
            clock.ahead += 1

    def hold(self) -> None:
        """Stay silent until the test is over."""
        self._stopping.wait(GOES_ON)
        self.is_open = False

    def close(self) -> None:
        self.is_open = False

    def reset(self) -> None:
        """RST instead of FIN."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.is_open = False


Script = Callable[[Request, Wire], None]


class Server:
    """Serves until `stop`; one thread per connection."""

    def __init__(self, issued: Issued, script: Script, client_ca: str | None = None) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.NamedTemporaryFile() as file:
            file.write((issued.certificate_pem + issued.key_pem).encode())
            file.flush()
            self._context.load_cert_chain(file.name)
        if client_ca is not None:
            self._context.verify_mode = ssl.CERT_REQUIRED
            self._context.load_verify_locations(cadata=client_ca)
        self._script = script
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.02)
        self.requests: list[Request] = []
        self.connections = 0
        self.crashes: list[BaseException] = []
        self._acceptor = threading.Thread(target=self._accept)
        self._acceptor.start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def open(self) -> int:
        """Return the number of open connections."""
        return sum(thread.is_alive() for thread in self._threads)

    def stop(self) -> None:
        self._stopping.set()
        for thread in (self._acceptor, *self._threads):
            thread.join(5)
        self._listener.close()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            with contextlib.suppress(TimeoutError):
                raw, _ = self._listener.accept()
                self.connections += 1
                thread = threading.Thread(target=self._serve, args=(raw,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, raw: socket.socket) -> None:
        try:
            raw.settimeout(GOES_ON)
            with self._context.wrap_socket(
                raw, server_side=True, do_handshake_on_connect=False
            ) as sock:
                self._shake_hands(sock)
                wire = Wire(sock, self._stopping)
                while wire.is_open:
                    request = self._read(sock)
                    if request is None:
                        return
                    self.requests.append(request)
                    self._script(request, wire)
        except OSError:
            pass  # the client went away, which is what many tests are about
        except BaseException as crash:  # noqa: BLE001  # shown by the fixture
            self.crashes.append(crash)
        finally:
            raw.close()

    def _shake_hands(self, sock: ssl.SSLSocket) -> None:
        try:
            sock.do_handshake()
        except ssl.SSLError:
            # Closed at once, the alert would be lost to a reset before the client has read it.
            self._stopping.wait(0.3)
            raise

    def _read(self, sock: ssl.SSLSocket) -> Request | None:
        sock.settimeout(0.05)
        data = b""
        while b"\r\n\r\n" not in data:
            try:
                chunk = sock.recv(65536)
            except TimeoutError:
                if self._stopping.is_set():
                    return None
                continue
            if not chunk:
                return None
            data += chunk
        sock.settimeout(GOES_ON)
        head, _, body = data.partition(b"\r\n\r\n")
        line, *fields = head.decode().split("\r\n")
        pairs = (field.partition(": ") for field in fields)
        headers = {name: value for name, _, value in pairs}
        while len(body) < int(headers.get("Content-Length", 0)):
            body += sock.recv(65536)
        return Request(line.split(" ")[1], headers, line, body)


@contextlib.contextmanager
def listening(
    behave: Callable[[socket.socket], None] | None = None, *, keep: bool = False
) -> Iterator[int]:
    """A TCP port without TLS; `behave` gets each connection, which is then closed, or kept."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stopping = threading.Event()
        sockets: list[socket.socket] = []

        def accept() -> None:
            listener.settimeout(0.02)
            while not stopping.is_set():
                with contextlib.suppress(OSError):
                    connection, _ = listener.accept()
                    connection.settimeout(GOES_ON)
                    sockets.append(connection)
                    if behave is not None:
                        behave(connection)
                        if not keep:
                            connection.close()

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            stopping.set()
            thread.join()
            for connection in sockets:
                connection.close()
