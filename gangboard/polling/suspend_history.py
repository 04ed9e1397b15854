"""What the watch of one cluster has shown of changes of `spec.suspend`, to tell who undoes whom.

An object names the last writer of a field only, so its former ones are remembered from version to
version. Only what changes the value counts: of a held Job the entries name who tried to resume it
(observed on 1.37.0: `jobset`, with a new time and `suspend: true` as before). A new holder of the
cluster begins without them: while two go on, it soon has them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from gangboard.domain.owner import Owner, SuspendChange

MOST = 50
"""Changes kept of one object; the oldest go first."""


class SuspendHistory:
    """The last changes of `spec.suspend` of each owner and child Job, by uid."""

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
        self._changes[uid] = (*self._changes.get(uid, ()), change)[-MOST:]

    def remove(self, uid: str) -> None:
        """Forget an object that is gone; one made anew under its name is another."""
        self._now.pop(uid, None)
        self._changes.pop(uid, None)

    def of(self, uids: Iterable[str]) -> Mapping[str, tuple[SuspendChange, ...]]:
        """Return the changes of those of these objects that have any, oldest first."""
        return {uid: self._changes[uid] for uid in uids if uid in self._changes}
