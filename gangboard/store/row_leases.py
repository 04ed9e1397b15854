"""Leases on rows, and the locks on chores that are made of them.

A worker holds a row until a time by the clock of the database, which all workers share. A holder that must notice its
replacement has a `number`, which goes up at each change of hands; its writes name the number.

A chore is done by one worker at a time for a cluster: proving Holds, inspecting actions. It can rest, so that workers
leave a cluster alone that does not answer. Chores are not fenced: two workers that do the same chore, one of them stopped
past its lock's expiry, write the same kind of observation.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from django.db import models
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from gangboard.store.models import Chore, Cluster


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
        return lease_number(rows, holder)


def lease_number(rows: QuerySet[Any], holder: str) -> int | None:
    """Return the number of the row that the holder has; None where it has none."""
    number: int | None = rows.filter(holder=holder).values_list("number", flat=True).first()
    return number


CHORE_SECONDS = 30.0
"""Seconds for which the worker of a chore may be silent. Longer than the deadline of any single request."""
LONGEST_REST = 60.0
"""Seconds that a chore rests at most."""
CHORE_LEASES = RowLeases("held_until", CHORE_SECONDS)


@dataclass(slots=True)
class ChoreLock:
    """The lock on a chore that this process holds for now."""

    cluster_id: int
    name: str
    clock: DatabaseClock
    holder: str = field(default_factory=lambda: uuid.uuid4().hex)
    _rest: float = 0.0

    def renew(self) -> bool:
        """Keep the chore for another lease time. Return False if another worker has taken it over: then stop."""
        return bool(CHORE_LEASES.extend(self._row(), self.clock))

    def rest(self, seconds: float) -> None:
        """Keep every worker from beginning it again for this time, at most LONGEST_REST."""
        self._rest = min(seconds, LONGEST_REST)

    def _take(self) -> bool:
        row = Chore.objects.filter(cluster_id=self.cluster_id, name=self.name)
        CHORE_LEASES.shorten(row, self.clock, LONGEST_REST)
        return CHORE_LEASES.take(row, self.holder, self.clock)

    def _release(self) -> None:
        until = self.clock.database_now(self._rest) if self._rest else None
        self._row().update(holder="", held_until=until)

    def _row(self) -> QuerySet[Chore]:
        return Chore.objects.filter(cluster_id=self.cluster_id, name=self.name, holder=self.holder)


@contextmanager
def lock_chore(cluster_id: int, name: str, clock: DatabaseClock) -> Iterator[ChoreLock | None]:
    """Lock a chore of a cluster. Yields None if another worker does it, if it rests, or if the cluster is gone."""
    if not Cluster.objects.filter(pk=cluster_id).exists():
        yield None
        return
    Chore.objects.get_or_create(cluster_id=cluster_id, name=name)
    lock = ChoreLock(cluster_id, name, clock)
    if not lock._take():
        yield None
        return
    try:
        yield lock
    finally:
        lock._release()
