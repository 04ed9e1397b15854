"""Preferences of a person for the Board: its columns, and its states with names (views)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_POST

from gangboard.pages.board.address import read_board_address, read_columns, write_columns
from gangboard.pages.board.rows import (
    LONGEST_LABEL_KEY,
    OPTIONAL,
    USE_COLUMN,
    chosen_columns,
    label_column,
    label_key_of,
)
from gangboard.pages.core.auth import viewer_for
from gangboard.readmodels.formatting import printable
from gangboard.store import board_preferences
from gangboard.store.access import Viewer
from gangboard.store.submitters import names_of

_AT_FIRST = tuple(column.key for column in OPTIONAL if column.shown_at_first)
"""Optional columns of people who have not chosen any."""


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """One optional column."""

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
    """The preferences of a person, and the state of the Board as a view would keep it."""

    columns: tuple[ColumnChoice, ...]
    views: tuple[ViewLink, ...]
    query: str
    """The query of a view of the present state."""
    my_names: tuple[str, ...]
    """Submitter names that count as the person's own."""
    longest_name: int = board_preferences.LONGEST_NAME
    longest_label: int = LONGEST_LABEL_KEY

    @property
    def hidden(self) -> str:
        """Return the CSS classes that hide columns. The page does not print the columns of other labels."""
        hidden = (column.name for column in self.columns if not column.shown)
        return " ".join(f"without-{name}" for name in hidden if not label_key_of(name))


def read_choices(viewer: Viewer, query: QueryDict, keys: tuple[str, ...]) -> BoardChoices:
    """Return the preferences of the viewer, who sees the optional columns `keys` (2 queries)."""
    pairs = read_board_address(query).pairs
    current = urlencode(pairs)
    return BoardChoices(
        tuple(_column_choices(keys)),
        tuple(
            ViewLink(view.id, printable(view.name), _address(view.query), view.query == current)
            for view in board_preferences.read_views(viewer.user_id)
        ),
        urlencode(
            (
                *(pair for pair in pairs if pair[0] != "columns"),
                ("columns", write_columns(keys)),
            )
        ),
        tuple(map(printable, names_of(viewer.user_id))),
    )


def read_shown_columns(viewer: Viewer, query: QueryDict) -> tuple[str, ...]:
    """Return the optional columns that the viewer sees: by the address, else as chosen (at most 1 query)."""
    keys = read_columns(query)
    if keys is None:
        keys = board_preferences.read_columns(viewer.user_id)
    return _AT_FIRST if keys is None else chosen_columns(keys)


def _column_choices(keys: Collection[str]) -> Iterable[ColumnChoice]:
    """Yield the optional columns, then those of labels: of the installation, and the chosen ones."""
    for column in OPTIONAL:
        if column.key == USE_COLUMN and not settings.PROMETHEUS_SOURCES:
            continue
        yield ColumnChoice(column.key, column.label, column.key in keys)
    offered = (label_column(key).key for key in settings.LABEL_COLUMNS)
    for name in dict.fromkeys((*offered, *filter(label_key_of, keys))):
        yield ColumnChoice(name, f"Label {printable(label_key_of(name))}", name in keys)


@require_POST
def keep_columns(request: HttpRequest) -> HttpResponse:
    """Save the columns that the person wants to see."""
    viewer = viewer_for(request)
    names = (
        *request.POST.getlist("column"),
        label_column(request.POST.get("label", "").strip()).key,
    )
    board_preferences.save_columns(viewer.user_id, chosen_columns(names))
    pairs = read_board_address(QueryDict(request.POST.get("query", ""))).without("columns")
    return HttpResponseRedirect(_address(urlencode(pairs)), status=303)


@require_POST
def keep_view(request: HttpRequest) -> HttpResponse:
    """Save the state of the Board under a name."""
    viewer = viewer_for(request)
    name = (
        request.POST.get("name", "").replace("\x00", "").strip()[: board_preferences.LONGEST_NAME]
    )
    query = urlencode(read_board_address(QueryDict(request.POST.get("query", ""))).pairs)
    if name and not board_preferences.save_view(viewer.user_id, name, query):
        sentence = f"You have {board_preferences.MOST_VIEWS} views, the maximum. Remove one first."
        return HttpResponse(sentence, status=409, content_type="text/plain; charset=utf-8")
    return HttpResponseRedirect(_address(query), status=303)


@require_POST
def drop_view(request: HttpRequest, view_id: str) -> HttpResponse:
    """Delete a view of the person."""
    board_preferences.delete_view(viewer_for(request).user_id, view_id)
    pairs = read_board_address(QueryDict(request.POST.get("query", ""))).pairs
    return HttpResponseRedirect(_address(urlencode(pairs)), status=303)


def _address(query: str) -> str:
    board = reverse("board")
    return f"{board}?{query}" if query else board
