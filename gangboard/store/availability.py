"""Which errors mean that the database is full, locked or gone, and not that gangboard has a defect."""

from __future__ import annotations

import sqlite3

import psycopg
from django.db import InterfaceError, OperationalError

RETRY_SECONDS = 2
"""Value of Retry-After on every answer that a request gets because of such an error."""
UNAVAILABLE = "The database does not answer. Try again in a few seconds."
_DEFECTS = (psycopg.errors.ProgramLimitExceeded, psycopg.errors.StatementTooComplex)
"""PostgreSQL counts them among operational errors, but a repeated request meets them again."""


def is_unavailable(error: BaseException) -> bool:
    """Return True if the same request may succeed once the database is well again.

    True: too many connections, no connection, a lock that another transaction holds, a full disk, a
    database that became read-only. False: every error that the statement itself causes. SQLite raises
    `OperationalError` for both, so its error code decides.
    """
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        primary = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        return isinstance(error, OperationalError) and primary != sqlite3.SQLITE_ERROR
    if isinstance(error, (OperationalError, InterfaceError)):
        return not isinstance(cause, _DEFECTS)
    return isinstance(cause, psycopg.errors.ReadOnlySqlTransaction)
