"""Reachability of a cluster as a whole, its outages and its response times."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta

from gangboard.domain.api_resource import WatchState
from gangboard.polling.resource_watch import WatchedResource
from gangboard.polling.visibility import NOT_SEEN, Visibility

SILENT_AFTER = timedelta(seconds=30)
"""A cluster without contact for this long has an outage. A verdict made now would use old data."""
SETTLING = timedelta(seconds=30)
"""The longest wait after an outage for all needed resources to be read again."""


def last_contact_at(visibility: Visibility) -> datetime | None:
    """Return when these caches last received objects of the cluster, or None before that.

    Discovery is no contact, because an API server without etcd still answers it. A single refusal is no contact
    either, because it needs no etcd. But a cluster that refuses everything counts as reachable.
    """
    served = _served(visibility)
    refuses = all(watched.state == WatchState.FORBIDDEN for watched in served)
    times = (watched.last_try_at if refuses else watched.last_read_at for watched in served)
    return max((time for time in times if time is not None), default=None)


def _served(visibility: Visibility) -> list[WatchedResource]:
    return [
        watched
        for watched in visibility.values()
        if watched.version and watched.state != WatchState.NOT_NEEDED
    ]


@dataclass(slots=True)
class OutageTracker:
    """Detects outages of a cluster, for as long as its caches exist."""

    last_at: datetime | None = None
    """The last contact, which may be from before the caches were created."""
    back_at: datetime | None = None
    """The first contact after the last outage, until everything a verdict needs was tried again. None after that."""

    def restore_contact(self, contact_at: datetime | None) -> None:
        """Set the last contact of an earlier holder, if it is newer."""
        if contact_at is not None and (self.last_at is None or contact_at > self.last_at):
            self.last_at = contact_at

    def suspends_assessment(self, visibility: Visibility, now: datetime, *, settle: bool) -> bool:
        """Return whether gangs must not be assessed now. The stored verdicts stand meanwhile.

        `settle`: everything was tried, and no further update will come.
        """
        newest = last_contact_at(visibility)
        if newest is None or now - newest > SILENT_AFTER:
            return bool(_served(visibility))
        if self.last_at is not None and newest - self.last_at > SILENT_AFTER:
            self._end_outage(self.last_at, visibility, newest)
        self.last_at = newest
        if self.back_at is not None and (
            settle
            or now - self.back_at > SETTLING
            or not self._is_awaiting(self.back_at, visibility)
        ):
            self.back_at = None
        return self.back_at is not None

    def _end_outage(self, began_at: datetime, visibility: Visibility, newest: datetime) -> None:
        """Start to wait for the other resources, and exempt the outage from the age of each resource."""
        contacts = [watched.last_read_at for watched in _served(visibility)]
        self.back_at = min(
            (contact for contact in contacts if contact and contact > began_at), default=newest
        )
        for watched in visibility.values():
            # The first SILENT_AFTER counts, because gangs were still assessed then. An unobserved resource stays
            # unobserved.
            watched.add_outage(began_at + SILENT_AFTER, self.back_at)

    def _is_awaiting(self, back_at: datetime, visibility: Visibility) -> bool:
        return any(
            watched.resource.needed
            and watched.state not in NOT_SEEN
            and (watched.last_try_at is None or watched.last_try_at < back_at)
            for watched in _served(visibility)
        )


MINUTE = 60


class ContactMeter:
    """Response time and event rate of one cluster, updated by the reflector threads of all its resources."""

    def __init__(self) -> None:
        self.answer_seconds: float | None = None
        """Duration of the last small request: a list of one object, which etcd must confirm."""
        self._lock = threading.Lock()
        self._started_at = time.monotonic()
        self._seconds: deque[list[int]] = deque()
        """[second, number of events] of the last minute, at most 61 entries."""

    def take_answer(self, seconds: float) -> None:
        """Record the duration of a small request."""
        self.answer_seconds = seconds

    def count_event(self) -> None:
        """Count a watch event of an object."""
        now = int(time.monotonic())
        with self._lock:
            if not self._seconds or self._seconds[-1][0] < now:
                self._drop_old(now)
                self._seconds.append([now, 0])
            self._seconds[-1][1] += 1

    @property
    def answer_ms(self) -> int | None:
        """`answer_seconds` in milliseconds, at least 1. None before the first such request."""
        return None if self.answer_seconds is None else max(1, round(self.answer_seconds * 1000))

    @property
    def events_a_minute(self) -> int | None:
        """Events of the last minute. None before a whole minute was counted."""
        now = time.monotonic()
        if now - self._started_at < MINUTE:
            return None
        with self._lock:
            self._drop_old(int(now))
            return sum(events for _, events in self._seconds)

    def _drop_old(self, now: int) -> None:
        while self._seconds and self._seconds[0][0] <= now - MINUTE:
            self._seconds.popleft()
