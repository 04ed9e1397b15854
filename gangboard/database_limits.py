"""Limits on the connections of a process, and on the time its threads wait for the database.

A web process has hundreds of threads, so its connections come from a pool of fixed size. A worker has a
connection for each of its threads, because a poll keeps its connection for the whole window.

Two web processes, three poll workers, and one of each other process fit into PostgreSQL's default of 100 connections.
docs/settings.md has the number of each.

A management command has one connection and no pool.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from django.db import connections

from gangboard.database_url import SESSION_OPTIONS
from gangboard.logs import get_logger

WAIT_SECONDS = 3
"""Seconds that a web request waits for a connection, a lock, or SQLite's writer before it fails with 503."""
STATEMENT_SECONDS = 20
"""Seconds after which PostgreSQL ends a statement of a web request."""
HEARTBEATS = 1
"""Connections of a worker in addition to those of its threads."""

Database = dict[str, Any]
"""Django's settings of one database."""
log = get_logger(__name__)
_open_connections: list[sqlite3.Connection] = []


def limit_web(database: Database, *, most: int) -> None:
    """Let all threads of this web process share `most` connections, and limit each wait to seconds."""
    options = database["OPTIONS"]
    if not _is_postgresql(database):
        options["timeout"] = WAIT_SECONDS
        _hold_connection_open(database)
        return
    if options["options"] == SESSION_OPTIONS:
        options["options"] += (
            f" -c lock_timeout={WAIT_SECONDS}s -c statement_timeout={STATEMENT_SECONDS}s"
        )
    _configure_pool(database, most)


def limit_worker(database: Database, *, threads: int) -> None:
    """Give each thread of this worker a connection, and one to its heartbeat."""
    if _is_postgresql(database):
        _configure_pool(database, threads + HEARTBEATS)


def _hold_connection_open(database: Database) -> None:
    """Keep one connection to a SQLite file open for the lifetime of this process.

    The last connection that closes removes the files beside the database, and the next one must create them
    again. On a full disk it cannot, and then even reads fail.
    """
    try:
        file = sqlite3.connect(
            database["NAME"], timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
        )
        file.execute("PRAGMA journal_mode=WAL")
        file.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except sqlite3.Error as error:
        log.warning("the database cannot be read at start", error=str(error))
        return
    _open_connections.append(file)


def _is_postgresql(database: Database) -> bool:
    return str(database["ENGINE"]).endswith("postgresql")


def _configure_pool(database: Database, most: int) -> None:
    # An older connection has no pool to return to.
    connections.close_all()
    # The pool replaces connections that a restart of PostgreSQL has ended before it hands them
    # out.
    database["CONN_HEALTH_CHECKS"] = True
    database["OPTIONS"]["pool"] = {
        "min_size": 0,
        "max_size": most,
        "timeout": WAIT_SECONDS,
        # Short, because the pause between two attempts doubles. Otherwise the pool would find a
        # database that was down for a minute another minute later.
        "reconnect_timeout": WAIT_SECONDS,
    }
