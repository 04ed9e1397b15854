"""Chunked bodies that cannot be read: a wrong size, a 20-kB extension, half a chunk."""

from __future__ import annotations

import socket

from tests.attack.asking import worst_of
from tests.attack.found import Figures
from tests.installation import Installation

SECONDS = 20
_HEAD = (
    b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: csrftoken=" + b"a" * 32 + b"\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\n"
)
BODIES = (
    b"zz\r\nname\r\n",
    b"4;" + b"x" * 20_000 + b"\r\nname\r\n0\r\n\r\n",
    b"40\r\nname",
    b"4\r\nname4\r\nname\r\n0\r\n\r\n",
)
PATHS = (b"/sign-in/", b"/api/v1/actions/", b"/healthz")


def attack(board: Installation) -> Figures:
    """Each is a bad request with our headers; no answer names the software of the server."""
    sent = 0
    for path in PATHS:
        for body in BODIES:
            answer = _send(board, _HEAD % path + body)
            status, _, headers = answer.partition(b"\r\n")
            assert status == b"HTTP/1.1 400 Bad Request", (path, body[:20], answer[:60])
            assert b"content-security-policy: default-src 'self'" in headers, answer[:300]
            assert b"granian" not in answer, answer[:300]
            sent += 1
    page = _send(board, b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    assert b"granian" not in page, page[:300]
    return {"sent": sent, "worst_seconds": worst_of(board, 1)}


def _send(board: Installation, request: bytes) -> bytes:
    """Send a request without more data. Return the whole response."""
    answer = b""
    with socket.create_connection(("127.0.0.1", board.port), timeout=5) as client:
        client.sendall(request)
        client.shutdown(socket.SHUT_WR)
        while chunk := client.recv(4096):
            answer += chunk
    return answer
