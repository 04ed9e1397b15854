"""Columns of a long list, declared in one table. Head, rows, sorting and the choice of columns come from it.

A page has one tuple of `Column`. The template tag `cells` prints the cells of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from gangboard.pages.core.tables import ColumnHeading


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a list."""

    key: str
    """Its name in addresses, and in its CSS class."""
    label: str
    value: str = ""
    """Attribute of the row that the cell prints: text, number, time, or the Face of a state."""
    text: str = ""
    """Attribute that it prints instead, if the value alone does not say enough."""
    template: str = ""
    """Template that prints the cell instead. It knows the row as `row`."""
    dash_if: str = ""
    """Attribute of the row. If it has a value, the cell is a dash."""
    sort: str = ""
    """Ordering after the first click. Empty: the list cannot be sorted by it."""
    is_row_header: bool = False
    """Whether its cell names the row."""
    choice: int = 0
    """Place in the menu of columns that people can hide. 0: the column is always shown."""
    shown_at_first: bool = True
    """Whether people see it who have not chosen columns."""
    item: str = ""
    """Key of the printed item if the attribute is a mapping."""
    css_name: str = ""
    """Name in the CSS class, if the key cannot be one."""

    @property
    def css(self) -> str:
        """Return the CSS class of its cells. `given` is another one, of cells with a value in an optional column."""
        return f"column-{self.css_name or self.key}"


def optional_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Return the columns that people can hide, in the order of the menu."""
    return tuple(sorted((column for column in columns if column.choice), key=_place_in_menu))


def headings_of(
    columns: Iterable[Column],
    chosen: str,
    orderings: Collection[str],
    link: Callable[[str], str],
) -> tuple[ColumnHeading, ...]:
    """Return the headings of a list.

    `chosen` is its ordering, one of `orderings`. `link` returns the address with another one. A second
    click on a heading turns the order round if `orderings` has the opposite.
    """
    return tuple(_heading(column, chosen, orderings, link) for column in columns)


def _place_in_menu(column: Column) -> int:
    return column.choice


def _heading(
    column: Column, chosen: str, orderings: Collection[str], link: Callable[[str], str]
) -> ColumnHeading:
    label, css = column.label, column.css
    if not column.sort:
        return ColumnHeading(label, css=css)
    name = column.sort.removeprefix("-")
    if chosen.removeprefix("-") != name:
        return ColumnHeading(label, href=link(column.sort), css=css)
    opposite = name if chosen.startswith("-") else f"-{name}"
    if opposite not in orderings:
        return ColumnHeading(label, direction="descending", css=css)
    direction = "descending" if chosen.startswith("-") else "ascending"
    return ColumnHeading(label, href=link(opposite), direction=direction, css=css)
