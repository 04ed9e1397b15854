"""The first rows of each of some groups, in one statement."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db import connection
from django.db.models import QuerySet


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
