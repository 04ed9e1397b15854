"""A cache of the Holds that every sweep needs. It decodes a Hold again after a change only.

There is a sweep every two seconds, and thousands of Holds can be in force for weeks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.hold import HOLDS, Hold
from gangboard.store.models import WatchedObject
from gangboard.store.objects import BATCH, unpack

_LONGEST_ID = 32
"""Characters of an Action's id. A longer text of the cluster names no action."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a sweep needs of one Hold."""

    row: int
    """Its primary key as a WatchedObject."""
    version: str
    """The resourceVersion that was decoded."""
    cluster_id: int
    uid: str
    action: str
    """Id of the action that made it, or empty."""
    until: datetime | None
    """Its end; None if it has none, or is being deleted."""


class HoldCache:
    """The Holds of clusters with an actor, for any number of sweeps."""

    def __init__(self) -> None:
        self._marks: dict[int, Mark] = {}

    def look(self) -> Collection[Mark]:
        """Return the marks of all Holds. Decodes those that are new or changed since the last call."""
        rows = WatchedObject.objects.filter(
            resource=HOLDS, cluster__actor_credentials__isnull=False
        ).values_list("pk", "uid", "resource_version")
        known, marks, changed = self._marks, {}, []
        for row, uid, version in rows:
            mark = known.get(row)
            if mark is not None and (mark.uid, mark.version) == (uid, version):
                marks[row] = mark
            else:
                changed.append(row)
        marks.update((mark.row, mark) for mark in _read_marks(changed))
        # Two sweeps at the same time read the same rows, so the later result is right, too.
        self._marks = marks
        return marks.values()


def read_holds(marks: Collection[Mark]) -> Iterator[tuple[Mark, Hold]]:
    """Yield the Holds of these marks that are there still."""
    by_row = {mark.row: mark for mark in marks}
    for row, data in _rows(list(by_row), "pk", "data"):
        yield by_row[row], unpack(bytes(data), Hold)


def _read_marks(rows: list[int]) -> Iterator[Mark]:
    columns = ("pk", "resource_version", "cluster_id", "uid", "data")
    for row, version, cluster_id, uid, data in _rows(rows, *columns):
        hold = unpack(bytes(data), Hold)
        action = hold.action if len(hold.action) <= _LONGEST_ID else ""
        until = hold.until if hold.meta.deleting_since is None else None
        yield Mark(row, version, cluster_id, uid, action, until)


def _rows(rows: list[int], *columns: str) -> Iterator[tuple]:  # type: ignore[type-arg]  # of these columns
    for start in range(0, len(rows), BATCH):
        found = WatchedObject.objects.filter(pk__in=rows[start : start + BATCH])
        yield from found.values_list(*columns)
