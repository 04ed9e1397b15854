"""Time and work that the search of one plan may use."""

from __future__ import annotations

import math
import time
from collections.abc import Callable


class SearchBudget:
    """Remaining time and placements of a search, shared by its stages and their steps.

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
        self._ends = self._stage_ends = self._step_ends = now + seconds, placements

    def begin_stage(self, remaining_stages: int) -> None:
        """Share the rest equally among the remaining stages. The first stages may take twice their share."""
        self._stage_ends = self._shared(self._ends, min(1.0, 2 / remaining_stages))
        self._step_ends = self._stage_ends

    def begin_step(self, remaining_steps: int) -> None:
        """Share the rest of the stage among its remaining steps, so that one step does not take all of it."""
        self._step_ends = self._shared(self._stage_ends, min(1.0, 2 / (remaining_steps + 1)))

    def _shared(self, ends: tuple[float, float], share: float) -> tuple[float, float]:
        now, (seconds, placements) = self._clock(), ends
        return (
            now + share * (seconds - now),
            self.placements + share * (placements - self.placements),
        )

    def spend(self) -> None:
        """Count one placement."""
        self.placements += 1

    def is_over(self) -> bool:
        """Return whether the time or the work of the step is used up."""
        ends_at, most = self._step_ends
        return self.placements >= most or self._clock() >= ends_at
