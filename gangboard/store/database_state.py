"""Checks of the database: its tables, its encoding, and temporary errors."""

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
"""The second of the migrations that were squashed into one. No migration may reuse this name."""
RETRY_SECONDS = 2
"""Value of Retry-After in responses to requests that fail with a temporary error."""
UNAVAILABLE = "The database does not answer. Try again in a few seconds."
_DEFECTS = (psycopg.errors.ProgramLimitExceeded, psycopg.errors.StatementTooComplex)
"""PostgreSQL counts them among operational errors, but a repeated request fails again."""


def is_migrated() -> bool:
    """Return whether every migration is applied and no table is older than the first release.

    Raises `django.db.Error` if the database does not answer.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    connection.ensure_connection()
    executor = MigrationExecutor(connection)
    if _BEFORE_THE_FIRST_RELEASE in executor.loader.applied_migrations:
        return False
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


def can_read() -> bool:
    """Read the table that every page needs, and return True. Raises `django.db.Error`."""
    # Django has not loaded the models yet when it imports this module.
    from gangboard.store.models import Cluster

    Cluster.objects.exists()
    return True


def check_server(using: str = DEFAULT_DB_ALIAS) -> None:
    """Connect, and raise CommandError if the database server cannot hold gangboard's data.

    The text names cause and remedy. Raises `django.db.Error` for a server that does not answer or is too old.
    """
    connection = connections[using]
    connection.ensure_connection()
    if connection.vendor != "postgresql":
        return
    name, encoding = connection.settings_dict["NAME"], _encoding(connection)
    if encoding != ENCODING:
        raise CommandError(
            f"The database {name} has the encoding {encoding}, and gangboard needs {ENCODING}. Create it anew with: CREATE DATABASE {name} ENCODING '{ENCODING}' TEMPLATE template0. Then run this "
            "again."
        )


def _encoding(connection: BaseDatabaseWrapper) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_encoding")
        return str(cursor.fetchone()[0])


def refuse_old_tables(*, using: str, **_: Any) -> None:
    """Raise CommandError before a migration if the tables are older than the first release."""
    connection = connections[using]
    if _BEFORE_THE_FIRST_RELEASE not in MigrationRecorder(connection).applied_migrations():
        return
    kind = "file" if connection.vendor == "sqlite" else "database"
    raise CommandError(
        "This database was created before gangboard's first release, whose tables differ. Remove the "
        f"{kind} {connection.settings_dict['NAME']} or name another one in DATABASE_URL; then run this "
        "again, and add clusters and people again."
    )


def is_unavailable(error: BaseException) -> bool:
    """Return True for a temporary error, after which the same request may succeed.

    Temporary errors are too many connections, no connection, a lock that another transaction holds, a full
    disk, and a read-only database. Errors that the statement itself causes are not temporary. SQLite raises
    `OperationalError` for both, so its error code decides.
    """
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        primary = getattr(cause, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        return isinstance(error, OperationalError) and primary != sqlite3.SQLITE_ERROR
    if isinstance(error, (OperationalError, InterfaceError)):
        return not isinstance(cause, _DEFECTS)
    return isinstance(cause, psycopg.errors.ReadOnlySqlTransaction)
