"""Shared parts of attacks: many sockets, and a client that sends requests meanwhile."""

from __future__ import annotations

import contextlib
import resource
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import urllib3

from tests.installation import Installation

ASKED = ("/healthz", "/readyz", "/sign-in/", "/static/css/frame.css")
"""Paths that must always answer: probes, a page, a file."""
PROMISE = 1.0
"""Seconds within which it is answered."""


READY_SECONDS = 60.0


@contextlib.contextmanager
def started() -> Iterator[Installation]:
    """A whole gangboard with the simulated fleet, ready to be attacked."""
    with Installation({}) as board:
        give_up_at = time.monotonic() + READY_SECONDS
        while ask(board, "/readyz").status != 200 or not board.gangs():
            assert time.monotonic() < give_up_at, f"not ready after {READY_SECONDS:g} s"
            time.sleep(0.2)
        yield board


@dataclass(frozen=True, slots=True)
class Answer:
    """The response to a client."""

    path: str
    status: int
    """0: none in ten times the promise."""
    seconds: float


def ask(board: Installation, path: str) -> Answer:
    """Ask on a connection of its own."""
    started_at = time.monotonic()
    try:
        with urllib3.PoolManager(retries=False, headers={"Connection": "close"}) as pool:
            status = pool.request("GET", board.url + path, timeout=PROMISE * 10).status
    except urllib3.exceptions.HTTPError:
        status = 0
    return Answer(path, status, time.monotonic() - started_at)


def worst_of(board: Installation, rounds: int, paths: Sequence[str] = ASKED) -> float:
    """Ask for each path `rounds` times; return the longest time in seconds.

    Raises AssertionError for an answer that is not 200 or later than promised.
    """
    worst = 0.0
    for path in tuple(paths) * rounds:
        answer = ask(board, path)
        assert answer.status == 200, answer
        assert answer.seconds <= PROMISE, answer
        worst = max(worst, answer.seconds)
    return round(worst, 3)


def room_for(sockets: int) -> None:
    """Allow this process so many more of them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < sockets + 1_000:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(sockets + 1_000, hard), hard))


@contextlib.contextmanager
def held_open(board: Installation, count: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Hold `count` connections open, each after these bytes and no others."""
    room_for(count)
    with contextlib.ExitStack() as open_ones:
        sockets = []
        for _ in range(count):
            opened = socket.create_connection(("127.0.0.1", board.port), timeout=5)
            sockets.append(open_ones.enter_context(contextlib.closing(opened)))
            opened.sendall(sent)
        yield sockets


def sockets_of(board: Installation, command: str) -> int:
    """Return how many sockets these processes of ours have open."""
    count = 0
    for pid in board.children(command):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                count += str(descriptor.readlink()).startswith("socket:")
    return count


def resident_bytes(board: Installation, command: str) -> int:
    """Return the memory of our processes whose command line contains the words."""
    page = resource.getpagesize()
    return sum(
        int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * page
        for pid in board.children(command)
    )
