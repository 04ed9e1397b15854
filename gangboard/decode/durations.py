"""Durations as Go writes them: `1h30m`, `-1s`."""

from __future__ import annotations

import re
from datetime import timedelta

_SECONDS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0,
}  # fmt: skip
_PART = re.compile(r"(\d{1,12}(?:\.\d{0,12})?|\.\d{1,12})(ns|us|µs|μs|ms|s|m|h)")
_WHOLE = re.compile(rf"([+-]?)(0|(?:{_PART.pattern})+)")
_LONGEST = 64


def read_duration(text: str | None) -> timedelta | None:
    """Return the duration, or None if the text is missing, malformed or too large for a timedelta."""
    found = _WHOLE.fullmatch(text) if text and len(text) <= _LONGEST else None
    if found is None:
        return None
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(found[2]))
    try:
        return timedelta(seconds=-seconds if found[1] == "-" else seconds)
    except OverflowError:
        return None
