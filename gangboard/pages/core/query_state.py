"""The state of a page in its address: filters, cursor, and the choices of each filter."""

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
"""Characters of a filter, as many as the longest name in Kubernetes has."""

Pairs = tuple[tuple[str, str], ...]
Filters = TypeVar("Filters", bound="DataclassInstance")
"""A dataclass of the filters of a page. A filter is a text, or a bool for a checkbox."""


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
    """Label of the empty choice."""


def make_select(
    name: str, label: str, values: tuple[str, ...], chosen: str, none: str = "all"
) -> Select:
    """Return a filter. The chosen value stays a choice even if no row has it any more."""
    choices = values if not chosen or chosen in values else (*values, chosen)
    return Select(
        name,
        label,
        tuple(Option(value, printable(value), value == chosen) for value in choices),
        none,
    )


def select_cluster(clusters: Mapping[int, Freshness], chosen: str) -> Select:
    """Return the filter by cluster."""
    return make_select(
        "cluster", "Cluster", tuple(cluster.cluster for cluster in clusters.values()), chosen
    )


def select_within(label: str, chosen: str) -> Select:
    """Return the filter of the time to look back."""
    options = tuple(Option(key, text, key == chosen) for key, (text, _) in WITHIN.items())
    return Select("within", label, options, "any time")


def select_period(chosen: str) -> Select:
    """Return the filter of the period of curves."""
    days = str(FORTNIGHT.days)
    options = (Option(days, FORTNIGHT.label, chosen == days),)
    return Select("days", "Curves", options, f"last {DAY.label}")


def period_of(chosen: str) -> Period:
    """Return the period of curves that an address asks for."""
    return FORTNIGHT if chosen == str(FORTNIGHT.days) else DAY


def read_text(query: QueryDict, name: str) -> str:
    """Return a parameter of a query without NUL, which PostgreSQL refuses."""
    return query.get(name, "").replace("\x00", "").strip()[:LONGEST]


@dataclass(frozen=True, slots=True)
class Address(Generic[Filters]):
    """The state of a page: its filters and, in a long list, the cursor."""

    page: str
    """Name of its URL. The URL of its waiting request has the suffix `-updates`."""
    filters: Filters
    pairs: Pairs
    """The filters that are set, as pairs of a query."""
    cursor: str

    @property
    def first(self) -> str:
        """Return the address of the first page of the list."""
        return self._with(self.pairs)

    @property
    def live(self) -> str:
        """Return the address of the waiting request, with the filters and the cursor."""
        query = urlencode([*self.pairs, *([("cursor", self.cursor)] if self.cursor else [])])
        return (
            f"{reverse(f'{self.page}-updates')}?{query}"
            if query
            else reverse(f"{self.page}-updates")
        )

    def next(self, cursor: str) -> str:
        """Return the address of the page of the list at a cursor."""
        return self._with((*self.pairs, ("cursor", cursor)))

    def link(self, **changes: str) -> str:
        """Return the address of the first page with other filters. An empty text removes a filter."""
        pairs = dict(self.pairs) | changes
        return self._with(tuple(pair for pair in pairs.items() if pair[1]))

    def without(self, *names: str) -> Pairs:
        """Return the pairs without those that a form sets itself."""
        return tuple(pair for pair in self.pairs if pair[0] not in names)

    def _with(self, pairs: Pairs) -> str:
        return f"{reverse(self.page)}?{urlencode(pairs)}" if pairs else reverse(self.page)


def read_address(page: str, kind: type[Filters], query: QueryDict) -> Address[Filters]:
    """Return the state of a page in a query.

    Each field of `kind` is a parameter of the same name. `1` ticks a checkbox.
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
    """Return the cursor in a query. Empty: the first page."""
    return query.get("cursor", "")[: cursors.LONGEST]
