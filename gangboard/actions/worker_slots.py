"""Shares of a worker's threads per cluster, so that a hanging cluster cannot use all of them."""

from __future__ import annotations

import threading
from collections import Counter

WORKER_SLOTS = 16
"""Actions that one worker carries out in parallel. They mostly wait for the network."""


class WorkerSlots:
    """The threads of an act worker, shared between clusters. Thread-safe.

    A cluster gets another slot while it has fewer than are free: a single cluster takes half of them,
    the next one half of the remaining ones. A cluster whose last request got no answer has one slot until
    it answers again. `acquire` does not block; `admit_waiting` returns rejected clusters later.
    """

    def __init__(self, slots: int = WORKER_SLOTS) -> None:
        self._slots = slots
        self._lock = threading.Lock()
        self._running: Counter[int] = Counter()
        self._silent: set[int] = set()
        self._rejected: set[int] = set()

    def acquire(self, cluster_id: int) -> bool:
        """Take a slot for an action of the cluster. Return False if it has no free slot now."""
        with self._lock:
            if not self._has_free_slot(cluster_id):
                self._rejected.add(cluster_id)
                return False
            self._running[cluster_id] += 1
            return True

    def release(self, cluster_id: int, *, answered: bool) -> None:
        """Release the slot. `answered`: the cluster answered its last request."""
        with self._lock:
            self._running[cluster_id] -= 1
            if not self._running[cluster_id]:
                del self._running[cluster_id]
            if answered:
                self._silent.discard(cluster_id)
            else:
                self._silent.add(cluster_id)

    def admit_waiting(self) -> list[int]:
        """Return the rejected clusters that have a free slot now, each once."""
        with self._lock:
            admitted = [id_ for id_ in self._rejected if self._has_free_slot(id_)]
            self._rejected.difference_update(admitted)
            return admitted

    def _has_free_slot(self, cluster_id: int) -> bool:
        free = self._slots - self._running.total()
        return self._running[cluster_id] < min(free, 1 if cluster_id in self._silent else free)
