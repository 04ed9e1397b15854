"""500 connections that never come to the end of their headers."""

from tests.attack.asking import held_open, worst_of
from tests.attack.found import Figures
from tests.installation import Installation

SECONDS = 30
SOCKETS = 500


def attack(board: Installation) -> Figures:
    """Pages, probes and files are answered in time meanwhile."""
    with held_open(board, SOCKETS, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow:"):
        return {"sockets": SOCKETS, "worst_seconds": worst_of(board, 3)}
