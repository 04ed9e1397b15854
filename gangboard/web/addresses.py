"""Filters in addresses: read from one, written into the next."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict

from gangboard.readmodels.gangs import GROUPINGS, ORDERINGS, GangFilters
from gangboard.readmodels.groups import GroupFilters
from gangboard.readmodels.printable import printable

LONGEST = 253
"""Characters of a filter: the longest name in Kubernetes."""

Pairs = tuple[tuple[str, str], ...]


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


def read_text(query: QueryDict, name: str) -> str:
    """Return one text of a query, fit for a database (PostgreSQL refuses NUL)."""
    return query.get(name, "").replace("\x00", "").strip()[:LONGEST]


def _one_of(text: str, allowed: tuple[str, ...], default: str) -> str:
    return text if text in allowed else default


@dataclass(frozen=True, slots=True)
class BoardAddress:
    """The state of the Board: all of it stands in the address."""

    filters: GangFilters
    cursor: str

    @classmethod
    def read(cls, query: QueryDict) -> BoardAddress:
        """Return the state that a query asks for; words that are not known are left out."""
        healths = [word for text in query.getlist("health") for word in text.split(",") if word]
        filters = GangFilters(
            cluster=read_text(query, "cluster"),
            namespace=read_text(query, "namespace"),
            kind=read_text(query, "kind"),
            health=tuple(dict.fromkeys(word.replace("\x00", "")[:16] for word in healths))[:9],
            code=read_text(query, "code"),
            queue=read_text(query, "queue"),
            stage=read_text(query, "stage"),
            q=read_text(query, "q"),
            show_finished=read_text(query, "show_finished") == "1",
            ordering=_one_of(read_text(query, "ordering"), ORDERINGS, "health"),
            group_by=_one_of(read_text(query, "group_by"), GROUPINGS, ""),
        )
        return cls(filters, query.get("cursor", "")[:2000])

    @property
    def pairs(self) -> Pairs:
        """Return the state as pairs of a query, without defaults and without the cursor."""
        filters = self.filters
        every = (
            ("q", filters.q),
            ("cluster", filters.cluster),
            ("namespace", filters.namespace),
            ("kind", filters.kind),
            ("queue", filters.queue),
            ("stage", filters.stage),
            ("code", filters.code),
            ("group_by", filters.group_by),
            ("ordering", "" if filters.ordering == "health" else filters.ordering),
            ("show_finished", "1" if filters.show_finished else ""),
            ("health", ",".join(filters.health)),
        )
        return tuple(pair for pair in every if pair[1])

    def without(self, *names: str) -> Pairs:
        """Return the pairs without some of them: for forms that set these themselves."""
        return tuple(pair for pair in self.pairs if pair[0] not in names)

    def link(self, **changes: str) -> str:
        """Return the address with changes, from the first page on. An empty text takes out."""
        pairs = dict(self.pairs) | changes
        query = urlencode({name: value for name, value in pairs.items() if value})
        return f"/?{query}" if query else "/"

    def live_query(self) -> str:
        """Return the query of the live address: the state and the page."""
        return urlencode([*self.pairs, *([("cursor", self.cursor)] if self.cursor else [])])


@dataclass(frozen=True, slots=True)
class GroupsAddress:
    """The state of the Groups page."""

    filters: GroupFilters
    cursor: str

    @classmethod
    def read(cls, query: QueryDict) -> GroupsAddress:
        """Return the state that a query asks for."""
        filters = GroupFilters(
            cluster=read_text(query, "cluster"),
            namespace=read_text(query, "namespace"),
            kind=read_text(query, "kind"),
            q=read_text(query, "q"),
        )
        return cls(filters, query.get("cursor", "")[:2000])

    @property
    def pairs(self) -> Pairs:
        """Return the state as pairs of a query, without the cursor."""
        filters = self.filters
        every = (
            ("q", filters.q),
            ("cluster", filters.cluster),
            ("namespace", filters.namespace),
            ("kind", filters.kind),
        )
        return tuple(pair for pair in every if pair[1])

    def live_query(self) -> str:
        """Return the query of the live address: the state and the page."""
        return urlencode([*self.pairs, *([("cursor", self.cursor)] if self.cursor else [])])
