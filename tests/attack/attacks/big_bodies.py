"""Unsolicited uploads of 64 MiB each, announced or not, to every endpoint."""

import socket
import threading
from pathlib import Path

from tests.attack.asking import PROMISE, resident_bytes, worst_of
from tests.attack.found import Figures
from tests.installation import Installation

SECONDS = 30
SENDERS = 20
UPLOAD = 64 * 2**20
TAKEN = 8 * 2**20
"""Bytes that a sender can send before the refusal arrives: the buffers of two sockets."""
GROWTH = 64 * 2**20
"""Bytes by which the server may grow."""
_PIECE = b"x" * 2**16
_PART = (
    b"--b\r\nContent-Disposition: form-data; name=file; filename=x\r\n"
    b"Content-Type: application/octet-stream\r\n\r\n"
)
_HEAD = (
    b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: csrftoken=" + b"a" * 32 + b"\r\n"
    b"Content-Type: multipart/form-data; boundary=b\r\n"
)
ANNOUNCED = b"Content-Length: %d\r\n\r\n" % UPLOAD + _PART
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


class Sender(threading.Thread):
    """Sends until it is stopped."""

    def __init__(self, board: Installation, path: bytes, rest: bytes) -> None:
        super().__init__(daemon=True)
        self._address = ("127.0.0.1", board.port)
        self._head = _HEAD % path + rest
        self._piece = b"10000\r\n" + _PIECE + b"\r\n" if rest == CHUNKED else _PIECE
        self.sent = 0
        self.answer = b""

    def run(self) -> None:
        with socket.create_connection(self._address, timeout=PROMISE * 5) as client:
            try:
                client.sendall(self._head)
                while self.sent < UPLOAD:
                    client.sendall(self._piece)
                    self.sent += len(_PIECE)
            except OSError:
                pass  # the server closed the connection, and its response is in the socket if the kernel has kept it
            try:
                self.answer = client.recv(4096)
            except OSError:
                self.answer = b"(hung up)"


def attack(board: Installation) -> Figures:
    """The server writes no file and does not grow, and other clients are answered in time."""
    before = resident_bytes(board, "granian")
    files = _temporary_files(board)
    senders = [
        Sender(board, path, rest)
        for path in (b"/sign-in/", b"/api/v1/actions/")
        for rest in (ANNOUNCED, CHUNKED)
        for _ in range(SENDERS // 4)
    ]
    for sender in senders:
        sender.start()
    worst = worst_of(board, 2)
    written = _temporary_files(board) - files
    for sender in senders:
        sender.join(10)
    sent = max(sender.sent for sender in senders)
    grown = resident_bytes(board, "granian") - before
    assert not written, f"written to {sorted(written)[:3]}"
    for sender in senders:
        assert sender.answer.startswith((b"HTTP/1.1 413 ", b"(hung up)")), sender.answer[:200]
    assert sum(sender.answer.startswith(b"HTTP/1.1 413 ") for sender in senders), "nobody was told"
    assert sent <= TAKEN, f"{sent} bytes were taken from one sender"
    assert grown <= GROWTH, f"the server has grown by {grown} bytes"
    return {"uploads": len(senders), "worst_seconds": worst, "most_bytes_taken": sent}


def _temporary_files(board: Installation) -> set[str]:
    """Return the files that the web server has open and that no longer have, or never had, a place here."""
    files = set()
    for pid in board.children("granian"):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            try:
                name = str(descriptor.readlink())
            except OSError:
                continue
            if name.startswith("/") and "upload" in name:
                files.add(name)
    return files
