"""Whether a cluster as a whole answers, and how fast. An outage is one event of a cluster, not one of each gang."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta

from gangboard.domain.api_resource import WatchState
from gangboard.polling.resource_watch import Watched
from gangboard.polling.visibility import NOT_SEEN, Visibility

SILENT_AFTER = timedelta(seconds=30)
"""Nothing of the cluster was seen for so long: a verdict of now would be made of old news."""
SETTLING = timedelta(seconds=30)
"""After a silence, so long at most is waited for all that a verdict needs to be seen again."""


def heard_at(visibility: Visibility) -> datetime | None:
    """Return when these caches last got something of the cluster's objects; None before that.

    What it serves is no sign: an API server whose etcd is away still tells that. Neither is one
    refusal, which needs no etcd; but a cluster that refuses everything is not silent, it refuses.
    """
    served = _served(visibility)
    refuses = all(watched.state == WatchState.FORBIDDEN for watched in served)
    times = (watched.tried_at if refuses else watched.seen_at for watched in served)
    return max((at for at in times if at is not None), default=None)


def _served(visibility: Visibility) -> list[Watched]:
    return [
        watched
        for watched in visibility.values()
        if watched.version and watched.state != WatchState.NOT_NEEDED
    ]


@dataclass(slots=True)
class Silence:
    """Follows whether a cluster answers, for as long as its caches are kept."""

    last_at: datetime | None = None
    """The last sign of it, also of before these caches were made."""
    back_at: datetime | None = None
    """The first sign after its last silence, until all that a verdict needs was tried since."""

    def saw(self, at: datetime | None) -> None:
        """Take note of a sign of before these caches were made."""
        if at is not None and (self.last_at is None or at > self.last_at):
            self.last_at = at

    def keeps_from_judging(self, visibility: Visibility, now: datetime, *, settle: bool) -> bool:
        """Whether nothing may be said of its gangs now; what was said of them stands meanwhile.

        `settle`: everything has been tried, nothing more will come.
        """
        newest = heard_at(visibility)
        if newest is None or now - newest > SILENT_AFTER:
            return bool(_served(visibility))
        if self.last_at is not None and newest - self.last_at > SILENT_AFTER:
            self._end(self.last_at, visibility, newest)
        self.last_at = newest
        if self.back_at is not None and (
            settle
            or now - self.back_at > SETTLING
            or not self._is_awaiting(self.back_at, visibility)
        ):
            self.back_at = None
        return self.back_at is not None

    def _end(self, began_at: datetime, visibility: Visibility, newest: datetime) -> None:
        """Begin to wait for the rest, and hold the silence against no resource."""
        signs = [watched.seen_at for watched in _served(visibility)]
        self.back_at = min((at for at in signs if at and at > began_at), default=newest)
        for watched in visibility.values():
            # Not the part in which it was judged still: what was unobserved does not become clear again.
            watched.excuse(began_at + SILENT_AFTER, self.back_at)

    def _is_awaiting(self, back_at: datetime, visibility: Visibility) -> bool:
        return any(
            watched.resource.needed
            and watched.state not in NOT_SEEN
            and (watched.tried_at is None or watched.tried_at < back_at)
            for watched in _served(visibility)
        )


MINUTE = 60


class ContactMeter:
    """The pace of one cluster. The reflectors of all its resources write to it, each in its own thread."""

    def __init__(self) -> None:
        self.answer_seconds: float | None = None
        """How long the last small request took: a list of one object, which etcd has to confirm."""
        self._lock = threading.Lock()
        self._begun = time.monotonic()
        self._seconds: deque[list[int]] = deque()
        """[second, events in it] of the last minute, at most 61 entries."""

    def take_answer(self, seconds: float) -> None:
        """Take the duration of a small request."""
        self.answer_seconds = seconds

    def count_event(self) -> None:
        """Count a line of a watch that tells of an object."""
        now = int(time.monotonic())
        with self._lock:
            if not self._seconds or self._seconds[-1][0] < now:
                self._forget(now)
                self._seconds.append([now, 0])
            self._seconds[-1][1] += 1

    @property
    def answer_ms(self) -> int | None:
        """`answer_seconds` in milliseconds, at least 1. None before the first such request."""
        return None if self.answer_seconds is None else max(1, round(self.answer_seconds * 1000))

    @property
    def events_a_minute(self) -> int | None:
        """Events of the last minute; None before a whole minute was counted."""
        now = time.monotonic()
        if now - self._begun < MINUTE:
            return None
        with self._lock:
            self._forget(int(now))
            return sum(events for _, events in self._seconds)

    def _forget(self, now: int) -> None:
        while self._seconds and self._seconds[0][0] <= now - MINUTE:
            self._seconds.popleft()
