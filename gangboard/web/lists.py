"""Long lists: the page of one that an address asks for, and the links to the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from gangboard.readmodels.cursors import CursorError
from gangboard.web.addresses import Address
from gangboard.web.parts import Part

PAGE = 100
"""Rows of one page."""


class _Slice(Protocol):
    """Some rows of a list."""

    @property
    def next_cursor(self) -> str | None:
        """Where the next ones begin; None: there are none."""


Slice = TypeVar("Slice", bound=_Slice)


def read_slice(address: Address[Any], read: Callable[[str], Slice]) -> tuple[Slice, Part]:
    """Return what `read` finds from the cursor of the address on, and the links to go on.

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
    return found, Part("pager", "board/pager.html", pager, tuple(pager.values()))
