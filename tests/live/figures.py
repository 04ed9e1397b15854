"""Figures of a timing test: printed with every run, so that a slow drift is seen before a miss."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figures:
    """Median and worst of some times, in seconds."""

    median: float
    worst: float

    @classmethod
    def of(cls, what: str, seconds: Sequence[float]) -> Figures:
        """Take the figures of some times and print them."""
        figures = cls(statistics.median(seconds), max(seconds))
        every = " ".join(f"{one:.2f}" for one in seconds[:40])
        print(
            f"\n{what}: median {figures.median:.2f} s, worst {figures.worst:.2f} s "
            f"of {len(seconds)} ({every}{' …' if len(seconds) > 40 else ''})"
        )
        return figures
