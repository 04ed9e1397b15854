"""How many threads of a worker the actions of one cluster may take, so that one which hangs leaves some."""

from __future__ import annotations

import threading
from collections import Counter

WORKER_SLOTS = 16
"""Actions that one worker carries out at once; waiting for the network is most of it."""


class WorkerSlots:
    """The threads in which a worker acts, shared out between clusters. Thread-safe.

    A cluster gets one more as long as it has fewer than are free: alone it takes half of them, the next
    one half of the rest. One whose last action got no answer gets one, until it answers again. Nobody
    waits here: who is turned away is called when there is room.
    """

    def __init__(self, slots: int = WORKER_SLOTS) -> None:
        self._slots = slots
        self._lock = threading.Lock()
        self._running: Counter[int] = Counter()
        self._silent: set[int] = set()
        self._turned_away: set[int] = set()

    def acquire(self, cluster_id: int) -> bool:
        """Take a slot for an action of the cluster; return False where none is left for it now."""
        with self._lock:
            if not self._has_room(cluster_id):
                self._turned_away.add(cluster_id)
                return False
            self._running[cluster_id] += 1
            return True

    def release(self, cluster_id: int, *, answered: bool) -> None:
        """Give the slot back; `answered` is whether the cluster did, when it was asked last."""
        with self._lock:
            self._running[cluster_id] -= 1
            if not self._running[cluster_id]:
                del self._running[cluster_id]
            if answered:
                self._silent.discard(cluster_id)
            else:
                self._silent.add(cluster_id)

    def admit_waiting(self) -> list[int]:
        """Return the clusters of which some action was turned away and that have room now, once."""
        with self._lock:
            found = [cluster_id for cluster_id in self._turned_away if self._has_room(cluster_id)]
            self._turned_away.difference_update(found)
            return found

    def _has_room(self, cluster_id: int) -> bool:
        free = self._slots - self._running.total()
        return self._running[cluster_id] < min(free, 1 if cluster_id in self._silent else free)
