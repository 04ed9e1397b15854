"""Actions that a viewer may see, as the record lists them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import QuerySet

from gangboard.pages.core.tables import labels_of
from gangboard.readmodels.action_rows import ActionRow
from gangboard.readmodels.actions import make_row, with_ends
from gangboard.readmodels.cursors import LARGEST_PAGE, SortKey, read_page
from gangboard.readmodels.filters import all_equal, all_occur_in, since
from gangboard.store.access import Viewer
from gangboard.store.models import Action

_KEYS = (SortKey("requested_at", descending=True), SortKey("id", descending=True))
_SEARCHED = ("name", "namespace", "kind", "cluster_name", "reason", "message", "actor_name")
COLUMNS = labels_of(ActionRow, ("face", "target", "message", "reason", "actor", "requested_at"))
EXPORTED = (
    *("id", "requested_at", "finished_at", "actor", "via", "verb"),
    *("cluster", "namespace", "target.api_group", "kind", "name", "uid"),
    *("state", "lever", "reason", "message", "reverted_by", "held_seconds"),
    *("until", "forced", "batch"),
)
"""Fields of an action in a CSV file, in order."""


@dataclass(frozen=True, slots=True)
class ActionFilters:
    """Filters of the record. An empty filter matches all actions."""

    cluster: str = ""
    namespace: str = ""
    verb: str = ""
    state: str = ""
    actor: str = ""
    lever: str = ""
    q: str = ""
    """Words that must all occur in names, reason, message or actor."""
    within: str = ""
    """One of WITHIN: the action was requested since then. Any other word matches all actions."""
    open: bool = False
    """True matches only actions that are not over."""


@dataclass(frozen=True, slots=True)
class ActionPage:
    """Some actions, the newest first, and the cursor of the next page; None on the last page."""

    rows: tuple[ActionRow, ...]
    next_cursor: str | None


def read_actions(
    *, viewer: Viewer, filters: ActionFilters, cursor: str | None = None, limit: int = 50
) -> ActionPage:
    """Return one page of actions, the newest first (at most 3 queries). Raises CursorError."""
    actions = _select(viewer=viewer, filters=filters).prefetch_related("steps")
    page, next_cursor = read_page(actions, _KEYS, cursor=cursor, limit=limit)
    return ActionPage(with_ends(viewer, map(make_row, page)), next_cursor)


def all_actions(viewer: Viewer, filters: ActionFilters) -> Iterator[ActionRow]:
    """Yield every action that matches the filters, the newest first.

    It reads page by page, so neither memory nor a transaction grows with the record.
    """
    cursor: str | None = None
    while True:
        page = read_actions(viewer=viewer, filters=filters, cursor=cursor, limit=LARGEST_PAGE)
        yield from page.rows
        cursor = page.next_cursor
        if cursor is None:
            return


def _select(*, viewer: Viewer, filters: ActionFilters) -> QuerySet[Action]:
    """Return the unordered actions in namespaces that the viewer may see."""
    columns = {
        "cluster_name": filters.cluster,
        "namespace": filters.namespace,
        "verb": filters.verb,
        "state": filters.state,
        "actor_name": filters.actor,
        "lever": filters.lever,
    }
    actions = Action.objects.filter(
        viewer.gang_filter(),
        all_equal(columns),
        since("requested_at", filters.within),
        all_occur_in(filters.q, _SEARCHED),
    )
    return actions.filter(finished_at=None) if filters.open else actions
