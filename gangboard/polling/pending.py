"""Gangs whose members wait for nodes are judged again when the room has changed."""

from __future__ import annotations

import math
import time

from gangboard.domain.capacity import ClusterCapacity
from gangboard.polling.assessment_index import AssessmentIndex

PAUSE = 5.0
"""Seconds of rest between two rounds over the pending gangs of a cluster."""


class Pending:
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
        if not at_once and time.monotonic() - self._ended_at < PAUSE:
            return False
        behind = self._assessments.behind(version)
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
        behind = self._assessments.behind(self._version)
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
