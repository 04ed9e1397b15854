"""Time and work that the search of one plan may use."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class SearchBudget:
    """Remaining time and placements of a search, shared by its stages.

    A placement is one attempt to give nodes to one gang in one room. Almost all time goes there.
    """

    def __init__(
        self,
        seconds: float,
        placements: float = math.inf,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin now. `clock` returns seconds. Another one than elapsed time is for benchmarks."""
        self._clock = clock
        now = clock()
        self.placements = 0
        """Placements so far."""
        self._ends = self._stage_ends = now + seconds, placements

    def begin_stage(self, remaining_stages: int) -> None:
        """Share the rest equally among the remaining stages. The first stages may take twice their share."""
        now = self._clock()
        seconds, placements = self._ends
        share = min(1.0, 2 / remaining_stages)
        self._stage_ends = (
            now + share * (seconds - now),
            self.placements + share * (placements - self.placements),
        )

    def spend(self) -> None:
        """Count one placement."""
        self.placements += 1

    def is_over(self) -> bool:
        """Return whether the time or the work of the stage is used up."""
        ends_at, most = self._stage_ends
        return self.placements >= most or self._clock() >= ends_at
