"""A person's preferences for the Board: named views and columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gangboard.store.models import BoardColumns, SavedView

MOST_VIEWS = 50
"""Maximum number of views of one person."""
LONGEST_NAME = 60
"""Maximum number of characters in the name of a view."""


@dataclass(frozen=True, slots=True)
class NamedView:
    """A named view of the Board."""

    id: int
    name: str
    query: str
    """The query string of the Board's URL."""


def read_views(user_id: int) -> tuple[NamedView, ...]:
    """Return the views of a person by name (1 query)."""
    views = SavedView.objects.filter(user_id=user_id).order_by("name", "pk")
    return tuple(NamedView(*row) for row in views.values_list("pk", "name", "query"))


def save_view(user_id: int, name: str, query: str) -> bool:
    """Save a view, replacing one of the same name. Return False if the person has too many views."""
    views = SavedView.objects.filter(user_id=user_id)
    is_new = not views.filter(name=name).exists()
    if is_new and views.count() >= MOST_VIEWS:
        return False
    SavedView.objects.update_or_create(user_id=user_id, name=name, defaults={"query": query})
    return True


def delete_view(user_id: int, view_id: str) -> None:
    """Delete a view of this person. Unknown ids and views of other people are ignored."""
    for view in SavedView.objects.filter(user_id=user_id):
        if str(view.pk) == view_id:
            view.delete()


def read_columns(user_id: int) -> tuple[str, ...] | None:
    """Return the columns that a person chose; None without a choice (1 query)."""
    names = BoardColumns.objects.filter(pk=user_id).values_list("names", flat=True).first()
    return None if names is None else tuple(map(str, names))


def save_columns(user_id: int, names: Iterable[str]) -> None:
    """Save the columns that a person chose."""
    BoardColumns.objects.update_or_create(pk=user_id, defaults={"names": list(names)})
