"""Receivers of messages on this machine: an HTTP server with scripted answers, and a mail server."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic, sleep


@dataclass
class Receiver:
    """Received requests and the response: `status`, after `wait` seconds, with a body of `size`
    bytes."""

    port: int = 0
    status: int = 200
    wait: float = 0.0
    size: int = 2
    location: str = ""
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """When each of the requests had arrived, by the monotonic clock."""
    sent: int = 0
    """Bytes of bodies that were taken from us."""

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


@contextmanager
def http_receiver() -> Iterator[Receiver]:
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            body = self.rfile.read(length)
            receiver.times.append(monotonic())
            receiver.requests.append(({k.lower(): v for k, v in self.headers.items()}, body))
            sleep(receiver.wait)
            self.send_response(receiver.status)
            if receiver.location:
                self.send_header("Location", receiver.location)
            self.send_header("Content-Length", str(receiver.size))
            self.end_headers()
            try:
                for start in range(0, receiver.size, 65536):
                    self.wfile.write(b"x" * min(65536, receiver.size - start))
                    receiver.sent = start
            except OSError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


@contextmanager
def mail_receiver(mails: list[str]) -> Iterator[int]:
    """Take mails by SMTP; yields the port."""

    class Handler(socketserver.StreamRequestHandler):
        def say(self, line: str) -> None:
            self.wfile.write(f"{line}\r\n".encode())

        def handle(self) -> None:
            self.say("220 mail")
            for line in self.rfile:
                command = line.decode().split()[0].upper() if line.strip() else ""
                if command == "DATA":
                    self.say("354 go on")
                    text = b""
                    while not text.endswith(b"\r\n.\r\n"):
                        text += self.rfile.readline()
                    mails.append(text.decode())
                self.say("221 bye" if command == "QUIT" else "250 ok")
                if command == "QUIT":
                    return

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
