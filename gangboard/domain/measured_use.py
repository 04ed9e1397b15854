"""How much a gang uses its accelerators, as a Prometheus measures it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class PodUse:
    """The accelerator use of one pod, as the mean of its accelerators in percent."""

    pod: str
    """Name of the pod."""
    role: str
    """The Job's role or the owner's role that created it. Pods of one role do the same work."""
    percent: float


@dataclass(frozen=True, slots=True)
class Straggler:
    """A pod far below its siblings, with the numbers at the time when that had lasted long enough."""

    pod: str
    since: datetime
    percent: float
    siblings_percent: float
    """Median of the pods of its role."""
    siblings: int
    is_told: bool = False
    """It has lasted long enough to be a finding."""


@dataclass(frozen=True, slots=True)
class MeasuredUse:
    """The accelerator use of one gang at one reading."""

    read_at: datetime
    pods: int
    """Pods with a value."""
    mean: float
    least: float
    least_pod: str
    most: float
    most_pod: str
    idle_since: datetime | None = None
    """First reading since which no pod used its accelerators. None while a pod uses them."""
    is_idle: bool = False
    """`idle_since` is long enough ago to be a finding."""
    straggler: Straggler | None = None


@dataclass(frozen=True, slots=True)
class UseAlert:
    """Conspicuous use of a gang. It stays the same while the state lasts, so that verdicts do not change."""

    idle_since: datetime | None = None
    straggler: Straggler | None = None
