"""Pagination of long lists, on live pages (`ListPage`) and on pages without updates (`read_rows`)."""

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
"""Parameter of a waiting request: the browser is on a phone. It separates the cached answers of both page sizes."""


class _HasNextCursor(Protocol):
    """One page of a list."""

    @property
    def next_cursor(self) -> str | None:
        """Where the next page begins; None if there is none."""


CursorPage = TypeVar("CursorPage", bound=_HasNextCursor)


@dataclass(frozen=True, slots=True)
class Paginated(Generic[CursorPage]):
    """One page of a list, with links to the first and the next one."""

    page: CursorPage
    pager: Fragment


class ListPage(FilteredPage[Paginated[CursorPage], Filters], Generic[CursorPage, Filters]):
    """A live page with a paginated list."""

    @property
    def is_phone(self) -> bool:
        """Whether the browser is on a phone: its user agent contains `Mobi`."""
        if self.updates:
            return _PHONE in self.request.GET
        return "Mobi" in self.request.headers.get("User-Agent", "")

    @property
    def page_size(self) -> int:
        """Return the number of rows on one page."""
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
    """Return the page of the list at the cursor of the address. An invalid cursor gets the first page."""
    page, address = _read_page(address, read)
    pager = {
        "next": address.next(page.next_cursor) if page.next_cursor else "",
        "first": address.first if address.cursor else "",
    }
    return Paginated(page, Fragment("pager", "board/pager.html", pager, tuple(pager.values())))


Row = TypeVar("Row", covariant=True)


class RowPage(Protocol[Row]):
    """One page of rows."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows."""

    @property
    def next_cursor(self) -> str | None:
        """Where the next page begins; None if there is none."""


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Rows(Generic[Item]):
    """One page of rows, and the cursor of the next page."""

    rows: tuple[Item, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Pager:
    """Addresses of the first and the next page. Empty if there is no such page."""

    first: str
    next: str


def read_rows(
    address: Address[Any], read: Callable[[str], RowPage[Row]]
) -> tuple[tuple[Row, ...], Pager]:
    """Return the rows at the cursor of the address. An invalid cursor gets the first page."""
    page, address = _read_page(address, read)
    following = address.next(page.next_cursor) if page.next_cursor else ""
    return page.rows, Pager(address.first if address.cursor else "", following)


def _read_page(
    address: Address[Any], read: Callable[[str], CursorPage]
) -> tuple[CursorPage, Address[Any]]:
    """Return the page at the cursor of the address, and the address without a cursor that is invalid."""
    try:
        return read(address.cursor), address
    except CursorError:
        return read(""), replace(address, cursor="")
