"""Rows as the lines of a CSV file (RFC 4180) that no spreadsheet runs.

Names, reasons and messages are written by strangers, and a spreadsheet runs what looks like a
formula: such cells begin with an apostrophe (OWASP ASVS 1.2.10).
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from operator import attrgetter

_FORMULA = frozenset("=+-@|%\t\r\n\0＝＋－＠")
"""What a cell may not begin with; the wide ones are read as formulas by some programs too."""


class _Echo:
    """A file that returns what is written to it: csv writes lines, we want them one by one."""

    def write(self, text: str) -> str:
        return text


def write_csv(rows: Iterable[object], columns: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of the file, the heading first; no cell is a formula.

    `columns` are attributes of the rows; of one with dots the last name is its heading.
    """
    writer = csv.writer(_Echo(), quoting=csv.QUOTE_ALL)
    readers = [attrgetter(column) for column in columns]
    yield writer.writerow([column.rpartition(".")[2] for column in columns])
    for row in rows:
        yield writer.writerow([_cell(read(row)) for read in readers])


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return time_text(value) or ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    text = str(value)
    return f"'{text}" if text.lstrip()[:1] in _FORMULA or text[:1] in _FORMULA else text


def time_text(at: datetime | None) -> str | None:
    """Return a moment as RFC 3339 in UTC, with a Z, as the API writes it."""
    return None if at is None else at.astimezone(UTC).isoformat().replace("+00:00", "Z")
