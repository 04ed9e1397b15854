"""Text from clusters, made fit to print: whoever may create a pod can write it."""

from __future__ import annotations

import re

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
