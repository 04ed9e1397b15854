"""What a person chooses for the Board: columns, and views with names. Every view is a link."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_POST

from gangboard.pages.board.address import read_board_address, read_columns, write_columns
from gangboard.pages.board.rows import OPTIONAL, OPTIONAL_KEYS
from gangboard.readmodels.printable import printable
from gangboard.store import board_choices
from gangboard.store.access import Viewer
from gangboard.web.auth import viewer_for

_AT_FIRST = tuple(column.key for column in OPTIONAL if column.shown_at_first)
"""What people see who have not chosen columns."""


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """One column that can be switched."""

    name: str
    label: str
    shown: bool


@dataclass(frozen=True, slots=True)
class ViewLink:
    """One view of the person."""

    id: int
    name: str
    href: str
    current: bool


@dataclass(frozen=True, slots=True)
class BoardChoices:
    """What the person has chosen, and the state of the Board as a view would keep it."""

    columns: tuple[ColumnChoice, ...]
    views: tuple[ViewLink, ...]
    query: str
    """What a view of what is shown now would be."""
    longest_name: int = board_choices.LONGEST_NAME

    @property
    def hidden(self) -> str:
        """Return the classes that leave columns out."""
        return " ".join(f"without-{column.name}" for column in self.columns if not column.shown)


def read_choices(viewer: Viewer, query: QueryDict) -> BoardChoices:
    """Return what this person has chosen (1 or 2 queries). The address goes before it."""
    shown = read_columns(query)
    pairs = read_board_address(query).pairs
    if shown is None:
        shown = board_choices.read_columns(viewer.user_id)
    shown = _AT_FIRST if shown is None else shown
    here = urlencode(pairs)
    return BoardChoices(
        tuple(ColumnChoice(each.key, each.label, each.key in shown) for each in OPTIONAL),
        tuple(
            ViewLink(one.id, printable(one.name), _address(one.query), one.query == here)
            for one in board_choices.read_views(viewer.user_id)
        ),
        urlencode((*(pair for pair in pairs if pair[0] != "columns"), _pair(shown))),
    )


@require_POST
def keep_columns(request: HttpRequest) -> HttpResponse:
    """Keep which columns this person wants to see."""
    viewer = viewer_for(request)
    chosen = set(request.POST.getlist("column"))
    board_choices.save_columns(viewer.user_id, (key for key in OPTIONAL_KEYS if key in chosen))
    pairs = read_board_address(QueryDict(request.POST.get("query", ""))).without("columns")
    return HttpResponseRedirect(_address(urlencode(pairs)), status=303)


@require_POST
def keep_view(request: HttpRequest) -> HttpResponse:
    """Keep the state of the Board under a name."""
    viewer = viewer_for(request)
    name = request.POST.get("name", "").replace("\x00", "").strip()[: board_choices.LONGEST_NAME]
    query = urlencode(read_board_address(QueryDict(request.POST.get("query", ""))).pairs)
    if name and not board_choices.save_view(viewer.user_id, name, query):
        sentence = (
            f"You have {board_choices.MOST_VIEWS} views, which is the most. Remove one first."
        )
        return HttpResponse(sentence, status=409, content_type="text/plain; charset=utf-8")
    return HttpResponseRedirect(_address(query), status=303)


@require_POST
def drop_view(request: HttpRequest, view_id: str) -> HttpResponse:
    """Forget a view of this person."""
    board_choices.delete_view(viewer_for(request).user_id, view_id)
    pairs = read_board_address(QueryDict(request.POST.get("query", ""))).pairs
    return HttpResponseRedirect(_address(urlencode(pairs)), status=303)


def _pair(shown: Iterable[str]) -> tuple[str, str]:
    keys = set(shown)
    return ("columns", write_columns(tuple(key for key in OPTIONAL_KEYS if key in keys)))


def _address(query: str) -> str:
    board = reverse("board")
    return f"{board}?{query}" if query else board
