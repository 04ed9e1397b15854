"""Leases on rows, and locks on chores built from them.

A worker holds a row until a time of the database clock, which all workers share. A holder that must notice
its replacement has a `number`, which increases with each new holder, and its writes name the number.

One worker at a time does a chore for a cluster, such as proving Holds. A chore can pause, so that workers
leave an unresponsive cluster alone. Chores are not fenced: if a worker continues after its lock has expired,
it writes the same kind of observation as the new one.
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
    """The clock of leases."""

    def database_now(self, later: float = 0.0) -> models.Expression:
        """Return the database's current time plus seconds."""


class RealDatabaseClock:
    """The database's own clock."""

    def database_now(self, later: float = 0.0) -> models.Expression:
        """Return the database's current time plus seconds."""
        if not later:
            return Now()
        seconds = models.Value(timedelta(seconds=later))
        return models.ExpressionWrapper(Now() + seconds, output_field=models.DateTimeField())


@dataclass(frozen=True, slots=True)
class RowLeases:
    """The leases on the rows of one table. The column `holder` names the holder."""

    until: str
    """Column with the end of the lease. NULL means that the row is free."""
    seconds: float
    """Seconds of silence after which another worker takes the row."""

    def is_free(self, clock: DatabaseClock) -> Q:
        """Return the condition on free rows."""
        return Q(**{self.until: None}) | Q(**{f"{self.until}__lte": clock.database_now()})

    def extend(self, rows: QuerySet[Any], clock: DatabaseClock, **columns: Any) -> int:
        """Extend the lease on these rows from now, and set columns. Return the number of rows."""
        return rows.update(**columns, **{self.until: clock.database_now(self.seconds)})

    def shorten(
        self, rows: QuerySet[Any], clock: DatabaseClock, longest: float | None = None
    ) -> None:
        """Cut leases that last longer than `longest` seconds, which happens when the clock was set back.

        A living holder renews within that time. If it does not, its last request is over when another worker
        takes the row. `longest` is the lease time by default.
        """
        seconds = self.seconds if longest is None else longest
        too_long = rows.filter(**{f"{self.until}__gt": clock.database_now(seconds)})
        if too_long.exists():
            too_long.update(**{self.until: clock.database_now(seconds)})

    def take(self, rows: QuerySet[Any], holder: str, clock: DatabaseClock, **columns: Any) -> bool:
        """Take the row if it is free, and set columns. Return whether it was free."""
        return bool(self.extend(rows.filter(self.is_free(clock)), clock, holder=holder, **columns))

    def take_numbered(self, rows: QuerySet[Any], holder: str, clock: DatabaseClock) -> int | None:
        """Take the row if it is free. Return its new number, or None if it is held."""
        if not self.take(rows, holder, clock, number=F("number") + 1):
            return None
        return lease_number(rows, holder)


def lease_number(rows: QuerySet[Any], holder: str) -> int | None:
    """Return the number of the row that this holder has, or None."""
    number: int | None = rows.filter(holder=holder).values_list("number", flat=True).first()
    return number


CHORE_SECONDS = 30.0
"""Seconds of silence after which another worker takes a chore. Longer than the deadline of any single request."""
LONGEST_REST = 60.0
"""Maximum pause of a chore, in seconds."""
CHORE_LEASES = RowLeases("held_until", CHORE_SECONDS)


@dataclass(slots=True)
class ChoreLock:
    """The lock on a chore that this process holds."""

    cluster_id: int
    name: str
    clock: DatabaseClock
    holder: str = field(default_factory=lambda: uuid.uuid4().hex)
    _rest: float = 0.0

    def renew(self) -> bool:
        """Keep the chore for another lease time. Return False if another worker has taken it; then stop."""
        return bool(CHORE_LEASES.extend(self._row(), self.clock))

    def rest(self, seconds: float) -> None:
        """Let no worker start the chore for this time, at most LONGEST_REST."""
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
    """Lock a chore of a cluster. Yield None if it is locked, paused, or if the cluster is removed."""
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
