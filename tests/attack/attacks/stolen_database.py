"""A thief has a copy of the database, such as a backup, and tries its values as cookies and
tokens."""

import sqlite3
from contextlib import closing

import urllib3

from tests.attack.found import Figures
from tests.installation import Installation

SECONDS = 30
PEOPLE = 3


def attack(board: Installation) -> Figures:
    """No key of a session row opens a page, and no row holds a cookie or token that is in use."""
    cookies = [board.session_cookie().partition("=")[2] for _ in range(PEOPLE)]
    file = f"file:{board.folder / 'gangboard.sqlite3'}?mode=ro"
    with closing(sqlite3.connect(file, uri=True)) as database:
        keys = [key for (key,) in database.execute("SELECT session_key FROM django_session")]
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        text = "\n".join(
            str(row) for (name,) in tables for row in database.execute(f'SELECT * FROM "{name}"')
        )
    assert len(keys) >= PEOPLE, "the attack has read the sessions"
    opened = sum(_opens(board, key) for key in keys)
    assert opened == 0, f"{opened} of {len(keys)} rows open pages"
    assert _opens(board, cookies[0]), "a cookie opens pages"
    in_use = [*cookies, board.token.rpartition("_")[2]]
    count = sum(secret in text for secret in in_use)
    assert count == 0, f"{count} of {len(in_use)} secrets in use stand in the database"
    return {"rows_tried": len(keys), "secrets_sought": len(in_use)}


def _opens(board: Installation, key: str) -> bool:
    with urllib3.PoolManager(retries=False) as pool:
        answer = pool.request(
            "GET",
            f"{board.url}/",
            headers={"Cookie": f"sessionid={key}"},
            redirect=False,
            timeout=20,
        )
    return answer.status == 200
