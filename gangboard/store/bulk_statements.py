"""Statements about many rows: upserts, deletes in batches, and the first rows of each group."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from django.db import connection
from django.db.models import QuerySet

COPY_FROM = 200
"""Rows from which COPY into a temporary table beats single statements on PostgreSQL."""
DELETE_BATCH = 500
"""Rows of one transaction: a poll that wants to write waits no longer than for these."""


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


def delete_in_batches(rows: QuerySet[Any]) -> int:
    """Delete all rows of a query, a transaction for each DELETE_BATCH rows; return how many."""
    deleted = 0
    while True:
        keys = list(rows.values_list("pk", flat=True)[:DELETE_BATCH])
        rows.model._default_manager.filter(pk__in=keys).delete()  # Django's way
        deleted += len(keys)
        if len(keys) < DELETE_BATCH:
            return deleted


def first_of_each(
    rows: QuerySet[Any], columns: tuple[str, ...], groups: Collection[tuple[str, ...]], most: int
) -> list[Any]:
    """Return the primary keys of the first `most` of each group, groups in turn (1 query, none without groups).

    `rows` are in the order that counts; `columns` tell the groups apart. Each group is read by itself, from an
    index where there is one: a window over all rows would sort them all. Django makes the statement of one
    group only, since that takes longer than to run it.
    """
    if not groups:
        return []
    marks = [f"\0{column}" for column in columns]
    one = rows.filter(**dict(zip(columns, marks, strict=True))).values("pk")[:most]
    statement, given = one.query.sql_with_params()
    parts, values = [], []
    for number, group in enumerate(groups):
        parts.append(f"SELECT * FROM ({statement}) AS first_{number}")  # noqa: S608  # as Django made it
        filled = dict(zip(marks, group, strict=True))
        values += [filled.get(value, value) if isinstance(value, str) else value for value in given]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts), values)
        return [pk for (pk,) in cursor.fetchall()]
