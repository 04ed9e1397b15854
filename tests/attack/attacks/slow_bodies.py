"""500 people who sign in and never send the end of the form, and some who do so in other ways."""

import contextlib
import socket
import time

from tests.attack.asking import held_open, worst_of
from tests.attack.found import Figures
from tests.installation import Installation

SECONDS = 40
SOCKETS = 500
OTHERS = 100
"""For each of the other ways."""
LET_GO = 8.0
"""Seconds after which the server has ended all of them: its deadline is 5."""
_HEAD = (
    b"POST /sign-in/ HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: csrftoken=" + b"a" * 32 + b"\r\n"
    b"Content-Type: application/x-www-form-urlencoded\r\n"
)
SIGNING_IN = _HEAD + b"Content-Length: 1000\r\n\r\nname"
OTHER_WAYS = (
    _HEAD + b"Transfer-Encoding: chunked\r\n\r\n4\r\nname\r\n",
    b"POST /api/v1/actions/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{",
    b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{",
)


def attack(board: Installation) -> Figures:
    """Pages, probes and files are answered in time meanwhile, and the senders receive 408."""
    with contextlib.ExitStack() as open_ones:
        sockets = open_ones.enter_context(held_open(board, SOCKETS, SIGNING_IN))
        for path in OTHER_WAYS:
            sockets += open_ones.enter_context(held_open(board, OTHERS, path))
        started_at = time.monotonic()
        worst = worst_of(board, 5)
        for client in sockets:
            answer = _answer(client, started_at + LET_GO)
            assert answer.startswith(b"HTTP/1.1 408 "), answer[:80]
        ended = round(time.monotonic() - started_at, 1)
    return {"sockets": len(sockets), "worst_seconds": worst, "all_ended_after_seconds": ended}


def _answer(client: socket.socket, until: float) -> bytes:
    """Return everything that comes until the other side has ended the connection."""
    answer = b""
    try:
        client.settimeout(max(0.1, until - time.monotonic()))
        while chunk := client.recv(4096):
            answer += chunk
            client.settimeout(max(0.1, until - time.monotonic()))
    except TimeoutError:
        raise AssertionError(f"still open after {LET_GO:g} s, said: {answer[:80]!r}") from None
    return answer
