"""When gangs have to be judged again although nothing about them changes."""

from __future__ import annotations

import heapq
from datetime import datetime

_SLACK = 64
"""Entries of the heap that nobody waits for and that are not worth a clean-up."""


class Rechecks:
    """The next recheck of each gang of one cluster.

    One is enough: whatever comes later is asked for again by the judgement that it leads to.
    """

    def __init__(self) -> None:
        self.times: dict[str, float] = {}
        """Root uid → unix time."""
        self._heap: list[tuple[float, str]] = []
        """Of (unix time, root uid): the rechecks in `times`, and old entries that are passed over."""

    def schedule(self, root: str, at: datetime) -> None:
        """Remember to look at a gang again at that time, or earlier where it is due earlier."""
        when = at.timestamp()
        if root in self.times and self.times[root] <= when:
            return
        self.times[root] = when
        heapq.heappush(self._heap, (when, root))
        if len(self._heap) > 2 * len(self.times) + _SLACK:
            self._heap = [(when, root) for root, when in self.times.items()]
            heapq.heapify(self._heap)

    def take(self, now: datetime) -> set[str]:
        """Return the gangs whose time has come, and forget their rechecks."""
        taken: set[str] = set()
        while self._heap and self._heap[0][0] <= now.timestamp():
            when, root = heapq.heappop(self._heap)
            if self.times.get(root) == when:
                del self.times[root]
                taken.add(root)
        return taken

    def drop(self, root: str) -> None:
        """Forget a gang that is gone."""
        self.times.pop(root, None)

    def __len__(self) -> int:
        """Return how many entries are kept, those that are passed over among them."""
        return len(self._heap)
