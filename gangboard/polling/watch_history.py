"""What the watch of a cluster has shown and no object says: which owners were deleted, and who changed `spec.suspend`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from gangboard.domain.owner import Owner, SuspendChange

ORPHAN_GRACE = 120.0
"""Seconds. What is still there then is kept by something, and shown as a gang of its own."""
MAX_DELETED = 20_000
"""Deleted objects that are remembered; the oldest ones are dropped."""


class DeletedOwners:
    """The objects of one cluster that were deleted within ORPHAN_GRACE. Not thread-safe.

    The garbage collector deletes the pods of a deleted owner some seconds later. Until then each would be a gang of its own.
    A pod that is kept on purpose (`--cascade=orphan`) loses its owner reference, and is a gang at once.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._deleted: dict[str, float] = {}
        """uid → time, the oldest first."""

    def add(self, uid: str) -> None:
        """Remember that an object is gone."""
        now = self._clock()
        self._deleted.pop(uid, None)
        self._deleted[uid] = now
        while self._deleted:
            oldest = next(iter(self._deleted))
            if now - self._deleted[oldest] < ORPHAN_GRACE and len(self._deleted) <= MAX_DELETED:
                return
            del self._deleted[oldest]

    def grace_left(self, controller: str) -> float:
        """Return for how many seconds objects of this controller count as leftovers; 0: they do not."""
        deleted_at = self._deleted.get(controller)
        return 0.0 if deleted_at is None else max(0.0, deleted_at + ORPHAN_GRACE - self._clock())


MAX_CHANGES = 50
"""Changes kept of one object; the oldest go first."""


class SuspendHistory:
    """The last changes of `spec.suspend` of each owner and child Job, by uid, to tell who undoes whom.

    An object names the last writer of a field only, so former writers are remembered. Only what changes the value
    counts: of a held Job the entries name who tried to resume it (observed on 1.37.0: `jobset`, with a new time and
    `suspend: true` as before). A new holder of the cluster begins without a history.
    """

    def __init__(self) -> None:
        self._now: dict[str, bool] = {}
        self._changes: dict[str, tuple[SuspendChange, ...]] = {}

    def put(self, owner: Owner, seen_at: datetime) -> None:
        """Take a version of an owner, in the order in which they are watched.

        The time of a change is the writer's own, so that what is watched late keeps its pace; a
        server whose clock is ahead cannot put it later than it was seen.
        """
        uid = owner.meta.ref.uid
        before = self._now.get(uid)
        self._now[uid] = owner.suspended
        if before is None or before == owner.suspended:
            return
        at = min(owner.suspend_set_at or seen_at, seen_at)
        change = SuspendChange(owner.suspended, owner.suspend_set_by, at)
        self._changes[uid] = (*self._changes.get(uid, ()), change)[-MAX_CHANGES:]

    def remove(self, uid: str) -> None:
        """Forget an object that is gone; one made anew under its name is another."""
        self._now.pop(uid, None)
        self._changes.pop(uid, None)

    def of(self, uids: Iterable[str]) -> Mapping[str, tuple[SuspendChange, ...]]:
        """Return the changes of those of these objects that have any, oldest first."""
        return {uid: self._changes[uid] for uid in uids if uid in self._changes}
