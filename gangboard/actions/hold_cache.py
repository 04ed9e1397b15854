"""Cache of the Holds that every sweep reads. A Hold is decoded again only after it has changed.

A sweep runs every two seconds, and thousands of Holds can be in force for weeks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.hold import HOLDS, Hold
from gangboard.store.models import WatchedObject
from gangboard.store.objects import BATCH, unpack

_LONGEST_ID = 32
"""Length of an Action's id. A longer annotation in the cluster names no action."""


@dataclass(frozen=True, slots=True)
class CachedHold:
    """The fields of one Hold that a sweep reads."""

    row: int
    """Primary key of its WatchedObject."""
    version: str
    """The resourceVersion that was decoded."""
    cluster_id: int
    uid: str
    action: str
    """Id of the action that created it, or empty."""
    until: datetime | None
    """Its end, or None if it has no end or is being deleted."""


class HoldCache:
    """The Holds of clusters with an actor, for any number of sweeps."""

    def __init__(self) -> None:
        self._holds: dict[int, CachedHold] = {}

    def refresh(self) -> Collection[CachedHold]:
        """Return all Holds. Decodes those that are new or have changed since the last call."""
        rows = WatchedObject.objects.filter(
            resource=HOLDS, cluster__actor_credentials__isnull=False
        ).values_list("pk", "uid", "resource_version")
        known, holds, changed = self._holds, {}, []
        for row, uid, version in rows:
            hold = known.get(row)
            if hold is not None and (hold.uid, hold.version) == (uid, version):
                holds[row] = hold
            else:
                changed.append(row)
        holds.update((hold.row, hold) for hold in _decode(changed))
        # Two concurrent sweeps read the same rows, so either result is correct.
        self._holds = holds
        return holds.values()


def read_holds(cached: Collection[CachedHold]) -> Iterator[tuple[CachedHold, Hold]]:
    """Yield the full Holds of these entries, if they still exist."""
    by_row = {hold.row: hold for hold in cached}
    for row, data in _rows(list(by_row), "pk", "data"):
        yield by_row[row], unpack(bytes(data), Hold)


def _decode(rows: list[int]) -> Iterator[CachedHold]:
    columns = ("pk", "resource_version", "cluster_id", "uid", "data")
    for row, version, cluster_id, uid, data in _rows(rows, *columns):
        hold = unpack(bytes(data), Hold)
        action = hold.action if len(hold.action) <= _LONGEST_ID else ""
        until = hold.until if hold.meta.deleting_since is None else None
        yield CachedHold(row, version, cluster_id, uid, action, until)


def _rows(rows: list[int], *columns: str) -> Iterator[tuple]:  # type: ignore[type-arg]  # of these columns
    for start in range(0, len(rows), BATCH):
        batch = WatchedObject.objects.filter(pk__in=rows[start : start + BATCH])
        yield from batch.values_list(*columns)
