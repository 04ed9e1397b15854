"""Texts that pages and messages print: sanitized names, ages, and quantities with units."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation

from gangboard.domain.resources import unit_word

LONGEST = 2000
"""Characters of one text; schedulers and webhooks may send a megabyte."""

_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
"""Controls, and the characters that reverse or hide what stands beside them."""
_BLANKS = re.compile(r"\s+")


def printable(text: str, longest: int = LONGEST) -> str:
    """Return the text on one line, marks in place of control characters, cut at `longest`."""
    short = text if len(text) <= longest else text[: longest - 1] + "…"
    return _UNPRINTABLE.sub(_mark, _BLANKS.sub(_one_line, short))


def printable_lines(text: str) -> str:
    """Return a text of several lines, each of them fit to print."""
    return "\n".join(printable(line) for line in text.splitlines())


def _one_line(blanks: re.Match[str]) -> str:
    """Return one blank for those that begin a new line or column, and all others as they are."""
    found = blanks.group()
    return " " if any(one in found for one in "\r\n\t") else found


def _mark(found: re.Match[str]) -> str:
    code = ord(found.group())
    # U+2400 and up are Unicode's pictures of the ASCII controls.
    return chr(0x2400 + code) if code < 0x20 else f"‹U+{code:04X}›"


MINUTE, HOUR, DAY = 60, 3600, 86_400


def age_text(since: datetime, now: datetime) -> str:
    """Return how long ago `since` was: `40 s`, `12 min`, `2 h 14 min`, `2 d 3 h`, `12 d`.

    Rounded down. A time in the future (a clock that runs ahead) is `0 s`.
    """
    return duration_text(now - since)


def verdict_age_text(since: datetime, now: datetime, *, first_seen: bool) -> str:
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


_BYTES = ("memory", "ephemeral-storage", "storage", "hugepages-")
_UNITS = ("Ki", "Mi", "Gi", "Ti", "Pi")


def number_text(number: float) -> str:
    """Return a number of devices as a decimal string, never an exponent: `8`, `0.5`."""
    return f"{Decimal(str(number)).normalize():f}"


def quantity_text(resource: str, text: str) -> str:
    """Return bytes with a binary unit (`48 Gi`, `1.5 Ti`), anything else as it is."""
    if not resource.startswith(_BYTES):
        return text
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return text
    if not amount.is_finite():
        return text
    unit = ""
    for larger in _UNITS:
        if abs(amount) < 1024:
            break
        amount, unit = amount / 1024, larger
    rounded = f"{amount:.1f}".removesuffix(".0")
    return f"{rounded} {unit}".strip()


def amount_text(resource: str, text: str) -> str:
    """Return an amount with its unit: `4 GPUs`, `48 Gi memory`, `2 cpu`. The page tells the resource on hover."""
    amount = quantity_text(resource, text)
    return f"{amount} {unit_word(resource, amount)}"
