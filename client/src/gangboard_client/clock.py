"""Time, time spans and ages."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta

from gangboard_client.errors import UsageError

monotonic = time.monotonic
sleep = time.sleep

_SPAN = re.compile(r"([0-9]{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def read_span(text: str) -> timedelta:
    """Return the time span of `90s`, `10m`, `4h` or `2d`. Raises UsageError."""
    found = _SPAN.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} is not a time span, such as 90s, 10m, 4h or 2d.")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def read_time(text: str) -> datetime:
    """Return a moment of RFC 3339 in UTC. Raises UsageError without an offset."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a time, such as 2026-11-21T18:00:00Z.") from error
    if moment.tzinfo is None:
        raise UsageError(f"{text!r} has no offset: write 2026-11-21T18:00:00Z.")
    return moment.astimezone(UTC)


def read_end(text: str, now: datetime) -> str:
    """Return the end of a Hold as RFC 3339: a time span from `now`, or a moment. Raises UsageError."""
    end = now + read_span(text) if _SPAN.fullmatch(text) else read_time(text)
    return end.strftime("%Y-%m-%dT%H:%M:%SZ")


def age(since: str | None, now: datetime) -> str:
    """Return how long ago a moment of the server was, such as `38m`; `-` if it is not known."""
    if since is None:
        return "-"
    seconds = max(0, int((now - read_time(since)).total_seconds()))
    for unit, size, least in (("d", 86_400, 2), ("h", 3_600, 2), ("m", 60, 2)):
        if seconds >= size * least:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
