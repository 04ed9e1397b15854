"""The columns of a page and the lines of a CSV file, made from the declaration of a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
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
class Table:
    """A table: the headings, and a tuple of cells for each row, beside the row itself."""

    headings: tuple[tuple[str, str], ...]
    """(label, meaning)."""
    lines: tuple[tuple[Any, tuple[Cell, ...]], ...]


def table_of(row: type, rows: Iterable[Any]) -> Table:
    """Return the table of some rows."""
    fields = [field for field in fields_of(row) if field.declaration.on_page]
    return Table(
        tuple((field.declaration.label, field.declaration.meaning) for field in fields),
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
    return Cell(declaration.label, "" if time else _text(value), time, href or "")


def _text(value: Any) -> str:
    if value is None or value == "" or value == ():
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, tuple):
        return ", ".join(_text(part) for part in value)
    return printable(str(value))
