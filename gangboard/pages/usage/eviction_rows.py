"""Rows of evictions over time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import ClassVar

from gangboard.pages.usage.rows import Coverage
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.evictions import EvictionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class DayRow:
    """The evictions of one UTC day."""

    json_name: ClassVar = "EvictionDay"
    day: date = shown("Day")
    preempted: int = shown("Preempted")
    evicted: int = shown("Evicted")
    requeued: int = shown("Requeued")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRow:
    """The number of evictions of a gang, by a gang, or in a queue."""

    json_name: ClassVar = "EvictionCount"
    cluster: str = shown("Cluster")
    name: str = shown("Name", "NAMESPACE/NAME of a gang, or the name of a queue.")
    gang: str = shown("Gang", "Id of a gang that lost its place; else null.", empty_is_null=True)
    count: int = shown("Evictions")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionCounts:
    """Evictions of the last days, counted."""

    since: date = shown("Since", "First day that is counted (UTC).")
    count: int | None = shown(
        "Evictions", "Null if no selected cluster was observed in these days and none is known."
    )
    known: Coverage = shown("Known", "How much of these days is known.")
    days: tuple[DayRow, ...] = shown("By day", "Days with evictions, the newest first.")
    victims: tuple[CountRow, ...] = shown(
        "Gangs that lost their place", "Up to ten, the most first."
    )
    takers: tuple[CountRow, ...] = shown("Gangs that got the place", "Of preemptions only.")
    queues: tuple[CountRow, ...] = shown("Queues of the gangs that lost their place")
    is_cut: bool = shown(
        "Cut", "Whether there are more evictions than were counted.", api_name="cut"
    )


@dataclass(frozen=True, slots=True)
class EvictionPage:
    """Some evictions, the newest first, and the cursor of the next page."""

    rows: tuple[EvictionRow, ...]
    next_cursor: str | None
