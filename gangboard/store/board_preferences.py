"""Preferences of a person for the Board: views with names, and columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gangboard.store.models import BoardColumns, SavedView

MOST_VIEWS = 50
"""Of one person."""
LONGEST_NAME = 60
"""Characters of the name of a view."""


@dataclass(frozen=True, slots=True)
class NamedView:
    """One view of a person."""

    id: int
    name: str
    query: str
    """As it stands in the address of the Board."""


def read_views(user_id: int) -> tuple[NamedView, ...]:
    """Return the views of a person by name (1 query)."""
    found = SavedView.objects.filter(user_id=user_id).order_by("name", "pk")
    return tuple(NamedView(*row) for row in found.values_list("pk", "name", "query"))


def save_view(user_id: int, name: str, query: str) -> bool:
    """Keep a view, in place of one of the same name; return False where the person has too many."""
    views = SavedView.objects.filter(user_id=user_id)
    is_new = not views.filter(name=name).exists()
    if is_new and views.count() >= MOST_VIEWS:
        return False
    SavedView.objects.update_or_create(user_id=user_id, name=name, defaults={"query": query})
    return True


def delete_view(user_id: int, view_id: str) -> None:
    """Forget a view of this person; one of somebody else is none, nor is what is no id."""
    for view in SavedView.objects.filter(user_id=user_id):
        if str(view.pk) == view_id:
            view.delete()


def read_columns(user_id: int) -> tuple[str, ...] | None:
    """Return the columns that a person wants to see, None where nothing was chosen (1 query)."""
    names = BoardColumns.objects.filter(pk=user_id).values_list("names", flat=True).first()
    return None if names is None else tuple(map(str, names))


def save_columns(user_id: int, names: Iterable[str]) -> None:
    """Keep the columns that a person wants to see."""
    BoardColumns.objects.update_or_create(pk=user_id, defaults={"names": list(names)})
