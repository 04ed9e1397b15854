"""The clusters that one poll worker watches at once, each in a slot from window to window."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from gangboard.store.cluster_leases import LEASE_SECONDS


@dataclass(slots=True)
class _Slot:
    """One that is taken. Times are of time.monotonic()."""

    since: float
    """When the turn of its cluster began."""
    changed_at: float
    """When its window began; between two windows, when the last one ended."""
    runs: bool = False
    """Whether a window runs."""
    reserved_for: int | None = None
    """The cluster whose slot it is when this window is over; None where its own cluster stays."""


class PollSlots:
    """Which clusters have a slot. Thread-safe."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._taken: dict[int, _Slot] = {}
        self._lost: set[int] = set()
        """Clusters whose next order never came, and that nobody was told of yet."""
        self._lock = threading.Lock()

    def begin(self, cluster_id: int) -> bool:
        """Begin a window of the cluster.

        Return False when no slot is free, or another order of this worker polls the cluster now or soon.
        The lease does not tell two orders of one worker apart, and each would order the next for ever.
        """
        now = time.monotonic()
        with self._lock:
            self._drop_lost(now)
            slot = self._taken.get(cluster_id)
            if slot is None and len(self._taken) < self._number and not self._has(cluster_id):
                slot = self._taken[cluster_id] = _Slot(now, now)
            if slot is None or slot.runs:
                return False
            slot.runs, slot.changed_at = True, now
            return True

    def reserve(self, cluster_id: int, following: int) -> bool:
        """Promise the slot of a cluster, whose window is ending, to another one.

        Return False when that one has a slot of this worker, or is promised one. Without asking, two
        windows that end together would both give way to the same cluster: the worker's own lease lets
        both.
        """
        with self._lock:
            if self._has(following):
                return False
            self._taken[cluster_id].reserved_for = following
            return True

    def end(self, cluster_id: int, following: int | None) -> None:
        """End a window.

        `following`: whose window the slot is for now: the same cluster's, or that of the one that
        it was reserved_for to; None for nobody's.
        """
        now = time.monotonic()
        with self._lock:
            slot = self._taken.pop(cluster_id)
            if following is not None:
                since = slot.since if following == cluster_id else now
                self._taken[following] = _Slot(since, now)

    @property
    def are_full(self) -> bool:
        """Whether no slot is free: one that is takes who waits, and nobody needs to give way."""
        with self._lock:
            self._drop_lost(time.monotonic())
            return len(self._taken) >= self._number

    def rank(self, cluster_id: int, overdue: float) -> int:
        """Return how many of the others have had their slot for longer and will soon give way.

        One whose window has run for `overdue` seconds, with a list that does not end, will not.
        """
        now = time.monotonic()
        with self._lock:
            since = self._taken[cluster_id].since
            return sum(
                slot.since < since and now - slot.changed_at < overdue
                for slot in self._taken.values()
            )

    def take_expired(self) -> set[int]:
        """Return the clusters that have lost their slot since this was asked last, and have none now."""
        with self._lock:
            lost, self._lost = self._lost, set()
            return lost - self._taken.keys()

    def _has(self, cluster_id: int) -> bool:
        reserved_for = (slot.reserved_for for slot in self._taken.values())
        return cluster_id in self._taken or cluster_id in reserved_for

    def _drop_lost(self, now: float) -> None:
        """Free the slots of those whose next order never came: their leases have run out, too."""
        for cluster_id, slot in list(self._taken.items()):
            if not slot.runs and now - slot.changed_at > LEASE_SECONDS:
                del self._taken[cluster_id]
                self._lost.add(cluster_id)
