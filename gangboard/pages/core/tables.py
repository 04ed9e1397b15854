"""The columns of a page and the lines of files, made from the declaration of a row."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from gangboard.pages.core.serializers import serializer_of
from gangboard.readmodels.declarations import Field, fields_of
from gangboard.readmodels.formatting import printable

DASH = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table."""

    label: str
    """Heading of its column: phones show it beside the text."""
    text: str
    time: datetime | None
    """The time of a cell that is a time. The page prints its age."""
    href: str


@dataclass(frozen=True, slots=True)
class ColumnHeading:
    """Heading of a column."""

    label: str
    meaning: str = ""
    href: str = ""
    """Address that sorts by the column; empty if it cannot be sorted by."""
    direction: str = ""
    """`ascending` or `descending` if the rows are sorted by the column."""
    css: str = ""
    """CSS class of the column, in lists that have columns of their own."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the headings, and a tuple of cells for each row, beside the row itself."""

    headings: tuple[ColumnHeading, ...]
    lines: tuple[tuple[Any, tuple[Cell, ...]], ...]


@dataclass(frozen=True, slots=True)
class Sorting:
    """The sortable columns of a table, and the current ordering."""

    chosen: str
    """Name of a field, `-` before it for descending."""
    links: Mapping[str, str]
    """Name of a field → address that sorts by it, or the other way round."""

    def heading(self, field: Field) -> ColumnHeading:
        """Return the heading of a column."""
        direction = ""
        if self.chosen.removeprefix("-") == field.name:
            direction = "descending" if self.chosen.startswith("-") else "ascending"
        label, meaning = field.declaration.label, field.declaration.meaning
        return ColumnHeading(label, meaning, self.links.get(field.name, ""), direction)


UNSORTED = Sorting("", MappingProxyType({}))


def sorting_of(
    chosen: str, orderings: Iterable[str], link: Callable[[str], str], *, usual: str
) -> Sorting:
    """Return how a table is sorted.

    `chosen` is an ordering of the address, or `usual` if it is not in `orderings`. `link` returns the
    address with an ordering. A click sorts times from the newest on, and a second click the other way.
    """
    known = tuple(orderings)
    chosen = chosen if chosen in known else usual
    links = {}
    for name in {ordering.removeprefix("-") for ordering in known}:
        first = f"-{name}" if name.endswith("_at") else name
        opposite = name if name.endswith("_at") else f"-{name}"
        links[name] = link(opposite if chosen == first else first)
    return Sorting(chosen, links)


def table_of(
    row: type,
    rows: Iterable[Any],
    *,
    sorting: Sorting = UNSORTED,
    left_out: Collection[str] = (),
) -> Table:
    """Return the table of some rows. `left_out` are names of fields that the page shows elsewhere."""
    fields = [
        field
        for field in fields_of(row)
        if field.declaration.on_page and field.name not in left_out
    ]
    return Table(
        tuple(sorting.heading(field) for field in fields),
        tuple((item, tuple(_cell(field, item) for field in fields)) for item in rows),
    )


def labels_of(row: type, names: Iterable[str]) -> dict[str, str]:
    """Return the labels of some fields, for a list whose cells have a template of its own."""
    labels = {field.name: field.declaration.label for field in fields_of(row)}
    return {name: labels[name] for name in names}


def csv_of(row: type, rows: Iterable[Any]) -> Iterator[str]:
    """Yield the lines of the CSV file of some rows: the fields of the API, under their names."""
    names = tuple(field.name for field in fields_of(row) if field.declaration.in_api)
    return write_csv(rows, names)


def json_lines_of(row: type, rows: Iterable[Any]) -> Iterator[str]:
    """Yield one line of JSON for each row: the fields of the API, as the API writes them."""
    serializer = serializer_of(row)()
    for item in rows:
        yield json.dumps(serializer.to_representation(item), ensure_ascii=False) + "\n"


def _cell(field: Field, item: Any) -> Cell:
    value = getattr(item, field.name)
    declaration = field.declaration
    href = getattr(item, declaration.link) if declaration.link else ""
    time = value if isinstance(value, datetime) else None
    text = declaration.empty if value is None and declaration.empty else _text(value)
    return Cell(declaration.label, "" if time else text, time, href or "")


def _text(value: Any) -> str:
    if value is None or value == "" or value == ():
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, tuple):
        texts = [_text(item) for item in value]
        return ("; " if any("," in item for item in texts) else ", ").join(texts)
    return printable(str(value))


_FORMULA = frozenset("=+-@|%\t\r\n\0＝＋－＠")
"""Characters with which a cell must not begin. Some programs also read the full-width ones as formulas."""


class _Echo:
    """A file whose `write` returns the text, so that `csv` gives each line to the caller."""

    def write(self, text: str) -> str:
        return text


def write_csv(rows: Iterable[object], columns: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of a CSV file (RFC 4180), the heading first.

    `columns` are attributes of the rows. The heading of a dotted attribute is its last name. Strangers write
    names, reasons and messages, and a spreadsheet runs text that looks like a formula. Such a cell therefore
    begins with an apostrophe (OWASP ASVS 1.2.10).
    """
    writer = csv.writer(_Echo(), quoting=csv.QUOTE_ALL)
    readers = [attrgetter(column) for column in columns]
    yield writer.writerow([column.rpartition(".")[2] for column in columns])
    for row in rows:
        yield writer.writerow([_csv_cell(read(row)) for read in readers])


def _csv_cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return time_text(value) or ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    if isinstance(value, Mapping):
        text = ",".join(f"{key}={item}" for key, item in value.items())
    else:
        text = str(value)
    return f"'{text}" if text.lstrip()[:1] in _FORMULA or text[:1] in _FORMULA else text


def time_text(time: datetime | None) -> str | None:
    """Return a time as RFC 3339 in UTC with a Z, as in the API."""
    return None if time is None else time.astimezone(UTC).isoformat().replace("+00:00", "Z")
