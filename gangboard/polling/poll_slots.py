"""Slots of a poll worker: each cluster that it watches has one, from window to window."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from gangboard.store.cluster_leases import CLUSTER_LEASE_SECONDS


@dataclass(slots=True)
class _Slot:
    """A used slot. Times are moments of `time.monotonic()`."""

    since: float
    """When the turn of its cluster began."""
    changed_at: float
    """When its window began. Between two windows, when the last one ended."""
    is_running: bool = False
    """A window is running."""
    reserved_for: int | None = None
    """The cluster that gets the slot after this window. None if its own cluster stays."""


class PollSlots:
    """The slots of one worker. Thread-safe."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._taken: dict[int, _Slot] = {}
        self._expired: set[int] = set()
        """Clusters whose next message never arrived, until `take_expired` returns them."""
        self._lock = threading.Lock()

    def begin(self, cluster_id: int) -> bool:
        """Begin a window of the cluster. Return False if it gets no slot.

        That is the case if no slot is free, or if another message of this worker polls the cluster now or soon. The
        lease cannot tell two messages of one worker apart, and each would enqueue the next one for ever.
        """
        now = time.monotonic()
        with self._lock:
            self._free_expired(now)
            slot = self._taken.get(cluster_id)
            if slot is None and len(self._taken) < self._number and not self._has(cluster_id):
                slot = self._taken[cluster_id] = _Slot(now, now)
            if slot is None or slot.is_running:
                return False
            slot.is_running, slot.changed_at = True, now
            return True

    def reserve(self, cluster_id: int, next_cluster_id: int) -> bool:
        """Reserve the slot of a cluster, whose window is ending, for another cluster.

        Return False if that cluster has a slot of this worker or a reservation. Without this check, two windows that
        end together could give way to the same cluster, because the worker's own lease permits both.
        """
        with self._lock:
            if self._has(next_cluster_id):
                return False
            self._taken[cluster_id].reserved_for = next_cluster_id
            return True

    def end(self, cluster_id: int, next_cluster_id: int | None) -> None:
        """End a window.

        `next_cluster_id`: the cluster that has the slot from now on, the same one or the one with the reservation.
        None frees the slot.
        """
        now = time.monotonic()
        with self._lock:
            slot = self._taken.pop(cluster_id)
            if next_cluster_id is not None:
                since = slot.since if next_cluster_id == cluster_id else now
                self._taken[next_cluster_id] = _Slot(since, now)

    @property
    def are_full(self) -> bool:
        """True if no slot is free. A free slot takes a waiting cluster, so none has to give way."""
        with self._lock:
            self._free_expired(time.monotonic())
            return len(self._taken) >= self._number

    def rank(self, cluster_id: int, overdue: float) -> int:
        """Return how many other clusters have had their slot for longer and will give way soon.

        A window that has run for `overdue` seconds, because a list does not end, will not.
        """
        now = time.monotonic()
        with self._lock:
            since = self._taken[cluster_id].since
            return sum(
                slot.since < since and now - slot.changed_at < overdue
                for slot in self._taken.values()
            )

    def take_expired(self) -> set[int]:
        """Return the clusters that lost their slot since the last call and have none now."""
        with self._lock:
            expired, self._expired = self._expired, set()
            return expired - self._taken.keys()

    def _has(self, cluster_id: int) -> bool:
        reserved_for = (slot.reserved_for for slot in self._taken.values())
        return cluster_id in self._taken or cluster_id in reserved_for

    def _free_expired(self, now: float) -> None:
        """Free the slots of clusters whose next message never arrived. Their leases have expired as well."""
        for cluster_id, slot in list(self._taken.items()):
            if not slot.is_running and now - slot.changed_at > CLUSTER_LEASE_SECONDS:
                del self._taken[cluster_id]
                self._expired.add(cluster_id)
