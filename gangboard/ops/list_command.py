"""Base class of list commands: a table for people, JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar

from django.core.management.base import CommandParser

from gangboard.logs import one_line
from gangboard.ops.database_command import DatabaseCommand
from gangboard.pages.core.pagination import RowPage
from gangboard.pages.core.serializers import serializer_of
from gangboard.pages.core.tables import Cell, table_of
from gangboard.readmodels.cursors import LARGEST_PAGE
from gangboard.store.access import Scope, Viewer

SERVER = Viewer(0, "manage.py", (Scope(None, "", "admin"),), may_act=False)
"""No permission check: anyone who can run this command can read the database."""
Row = TypeVar("Row")


class ListCommand(DatabaseCommand):
    """Base class of list commands. JSON has the names of the API, one object per row."""

    row: ClassVar[type]
    """The row class, which a page declares."""
    nothing: ClassVar[str]
    """The output if there are no rows."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Add `--json`."""
        parser.add_argument("--json", action="store_true", help="print a JSON list")

    def rows(self) -> Iterable[Any]:
        """Return the rows to list."""
        raise NotImplementedError

    def documents(self, rows: Sequence[Any]) -> Any:
        """Return the rows as JSON."""
        return serializer_of(self.row)(rows, many=True).data

    def handle(self, *_: Any, **options: Any) -> None:
        """Print the rows."""
        rows = tuple(self.rows())
        if options["json"]:
            self.stdout.write(json.dumps(self.documents(rows), indent=2))
        elif not rows:
            self.stdout.write(self.nothing)
        else:
            for line in _lines(self.row, rows):
                self.stdout.write(line)


def every_row(read: Callable[[str | None, int], RowPage[Row]]) -> Iterator[Row]:
    """Yield the rows of all pages. `read` takes a cursor and a page size."""
    cursor: str | None = None
    while True:
        page = read(cursor, LARGEST_PAGE)
        yield from page.rows
        cursor = page.next_cursor
        if cursor is None:
            return


def _lines(row: type, rows: Sequence[Any]) -> Iterator[str]:
    table = table_of(row, rows)
    lines = [tuple(heading.label.upper() for heading in table.headings)]
    lines += [tuple(map(_text, cells)) for _, cells in table.lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        yield "  ".join(
            text.ljust(width) for text, width in zip(line, widths, strict=True)
        ).rstrip()


def _text(cell: Cell) -> str:
    return f"{cell.time:%Y-%m-%d %H:%M} UTC" if cell.time else one_line(cell.text)
