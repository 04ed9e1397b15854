"""One page of a long list on a page that stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from gangboard.readmodels.cursors import CursorError
from gangboard.web.addresses import Address

PAGE_SIZE = 100
"""Rows of one page."""
Row = TypeVar("Row", covariant=True)


class RowPage(Protocol[Row]):
    """Some rows, and the cursor of the next page."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows."""

    @property
    def next_cursor(self) -> str | None:
        """Where the next page begins; None if there is none."""


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Rows(Generic[Item]):
    """Some rows of a long list."""

    rows: tuple[Item, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Pager:
    """Addresses of other pages of the list; empty where there is none."""

    first: str
    next: str


def read_rows(
    address: Address[Any], read: Callable[[str], RowPage[Row]]
) -> tuple[tuple[Row, ...], Pager]:
    """Return the rows at the cursor of the address. An old cursor gets the first page."""
    try:
        found = read(address.cursor)
    except CursorError:
        address = replace(address, cursor="")
        found = read("")
    following = address.next(found.next_cursor) if found.next_cursor else ""
    return found.rows, Pager(address.first if address.cursor else "", following)
