"""Locks on chores, which one worker at a time does for a cluster: proving Holds, inspecting actions.

A lock is a row with an expiry by the clock of the database, as the lease of a cluster is. A chore can
rest: a cluster that does not answer is left alone for a while. Nothing is fenced: two workers that do the
same chore, one of them stopped past its lock's expiry, write the same kind of observation.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db.models import QuerySet

from gangboard.store.models import Chore, Cluster
from gangboard.store.row_leases import DatabaseClock, RowLeases

LEASE_SECONDS = 30.0
"""How long whoever does it may be silent. Longer than the deadline of any single request."""
LONGEST_REST = 60.0
"""Seconds that a chore rests at most."""
LEASES = RowLeases("held_until", LEASE_SECONDS)


@dataclass(slots=True)
class ChoreLock:
    """The lock on a chore that this process holds for now."""

    cluster_id: int
    name: str
    clock: DatabaseClock
    holder: str = field(default_factory=lambda: uuid.uuid4().hex)
    _rest: float = 0.0

    def renew(self) -> bool:
        """Keep it for another lease time; return False when it was taken over: then stop."""
        return bool(LEASES.extend(self._row(), self.clock))

    def rest(self, seconds: float) -> None:
        """Keep every worker from beginning it again for this time, at most LONGEST_REST."""
        self._rest = min(seconds, LONGEST_REST)

    def _take(self) -> bool:
        row = Chore.objects.filter(cluster_id=self.cluster_id, name=self.name)
        LEASES.shorten(row, self.clock, LONGEST_REST)
        return LEASES.take(row, self.holder, self.clock)

    def _release(self) -> None:
        until = self.clock.database_now(self._rest) if self._rest else None
        self._row().update(holder="", held_until=until)

    def _row(self) -> QuerySet[Chore]:
        return Chore.objects.filter(cluster_id=self.cluster_id, name=self.name, holder=self.holder)


@contextmanager
def lock_chore(cluster_id: int, name: str, clock: DatabaseClock) -> Iterator[ChoreLock | None]:
    """Lock a chore of a cluster; yields None where somebody does it, it rests, or the cluster is gone."""
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
