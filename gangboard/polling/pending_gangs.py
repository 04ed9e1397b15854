"""Gangs that are judged again without an event of their own: when room changes, and when a recheck is due."""

from __future__ import annotations

import heapq
import math
import time
from datetime import datetime

from gangboard.domain.capacity import ClusterCapacity
from gangboard.polling.assessment_index import AssessmentIndex

ROUND_PAUSE = 5.0
"""Seconds of rest between two rounds over the pending gangs of a cluster."""


class PendingRounds:
    """Rounds over the pending gangs of one cluster, in slices, so that news need not wait for them.

    All gangs of a round are judged on the room as it was when the round began, so that what was
    worked out about it serves all of them. What changes meanwhile is for the next round: no change
    is forgotten, and the last one has been taken into account soon after the pause.
    """

    def __init__(self, assessments: AssessmentIndex) -> None:
        self._assessments = assessments
        self._left: list[str] = []
        self._ended_at = -math.inf
        self._room: ClusterCapacity | None = None
        self._version = 0

    def begin(self, room: ClusterCapacity, version: int, *, at_once: bool) -> bool:
        """Begin a round where one is due; return whether one is under way. `at_once`: do not rest."""
        if self._room is not None:
            return True
        if not at_once and time.monotonic() - self._ended_at < ROUND_PAUSE:
            return False
        behind = self._assessments.outdated(version)
        if not behind:
            return False
        self._left = sorted(behind, reverse=True)
        self._room, self._version = room, version
        return True

    def take(self, most: int) -> tuple[list[str], ClusterCapacity, int] | None:
        """Return the next gangs of the round with their room and its version; None at its end.

        Those that were judged meanwhile, because something touched them, are left out.
        """
        if self._room is None:
            return None
        behind = self._assessments.outdated(self._version)
        taken: list[str] = []
        while self._left and len(taken) < most:
            root = self._left.pop()
            if root in behind:
                taken.append(root)
        if taken:
            return taken, self._room, self._version
        self.end()
        return None

    def end(self) -> None:
        """Rest from now on: all pending gangs were judged."""
        self._left, self._room, self._ended_at = [], None, time.monotonic()


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
