"""History that only a watch shows: recently deleted owners, and changes of `spec.suspend`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from gangboard.domain.owner import Owner, SuspendChange

ORPHAN_GRACE = 120.0
"""Seconds after which the remaining pods of a deleted owner are shown as gangs of their own."""
MAX_DELETED = 20_000
"""Deleted objects that are remembered. The oldest ones are dropped."""


class DeletedOwners:
    """Objects of one cluster that were deleted within ORPHAN_GRACE. Not thread-safe.

    The garbage collector deletes the pods of a deleted owner some seconds later. Until then each of them would be a
    gang of its own. A pod that is kept on purpose (`--cascade=orphan`) loses its owner reference, and is a gang at
    once.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._deleted: dict[str, float] = {}
        """uid → time of the deletion, the oldest first."""

    def add(self, uid: str) -> None:
        """Record the deletion of an object."""
        now = self._clock()
        self._deleted.pop(uid, None)
        self._deleted[uid] = now
        while self._deleted:
            oldest = next(iter(self._deleted))
            if now - self._deleted[oldest] < ORPHAN_GRACE and len(self._deleted) <= MAX_DELETED:
                return
            del self._deleted[oldest]

    def grace_left(self, controller: str) -> float:
        """Return for how many more seconds objects of this controller count as leftovers, or 0."""
        deleted_at = self._deleted.get(controller)
        return 0.0 if deleted_at is None else max(0.0, deleted_at + ORPHAN_GRACE - self._clock())


MAX_CHANGES = 50
"""Changes that are kept of one object. The oldest are dropped first."""


class SuspendHistory:
    """Recent changes of `spec.suspend` of each owner and child Job by uid, to detect controllers that undo each other.

    An object names only the last writer of a field, so earlier writers are remembered here. Only a changed value
    counts: for a held Job, `managedFields` name the controller that tried to resume it (observed on 1.37.0: `jobset`,
    with a new time, and `suspend: true` as before). A new holder of the cluster starts without history.
    """

    def __init__(self) -> None:
        self._suspended: dict[str, bool] = {}
        self._changes: dict[str, tuple[SuspendChange, ...]] = {}

    def put(self, owner: Owner, seen_at: datetime) -> None:
        """Record a version of an owner. Call it in the order of the watch.

        The time of a change is the one that its writer recorded, so a late watch event does not distort the
        intervals. It is at most `seen_at`, in case the server's clock is ahead.
        """
        uid = owner.meta.ref.uid
        was_suspended = self._suspended.get(uid)
        self._suspended[uid] = owner.suspended
        if was_suspended is None or was_suspended == owner.suspended:
            return
        changed_at = min(owner.suspend_set_at or seen_at, seen_at)
        change = SuspendChange(owner.suspended, owner.suspend_set_by, changed_at)
        self._changes[uid] = (*self._changes.get(uid, ()), change)[-MAX_CHANGES:]

    def remove(self, uid: str) -> None:
        """Remove a deleted object. A new object of the same name has another uid."""
        self._suspended.pop(uid, None)
        self._changes.pop(uid, None)

    def of(self, uids: Iterable[str]) -> Mapping[str, tuple[SuspendChange, ...]]:
        """Return uid → changes, oldest first, for the objects that have any."""
        return {uid: self._changes[uid] for uid in uids if uid in self._changes}
