"""The state of the Board, which stands in its address."""

from __future__ import annotations

from django.http import QueryDict

from gangboard.pages.board.rows import chosen_columns
from gangboard.pages.core.query_state import Address, read_cursor, read_text
from gangboard.readmodels.filters import Label, label_text, read_labels
from gangboard.readmodels.gangs import GROUPINGS, ORDERINGS, GangFilters

_NO_COLUMNS = "none"
_LONGEST = 3_000
"""Characters of a list of labels or columns."""
_MOST_LABELS = 8


def read_board_address(query: QueryDict) -> Address[GangFilters]:
    """Return the state of the Board that a query asks for. Unknown words are left out.

    A query may have several healths, and one of the known orderings and groupings.
    """
    healths = [health for text in query.getlist("health") for health in text.split(",") if health]
    filters = GangFilters(
        cluster=read_text(query, "cluster"),
        namespace=read_text(query, "namespace"),
        kind=read_text(query, "kind"),
        health=tuple(dict.fromkeys(health.replace("\x00", "")[:16] for health in healths))[:9],
        code=read_text(query, "code"),
        queue=read_text(query, "queue"),
        stage=read_text(query, "stage"),
        q=read_text(query, "q"),
        labels=_labels(query),
        submitter=read_text(query, "submitter"),
        mine=read_text(query, "mine") == "1",
        show_finished=read_text(query, "show_finished") == "1",
        gone=read_text(query, "gone") == "1",
        ordering=_allowed(read_text(query, "ordering"), ORDERINGS, "health"),
        group_by=_allowed(read_text(query, "group_by"), GROUPINGS, ""),
    )
    columns = read_columns(query)
    every = (
        ("q", filters.q),
        ("cluster", filters.cluster),
        ("namespace", filters.namespace),
        ("kind", filters.kind),
        ("queue", filters.queue),
        ("stage", filters.stage),
        ("code", filters.code),
        ("label", ",".join(map(label_text, filters.labels))),
        ("submitter", filters.submitter),
        ("mine", "1" if filters.mine else ""),
        ("group_by", filters.group_by),
        ("ordering", "" if filters.ordering == "health" else filters.ordering),
        ("show_finished", "1" if filters.show_finished else ""),
        ("gone", "1" if filters.gone else ""),
        ("health", ",".join(filters.health)),
        ("columns", "" if columns is None else write_columns(columns)),
    )
    return Address("board", filters, tuple(pair for pair in every if pair[1]), read_cursor(query))


def read_columns(query: QueryDict) -> tuple[str, ...] | None:
    """Return the keys of the optional columns in a query, in the order of the menu.

    Returns None for a query without a column, and no key for the word `none`.
    """
    names = _long_text(query, "columns").split(",")
    columns = chosen_columns(names)
    return columns if columns or _NO_COLUMNS in names else None


def write_columns(keys: tuple[str, ...]) -> str:
    """Return the text with which an address asks for these optional columns and no others."""
    return ",".join(keys) or _NO_COLUMNS


def _labels(query: QueryDict) -> tuple[Label, ...]:
    labels = (label for label in read_labels(_long_text(query, "label")) if label[0])
    return tuple(dict.fromkeys(labels))[:_MOST_LABELS]


def _long_text(query: QueryDict, name: str) -> str:
    return query.get(name, "").replace("\x00", "").strip()[:_LONGEST]


def _allowed(text: str, allowed: tuple[str, ...], default: str) -> str:
    return text if text in allowed else default
