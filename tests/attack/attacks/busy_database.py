"""A process holds the write lock of SQLite for some seconds."""

from __future__ import annotations

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import urllib3

from tests.attack.asking import worst_of
from tests.attack.found import Figures
from tests.installation import Installation

SECONDS = 30
SOON = 6.0
"""Seconds until a writing request is refused. It waits for 3."""
_FORM = {
    "Cookie": "csrftoken=" + "a" * 32,
    "Content-Type": "application/x-www-form-urlencoded",
}


def attack(board: Installation) -> Figures:
    """Reads are answered as ever; a write is 503 with Retry-After, and works afterwards."""
    database = board.folder / "gangboard.sqlite3"
    with closing(sqlite3.connect(database, timeout=20, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        try:
            with ThreadPoolExecutor(1) as threads:
                started_at = time.monotonic()
                signing_in = threads.submit(_sign_in, board)
                worst = worst_of(board, 1)
                assert board.get("gangs/", limit="5")["results"]
                answer = signing_in.result()
                waited = time.monotonic() - started_at
        finally:
            writer.execute("ROLLBACK")
    assert answer.status == 503, answer.status
    assert int(answer.headers["Retry-After"]) > 0
    assert b"The database does not answer" in answer.data
    assert waited < SOON, waited
    assert _sign_in(board).status == 403, "the password is wrong"
    return {"waited_seconds": round(waited, 1), "worst_seconds": worst}


def _sign_in(board: Installation) -> urllib3.BaseHTTPResponse:
    with urllib3.PoolManager(retries=False, headers=_FORM) as pool:
        return pool.request(
            "POST",
            f"{board.url}/sign-in/",
            body=f"name=nobody&password=wrong&csrfmiddlewaretoken={'a' * 32}",
            timeout=40,
        )
