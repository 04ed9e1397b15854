"""Objects whose owner was deleted moments ago: the garbage collector deletes them, too.

Without this each pod of a deleted owner would be a gang of its own for the seconds until it goes.
A pod that is kept on purpose (`--cascade=orphan`) loses its owner reference, and is a gang at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0
"""Seconds. What is still there then is kept by something, and shown as a gang of its own."""
MOST = 20_000
"""Deleted objects that are remembered; the oldest ones are dropped."""


class Leftovers:
    """The objects of one cluster that were seen deleted within PATIENCE. Not thread-safe."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._deleted: dict[str, float] = {}
        """uid → time, the oldest first."""

    def note_deleted(self, uid: str) -> None:
        """Remember that an object is gone."""
        now = self._clock()
        self._deleted.pop(uid, None)
        self._deleted[uid] = now
        while self._deleted:
            oldest = next(iter(self._deleted))
            if now - self._deleted[oldest] < PATIENCE and len(self._deleted) <= MOST:
                return
            del self._deleted[oldest]

    def patience_left(self, controller: str) -> float:
        """Return for how many seconds objects of this controller count as leftovers; 0: they do not."""
        deleted_at = self._deleted.get(controller)
        return 0.0 if deleted_at is None else max(0.0, deleted_at + PATIENCE - self._clock())
