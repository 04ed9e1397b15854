"""How the pods of Jobs are scheduled and why, Jobs of which the same is said as one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

SHOWN = 3
"""Names of Jobs before the rest is counted."""


class Scheduled(Protocol):
    """A Job as far as this is about it."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def mode_label(self) -> str:
        """How its pods are scheduled."""

    @property
    def mode_reason(self) -> str:
        """Why."""


@dataclass(frozen=True, slots=True)
class JobsScheduledAlike:
    """Some Jobs whose pods are scheduled in one way for one reason."""

    label: str
    reason: str
    names: tuple[str, ...]
    """Some of them."""
    count: int

    @property
    def more(self) -> int:
        """How many are not named."""
        return self.count - len(self.names)


def scheduled_alike(jobs: Iterable[Scheduled]) -> tuple[JobsScheduledAlike, ...]:
    """Return the ways, in the order of the first Job of each."""
    alike: dict[tuple[str, str], list[str]] = {}
    for job in jobs:
        alike.setdefault((job.mode_label, job.mode_reason), []).append(job.name)
    return tuple(
        JobsScheduledAlike(label, reason, tuple(names[:SHOWN]), len(names))
        for (label, reason), names in alike.items()
        if label
    )
