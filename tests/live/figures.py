"""Figures of the live tests, printed at the end of every run: a slow drift is seen before a miss."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

TAKEN: list[str] = []
"""One line each, for the summary of the run."""


def tell(line: str) -> None:
    """Keep a line for the summary."""
    TAKEN.append(line)


@dataclass(frozen=True, slots=True)
class Figures:
    """Median and worst of some times, in seconds."""

    median: float
    worst: float

    @classmethod
    def of(cls, what: str, seconds: Sequence[float]) -> Figures:
        """Take the figures of some times and tell them."""
        figures = cls(statistics.median(seconds), max(seconds))
        every = " ".join(f"{value:.2f}" for value in seconds[:40])
        tell(
            f"{what}: median {figures.median:.2f} s, worst {figures.worst:.2f} s "
            f"of {len(seconds)} ({every}{' …' if len(seconds) > 40 else ''})"
        )
        return figures
