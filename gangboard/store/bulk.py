"""Upserts of many rows in one go, by the quickest way that each database has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection

COPY_FROM = 200
"""Rows from which COPY into a temporary table beats single statements on PostgreSQL."""


def upsert_rows(
    table: str, columns: Sequence[str], key: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """Insert rows, or update all columns but the key where the key is there already.

    Names are constants of our own code, never outside text. Values are bound as parameters. Call it
    inside a transaction. Rows must not repeat a key.
    """
    if not rows:
        return
    names = ", ".join(columns)
    updates = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in key)
    tail = f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {updates}"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql" and len(rows) >= COPY_FROM:
            fresh = f"fresh_{table}"
            empty = f"SELECT {names} FROM {table} WITH NO DATA"  # noqa: S608  # names are our own
            cursor.execute(
                f"CREATE TEMP TABLE IF NOT EXISTS {fresh} ON COMMIT DELETE ROWS AS {empty}"
            )
            with cursor.cursor.copy(f"COPY {fresh} ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            cursor.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM {fresh} {tail}")  # noqa: S608  # names are our own
            cursor.execute(f"TRUNCATE {fresh}")
            return
        marks = ", ".join(["%s"] * len(columns))
        cursor.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks}) {tail}", rows)  # noqa: S608  # names are our own
