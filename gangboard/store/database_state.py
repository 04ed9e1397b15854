"""Whether gangboard can use the database: its tables, its encoding, and errors that pass."""

from __future__ import annotations

import sqlite3
from typing import Any

import psycopg
from django.core.management import CommandError
from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

ENCODING = "UTF8"
_BEFORE_THE_FIRST_RELEASE = ("store", "0002_actions")
"""The second of the migrations that one was made of. No migration may have this name again."""
RETRY_SECONDS = 2
"""Value of Retry-After on every answer that a request gets because of such an error."""
UNAVAILABLE = "The database does not answer. Try again in a few seconds."
_DEFECTS = (psycopg.errors.ProgramLimitExceeded, psycopg.errors.StatementTooComplex)
"""PostgreSQL counts them among operational errors, but a repeated request meets them again."""


def is_migrated() -> bool:
    """Return whether every migration is applied, and no table is of before the first release.

    Raises `django.db.Error` if the database does not answer.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    connection.ensure_connection()
    executor = MigrationExecutor(connection)
    if _BEFORE_THE_FIRST_RELEASE in executor.loader.applied_migrations:
        return False
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def can_read() -> bool:
    """Return True after a read of the table that every page reads. Raises `django.db.Error`."""
    # Django has loaded no models yet when the app of this module is configured.
    from gangboard.store.models import Cluster

    Cluster.objects.exists()
    return True


def check_server(using: str = DEFAULT_DB_ALIAS) -> None:
    """Connect, and raise CommandError where the database server cannot hold what gangboard stores.

    The sentence names the cause and the remedy. Raises `django.db.Error` for a server
    that does not answer or is too old.
    """
    connection = connections[using]
    connection.ensure_connection()
    if connection.vendor != "postgresql":
        return
    name, encoding = connection.settings_dict["NAME"], _encoding(connection)
    if encoding != ENCODING:
        raise CommandError(
            f"The database {name} has the encoding {encoding}, and gangboard needs {ENCODING}. Make it "
            f"anew with: CREATE DATABASE {name} ENCODING '{ENCODING}' TEMPLATE template0. Then run this "
            "again."
        )


def _encoding(connection: BaseDatabaseWrapper) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_encoding")
        return str(cursor.fetchone()[0])


def refuse_old_tables(*, using: str, **_: Any) -> None:
    """Before a database is migrated: raise CommandError where its tables cannot be taken over."""
    connection = connections[using]
    if _BEFORE_THE_FIRST_RELEASE not in MigrationRecorder(connection).applied_migrations():
        return
    kind = "file" if connection.vendor == "sqlite" else "database"
    raise CommandError(
        "This database was made before gangboard's first release, whose tables differ. Remove the "
        f"{kind} {connection.settings_dict['NAME']} or name another one in DATABASE_URL; then run this "
        "again, and add clusters and people again."
    )


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
