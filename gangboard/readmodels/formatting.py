"""Texts that pages and messages print: sanitized names, ages, and quantities with units."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation

from gangboard.domain.resources import unit_word

LONGEST = 2000
"""Characters of one text. Schedulers and webhooks may send a megabyte."""

_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
"""Control characters, and characters that reverse or hide the adjacent text."""
_BLANKS = re.compile(r"\s+")


def printable(text: str, longest: int = LONGEST) -> str:
    """Return an untrusted text on one line, with control characters replaced, cut to `longest` characters."""
    short = text if len(text) <= longest else text[: longest - 1] + "…"
    return _UNPRINTABLE.sub(_mark, _BLANKS.sub(_one_line, short))


def printable_lines(text: str) -> str:
    """Return an untrusted text of several lines, each as `printable` returns it."""
    return "\n".join(printable(line) for line in text.splitlines())


_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
_LINE_ENDS = re.compile(r"\r\n?")


def printable_log(log: bytes) -> str:
    """Return the log of a container without colours and with control characters replaced.

    A carriage return, with which progress bars overwrite their line, begins a new line.
    """
    text = _COLOURS.sub("", log.decode("utf-8", errors="replace"))
    return _UNPRINTABLE.sub(_mark, _LINE_ENDS.sub("\n", text))


def _one_line(blanks: re.Match[str]) -> str:
    """Return one blank for whitespace with a line break or a tab, and other whitespace unchanged."""
    whitespace = blanks.group()
    return " " if any(character in whitespace for character in "\r\n\t") else whitespace


def _mark(match: re.Match[str]) -> str:
    code = ord(match.group())
    # U+2400 and up are Unicode's pictures of the ASCII controls.
    return chr(0x2400 + code) if code < 0x20 else f"‹U+{code:04X}›"


MINUTE, HOUR, DAY = 60, 3600, 86_400


def age_text(since: datetime, now: datetime) -> str:
    """Return the age of `since`, rounded down: `40 s`, `12 min`, `2 h 14 min`, `2 d 3 h`, `12 d`.

    `static/js/ages.js` formats ages in the same way. A time in the future (by a fast clock) is `0 s`.
    """
    return duration_text(now - since)


def verdict_age_text(since: datetime, now: datetime, *, first_seen: bool) -> str:
    """Return the age of a verdict: `2 min`, or `at least 2 min (first seen)`.

    `first_seen`: `since` is when gangboard first observed it, and the verdict may have begun earlier.
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
    """Return bytes with a binary unit (`48 Gi`, `1.5 Ti`), and other amounts unchanged."""
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
    """Return an amount with its unit: `4 GPUs`, `48 Gi memory`, `2 cpu`. Pages show the exact resource on hover."""
    amount = quantity_text(resource, text)
    return f"{amount} {unit_word(resource, amount)}"
