"""A script of one viewer makes 300 calls of the API at once."""

from __future__ import annotations

import socket
import time
from collections import Counter

from tests.attack.asking import ask, held_open
from tests.attack.found import Figures
from tests.installation import Installation

SECONDS = 60
CALLS = 300
ALLOWED = {200, 429, 503}
SOON = 5.0
"""Seconds within which a busy machine answers a page. Behind all calls it would be more than ten."""
PATHS = ("/healthz", "/sign-in/", "/static/css/frame.css")


def attack(board: Installation) -> Figures:
    """No call is 500, nearly all are 200, and pages are answered meanwhile as if there were no calls."""
    board.manage("create_user", "script", "--role", "viewer")
    token = board.manage("create_token", "script").splitlines()[-1]
    call = (
        "GET /api/v1/gangs/?limit=5 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        f"Authorization: Bearer {token}\r\n\r\n"
    )
    started_at = time.monotonic()
    with held_open(board, CALLS, call.encode()) as sockets:
        worst = max(_seconds(board, path) for path in PATHS * 2)
        statuses = Counter(_status(client) for client in sockets)
    assert set(statuses) <= ALLOWED, dict(statuses)
    assert statuses[200] >= CALLS * 0.9, dict(statuses)
    return {
        "answered_200": statuses[200],
        "seconds": round(time.monotonic() - started_at, 1),
        "worst_seconds": worst,
    }


def _seconds(board: Installation, path: str) -> float:
    answer = ask(board, path)
    assert answer.status == 200, answer
    assert answer.seconds < SOON, answer
    return round(answer.seconds, 3)


def _status(client: socket.socket) -> int:
    """Return the status of the answer, read to its end."""
    client.settimeout(SECONDS)
    answer = b""
    while chunk := client.recv(65_536):
        answer += chunk
    return int(answer.split(b" ", 2)[1])
