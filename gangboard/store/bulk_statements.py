"""Bulk SQL statements: upserts, deletes in batches, and the first rows of each group."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from django.db import connection
from django.db.models import QuerySet

COPY_FROM = 200
"""Number of rows from which COPY into a temporary table beats single statements on PostgreSQL."""
DELETE_BATCH = 500
"""Rows of one transaction. A poll that wants to write waits for one batch at most."""


def upsert_rows(
    table: str, columns: Sequence[str], key: Sequence[str], rows: Sequence[Sequence[Any]]
) -> None:
    """Insert rows, or update all columns but the key where the key exists.

    Table and column names are constants of our own code. Values are bound as parameters. Call it inside a
    transaction. Rows must not repeat a key.
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
    """Delete all rows of a query in transactions of DELETE_BATCH rows, and return their number."""
    deleted = 0
    while True:
        keys = list(rows.values_list("pk", flat=True)[:DELETE_BATCH])
        rows.model._default_manager.filter(
            pk__in=keys
        ).delete()  # Through Django, so that its cascades apply.
        deleted += len(keys)
        if len(keys) < DELETE_BATCH:
            return deleted


def first_of_each(
    rows: QuerySet[Any], columns: tuple[str, ...], groups: Collection[tuple[str, ...]], most: int
) -> list[Any]:
    """Return the primary keys of the first `most` rows of each group, group by group (1 query).

    `rows` defines the order and `columns` the groups. Each group is a subquery of its own, which can use an
    index. A window function would sort all rows. Django compiles the statement of one group only, because
    compiling takes longer than running it. Without groups there is no query.
    """
    if not groups:
        return []
    marks = [f"\0{column}" for column in columns]
    first_group = rows.filter(**dict(zip(columns, marks, strict=True))).values("pk")[:most]
    statement, parameters = first_group.query.sql_with_params()
    selects, values = [], []
    for number, group in enumerate(groups):
        selects.append(f"SELECT * FROM ({statement}) AS first_{number}")  # noqa: S608  # as Django made it
        replacements = dict(zip(marks, group, strict=True))
        values += [
            replacements.get(value, value) if isinstance(value, str) else value
            for value in parameters
        ]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(selects), values)
        return [pk for (pk,) in cursor.fetchall()]
