"""The states of pages, all of which stand in their addresses: read from one, written into the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Generic, TypeVar
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from gangboard.readmodels import cursors
from gangboard.readmodels.filters import WITHIN
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.freshness import Freshness
from gangboard.readmodels.trends import DAY, FORTNIGHT, Period

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LONGEST = 253
"""Characters of a filter: the longest name in Kubernetes."""

Pairs = tuple[tuple[str, str], ...]
Filters = TypeVar("Filters", bound="DataclassInstance")
"""A dataclass of the filters that a page has: each a text, or a bool for a box to tick."""


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a filter."""

    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Select:
    """One filter with its choices."""

    name: str
    label: str
    options: tuple[Option, ...]
    none: str = "all"
    """What stands for no choice."""


def make_select(
    name: str, label: str, values: tuple[str, ...], chosen: str, none: str = "all"
) -> Select:
    """Return a filter; what an address chose stays a choice also when nothing has it any more."""
    every = values if not chosen or chosen in values else (*values, chosen)
    return Select(
        name,
        label,
        tuple(Option(value, printable(value), value == chosen) for value in every),
        none,
    )


def select_cluster(clusters: Mapping[int, Freshness], chosen: str) -> Select:
    """Return the filter by cluster."""
    return make_select(
        "cluster", "Cluster", tuple(one.cluster for one in clusters.values()), chosen
    )


def select_within(label: str, chosen: str) -> Select:
    """Return the filter that says how long ago something may be."""
    options = tuple(Option(word, text, word == chosen) for word, (text, _) in WITHIN.items())
    return Select("within", label, options, "any time")


def select_period(chosen: str) -> Select:
    """Return the filter that says how far back curves go."""
    days = str(FORTNIGHT.days)
    options = (Option(days, FORTNIGHT.label, chosen == days),)
    return Select("days", "Curves", options, f"last {DAY.label}")


def period_of(chosen: str) -> Period:
    """Return the period of curves that an address asks for."""
    return FORTNIGHT if chosen == str(FORTNIGHT.days) else DAY


def read_text(query: QueryDict, name: str) -> str:
    """Return one text of a query, fit for a database (PostgreSQL refuses NUL)."""
    return query.get(name, "").replace("\x00", "").strip()[:LONGEST]


@dataclass(frozen=True, slots=True)
class Address(Generic[Filters]):
    """The state of a page: what it is narrowed to and, in a long list, where it stands."""

    page: str
    """Name of its route; with `-updates` behind it that of its waiting request."""
    filters: Filters
    pairs: Pairs
    """The filters as pairs of a query, without those that are not set."""
    cursor: str

    @property
    def first(self) -> str:
        """Return the address of the first page of the list."""
        return self._with(self.pairs)

    @property
    def live(self) -> str:
        """Return the address of the waiting request: the state and the place in the list."""
        query = urlencode([*self.pairs, *([("cursor", self.cursor)] if self.cursor else [])])
        return (
            f"{reverse(f'{self.page}-updates')}?{query}"
            if query
            else reverse(f"{self.page}-updates")
        )

    def next(self, cursor: str) -> str:
        """Return the address of the page of the list that a cursor begins."""
        return self._with((*self.pairs, ("cursor", cursor)))

    def link(self, **changes: str) -> str:
        """Return the address with changes, from the first page on. An empty text takes out."""
        pairs = dict(self.pairs) | changes
        return self._with(tuple(pair for pair in pairs.items() if pair[1]))

    def without(self, *names: str) -> Pairs:
        """Return the pairs without some of them: for forms that set these themselves."""
        return tuple(pair for pair in self.pairs if pair[0] not in names)

    def _with(self, pairs: Pairs) -> str:
        return f"{reverse(self.page)}?{urlencode(pairs)}" if pairs else reverse(self.page)


def read_address(page: str, kind: type[Filters], query: QueryDict) -> Address[Filters]:
    """Return the state of a page that a query asks for.

    Every field of `kind` is a word of the query of the same name; a box is ticked by `1`.
    """
    pairs, values = [], {}
    for field in fields(kind):
        text = read_text(query, field.name)
        is_box = isinstance(field.default, bool)
        values[field.name] = text == "1" if is_box else text
        if values[field.name]:
            pairs.append((field.name, text))
    return Address(page, kind(**values), tuple(pairs), read_cursor(query))


def read_cursor(query: QueryDict) -> str:
    """Return where in its list a page stands; empty at the beginning."""
    return query.get("cursor", "")[: cursors.LONGEST]
