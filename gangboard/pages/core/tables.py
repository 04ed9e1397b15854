"""The columns of a page and the lines of a CSV file, made from the declaration of a row."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from gangboard.pages.core.rows import Field, fields_of
from gangboard.readmodels.csv_lines import write_csv
from gangboard.readmodels.printable import printable

DASH = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table."""

    label: str
    """Heading of its column: phones show it beside the text."""
    text: str
    time: datetime | None
    """The moment, where the cell is one: the page prints its age."""
    href: str


@dataclass(frozen=True, slots=True)
class ColumnHeading:
    """The heading of a column."""

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
    """Columns of a table that can be sorted by, and the one that it is sorted by."""

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
    for name in {one.removeprefix("-") for one in known}:
        first = f"-{name}" if name.endswith("_at") else name
        other = name if name.endswith("_at") else f"-{name}"
        links[name] = link(other if chosen == first else first)
    return Sorting(chosen, links)


def table_of(
    row: type,
    rows: Iterable[Any],
    *,
    sorting: Sorting = UNSORTED,
    left_out: Collection[str] = (),
) -> Table:
    """Return the table of some rows; `left_out` are names of fields that the page says elsewhere."""
    fields = [
        field
        for field in fields_of(row)
        if field.declaration.on_page and field.name not in left_out
    ]
    return Table(
        tuple(sorting.heading(field) for field in fields),
        tuple((item, tuple(_cell(field, item) for field in fields)) for item in rows),
    )


def csv_of(row: type, rows: Iterable[Any]) -> Iterator[str]:
    """Yield the lines of the CSV file of some rows: the fields of the API, under their names."""
    names = tuple(field.name for field in fields_of(row) if field.declaration.in_api)
    return write_csv(rows, names)


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
        parts = [_text(part) for part in value]
        return ("; " if any("," in part for part in parts) else ", ").join(parts)
    return printable(str(value))
