"""Durations as a person says them. `static/js/ages.js` says them the same way."""

from __future__ import annotations

from datetime import datetime, timedelta

MINUTE, HOUR, DAY = 60, 3600, 86_400


def age_text(since: datetime, now: datetime) -> str:
    """Return how long ago `since` was: `40 s`, `12 min`, `2 h 14 min`, `2 d 3 h`, `12 d`.

    Rounded down. A time in the future (a clock that runs ahead) is `0 s`.
    """
    return duration_text(now - since)


def standing_text(since: datetime, now: datetime, *, first_seen: bool) -> str:
    """Return for how long a verdict stands: `2 min`, or `at least 2 min (first seen)`.

    `first_seen`: `since` is only when gangboard saw it first, and nobody knows since when it was so.
    """
    text = age_text(since, now)
    return f"at least {text} (first seen)" if first_seen else text


def duration_text(duration: timedelta) -> str:
    """Return a duration in at most two units."""
    seconds = max(int(duration.total_seconds()), 0)
    if seconds < MINUTE:
        return f"{seconds} s"
    if seconds < HOUR:
        return f"{seconds // MINUTE} min"
    if seconds < DAY:
        return _two(seconds // HOUR, "h", seconds % HOUR // MINUTE, "min")
    if seconds < 7 * DAY:
        return _two(seconds // DAY, "d", seconds % DAY // HOUR, "h")
    return f"{seconds // DAY} d"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large} {large_unit} {small} {small_unit}" if small else f"{large} {large_unit}"
