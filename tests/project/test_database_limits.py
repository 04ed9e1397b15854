"""Database connections and timeouts of each process."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.core.management.base import CommandError
from django.db import NotSupportedError, OperationalError

from gangboard.actions.tasks import PROVE_THREADS
from gangboard.celery import app, limit_connections
from gangboard.database_limits import HEARTBEATS, Database, limit_web, limit_worker
from gangboard.database_url import database_settings
from gangboard.notify.tasks import NOTIFY_THREADS
from gangboard.ops.processes import ACT_THREADS

POSTGRESQL = "postgresql://gang@db/gang"


def test_a_web_process_has_a_pool_and_waits_for_three_seconds() -> None:
    database = database_settings(POSTGRESQL)
    limit_web(database, most=16)
    pool = database["OPTIONS"]["pool"]
    assert (pool["min_size"], pool["max_size"], pool["timeout"]) == (0, 16, 3)
    assert database.get("CONN_MAX_AGE", 0) == 0
    assert database["CONN_HEALTH_CHECKS"]
    assert database["OPTIONS"]["options"] == (
        "-c idle_in_transaction_session_timeout=10s -c lock_timeout=3s -c statement_timeout=20s"
    )


def test_options_of_the_address_stay_as_they_are() -> None:
    """A connection pooler between may refuse every option: the address says so by an empty one."""
    database = database_settings(f"{POSTGRESQL}?options=")
    limit_web(database, most=16)
    assert database["OPTIONS"]["options"] == ""


def test_a_worker_has_a_connection_for_each_thread_and_for_its_heartbeat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    database = database_settings(POSTGRESQL)
    monkeypatch.setattr(settings, "DATABASES", {"default": database})
    monkeypatch.setattr("gangboard.store.database_state.check_server", lambda: None)
    limit_connections(instance=SimpleNamespace(concurrency=18))
    assert database["OPTIONS"]["pool"]["max_size"] == 19
    assert "lock_timeout" not in database["OPTIONS"]["options"]


def test_the_docs_have_the_connections_of_each_process() -> None:
    text = Path(settings.BASE_DIR, "docs/settings.md").read_text()
    table = text.partition("| Process | Connections at most |")[2].partition("\n\n")[0]
    rows = dict(re.findall(r"^\| ([a-z]+).*? \| (?:\d × )?(\d+).*\|$", table, re.MULTILINE))
    threads = {
        "poll": app.conf.worker_concurrency,
        "act": ACT_THREADS,
        "prove": PROVE_THREADS,
        "notify": NOTIFY_THREADS,
    }
    each = {"web": settings.DATABASE_CONNECTIONS, "beat": HEARTBEATS}
    each |= {name: number + HEARTBEATS for name, number in threads.items()}
    together = sum(each.values()) + each["web"] + 2 * each["poll"]
    assert {name: int(number) for name, number in rows.items()} == {**each, "together": together}
    # PostgreSQL reserves three of its 100 for superusers.
    assert together <= 97


@pytest.mark.parametrize(
    ("error", "ended"),
    [
        (CommandError("SQL_ASCII"), "SQL_ASCII"),
        (
            NotSupportedError("PostgreSQL 14 or later is required (found 13.4)."),
            r"found 13.4\). Name a newer server in DATABASE_URL.",
        ),
        (OperationalError("gone"), ""),
    ],
)
def test_a_worker_ends_on_a_wrong_database_and_waits_for_an_absent_one(
    monkeypatch: pytest.MonkeyPatch, error: Exception, ended: str
) -> None:
    def refuse() -> None:
        raise error

    monkeypatch.setattr("gangboard.store.database_state.check_server", refuse)
    with pytest.raises(SystemExit, match=ended) if ended else nullcontext():
        limit_connections(instance=SimpleNamespace(concurrency=18))


FULL_DISK = """
import resource, sqlite3, sys
from gangboard.database_limits import limit_web
from gangboard.database_url import database_settings
file, is_web = sys.argv[1], sys.argv[2] == "web"

def connect():
    one = sqlite3.connect(file, isolation_level=None)
    one.execute("PRAGMA journal_mode=WAL")
    return one

first = connect()
first.execute("CREATE TABLE one (a)")
first.execute("INSERT INTO one VALUES (7)")
if is_web:
    limit_web(database_settings("sqlite:///" + file), most=16)
first.close()
resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))  # what a full disk says to every write
for statement in ("SELECT a FROM one", "INSERT INTO one VALUES (8)"):
    try:
        print(connect().execute(statement).fetchall())
    except sqlite3.OperationalError as error:
        print(error.sqlite_errorname)
"""


@pytest.mark.parametrize(("process", "read"), [("web", "[(7,)]"), ("another", "SQLITE_IOERR_SHM")])
def test_a_web_process_reads_sqlite_on_a_full_disk(tmp_path: Path, process: str, read: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path / "one.sqlite3"), process],
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    )
    read_first, written = done.stdout.splitlines()
    assert read_first.startswith(read)
    assert written.startswith("SQLITE_IOERR") or written == "SQLITE_FULL"


@pytest.mark.parametrize(("limited", "seconds"), [(True, 3), (False, 20)])
def test_only_requests_have_a_short_sqlite_timeout(
    tmp_path: Path, limited: bool, seconds: int
) -> None:
    database: Database = database_settings(f"sqlite:///{tmp_path}/one.sqlite3")
    if limited:
        limit_web(database, most=16)
    else:
        limit_worker(database, threads=10)
    assert database["OPTIONS"]["timeout"] == seconds
    assert "pool" not in database["OPTIONS"]
