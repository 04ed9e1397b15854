"""150 readers who ask for the same file over and over and never read an answer."""

import contextlib
import socket
import time

from tests.attack.asking import room_for, sockets_of, worst_of
from tests.attack.found import Figures
from tests.installation import Installation

SECONDS = 60
SOCKETS = 150
ASKED = 30
"""Times for each: more than the buffers of two sockets hold."""
LET_GO = 20.0
"""Seconds after which the server has let go of all of them: it does after 10."""
_ASK = b"GET /static/django_htmx/htmx-2.min.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def attack(board: Installation) -> Figures:
    """Pages, probes and files are answered in time meanwhile; the server lets go of the readers."""
    room_for(SOCKETS)
    before = sockets_of(board, "granian")
    with contextlib.ExitStack() as open_ones:
        for _ in range(SOCKETS):
            client = open_ones.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)  # the kernel's least
            client.settimeout(5)
            client.connect(("127.0.0.1", board.port))
            client.sendall(_ASK * ASKED)
        held = sockets_of(board, "granian") - before
        time.sleep(3)  # until the socket buffers are full
        worst = worst_of(board, 3)
        started_at = time.monotonic()
        while sockets_of(board, "granian") - before > SOCKETS // 50:
            assert time.monotonic() - started_at < LET_GO, (
                f"still {sockets_of(board, 'granian')} sockets"
            )
            time.sleep(0.2)
    return {"sockets": held, "worst_seconds": worst}
