"""Evictions: times at which a gang lost its place."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from gangboard.domain.objects import ObjectRef


class EvictionCode(StrEnum):
    """How a gang lost its place."""

    PREEMPTED = "preempted"
    """Another gang of higher priority, or with a better claim, got the place."""
    EVICTED = "evicted"
    """Its pods had to leave for another cause: node pressure, a taint, a drain, a stopped queue."""
    REQUEUED = "requeued"
    """Its admission system took the admission back and tries again by itself."""


@dataclass(frozen=True, slots=True)
class EntryEviction:
    """The last eviction of a queue entry, as its admission system tells it."""

    code: EvictionCode
    reason: str
    """Reason in the words of the system, such as `PodsReadyTimeout`."""
    at: datetime
    taker: str = ""
    """uid of the owner that got the place, or empty."""


@dataclass(frozen=True, slots=True)
class GangEviction:
    """One eviction of a gang."""

    code: EvictionCode
    reason: str
    at: datetime
    last_at: datetime
    """When its last known pod went."""
    source: str = ""
    """uid of the queue entry. Empty if pods or their events tell the eviction."""
    taker: ObjectRef | None = None
    """The gang that got the place. None if it is unknown."""
