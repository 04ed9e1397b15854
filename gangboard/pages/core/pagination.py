"""Pagination of long lists: the rows that an address asks for, and the links to the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from gangboard.pages.core.layout import Frame
from gangboard.pages.core.live.fragments import Fragment
from gangboard.pages.core.live.page import FilteredPage, Filters, with_mark
from gangboard.pages.core.query_state import Address
from gangboard.readmodels.cursors import CursorError

PAGE_SIZE = 100
"""Rows of one page."""
PHONE_PAGE_SIZE = 25
_PHONE = "phone"
"""In the address of a waiting request: the browser is one of a phone. Pages of other sizes share no answers."""


class _HasNextCursor(Protocol):
    """One page of a list."""

    @property
    def next_cursor(self) -> str | None:
        """Where the next page begins; None if there is none."""


CursorPage = TypeVar("CursorPage", bound=_HasNextCursor)


@dataclass(frozen=True, slots=True)
class Paginated(Generic[CursorPage]):
    """One page of a list, and the links to the others."""

    page: CursorPage
    pager: Fragment


class ListPage(FilteredPage[Paginated[CursorPage], Filters], Generic[CursorPage, Filters]):
    """A live page with one page of a list."""

    @property
    def is_phone(self) -> bool:
        """Whether the browser says that it is one of a phone: all of these have `Mobi` in their name."""
        if self.updates:
            return _PHONE in self.request.GET
        return "Mobi" in self.request.headers.get("User-Agent", "")

    @property
    def page_size(self) -> int:
        """Return the number of rows of one page."""
        return PHONE_PAGE_SIZE if self.is_phone else PAGE_SIZE

    @property
    def live(self) -> str:
        """Return the address of the waiting request, with the state and the size of the page."""
        return with_mark(super().live, _PHONE) if self.is_phone else super().live

    def read_list(self, frame: Frame, cursor: str) -> CursorPage:
        """Return the page of the list that a cursor begins. Raises CursorError."""
        raise NotImplementedError

    def read(self, frame: Frame) -> Paginated[CursorPage]:
        """Return the page of the list at the address."""
        return paginate(self.address, partial(self.read_list, frame))


def paginate(address: Address[Any], read: Callable[[str], CursorPage]) -> Paginated[CursorPage]:
    """Return the page of the list at the cursor of the address, and the links to the others.

    An old link to a later page gets the first one: that is better than an error.
    """
    try:
        found = read(address.cursor)
    except CursorError:
        address = replace(address, cursor="")
        found = read("")
    following = found.next_cursor
    pager = {
        "next": address.next(following) if following else "",
        "first": address.first if address.cursor else "",
    }
    return Paginated(found, Fragment("pager", "board/pager.html", pager, tuple(pager.values())))


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
