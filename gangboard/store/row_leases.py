"""Leases on rows: whoever is named in a row has it until a time by the clock of the database.

All workers share that clock. Where a holder that was taken over must notice, the row has a `number` too,
which goes up at each change of hands: who writes names the number that it was given.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

from django.db import models
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now


class DatabaseClock(Protocol):
    """Where leases get their time from."""

    def database_now(self, later: float = 0.0) -> models.Expression:
        """Now by the clock of the database, plus seconds."""


class RealDatabaseClock:
    """The database's own clock."""

    def database_now(self, later: float = 0.0) -> models.Expression:
        """Now by the clock of the database, plus seconds."""
        if not later:
            return Now()
        seconds = models.Value(timedelta(seconds=later))
        return models.ExpressionWrapper(Now() + seconds, output_field=models.DateTimeField())


@dataclass(frozen=True, slots=True)
class RowLeases:
    """The leases on the rows of one table, whose holder is in its column `holder`."""

    until: str
    """Name of the column with the end of the lease; NULL there: nobody holds the row."""
    seconds: float
    """How long a holder may be silent before another one takes the row."""

    def is_free(self, clock: DatabaseClock) -> Q:
        """Return the condition on rows that nobody holds."""
        return Q(**{self.until: None}) | Q(**{f"{self.until}__lte": clock.database_now()})

    def extend(self, rows: QuerySet[Any], clock: DatabaseClock, **columns: Any) -> int:
        """Let the lease on these rows last from now, and set columns; return how many rows there were."""
        return rows.update(**columns, **{self.until: clock.database_now(self.seconds)})

    def shorten(
        self, rows: QuerySet[Any], clock: DatabaseClock, longest: float | None = None
    ) -> None:
        """End leases that last longer than any may after `longest` seconds: the clock was set back.

        A living holder renews in that time, and its last request is over when another one takes the row.
        `longest` is the lease time if it is not given.
        """
        seconds = self.seconds if longest is None else longest
        too_long = rows.filter(**{f"{self.until}__gt": clock.database_now(seconds)})
        if too_long.exists():
            too_long.update(**{self.until: clock.database_now(seconds)})

    def take(self, rows: QuerySet[Any], holder: str, clock: DatabaseClock, **columns: Any) -> bool:
        """Take the row when nobody holds it, and set columns; return whether it was free."""
        return bool(self.extend(rows.filter(self.is_free(clock)), clock, holder=holder, **columns))

    def take_numbered(self, rows: QuerySet[Any], holder: str, clock: DatabaseClock) -> int | None:
        """Take the row when nobody holds it; return its new number, None where somebody else has it."""
        if not self.take(rows, holder, clock, number=F("number") + 1):
            return None
        return number_of(rows, holder)


def number_of(rows: QuerySet[Any], holder: str) -> int | None:
    """Return the number of the row that the holder has; None where it has none."""
    number: int | None = rows.filter(holder=holder).values_list("number", flat=True).first()
    return number
