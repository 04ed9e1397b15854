"""Filters of the record of actions, as they stand in addresses."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict

from gangboard.domain.action import ActionState, Lever, Verb
from gangboard.readmodels.action_query import ActionFilters
from gangboard.readmodels.action_words import LEVER_LABELS
from gangboard.web.addresses import Option, Pairs, Select, make_select, read_text


@dataclass(frozen=True, slots=True)
class ActionsAddress:
    """The state of the Actions page."""

    filters: ActionFilters
    cursor: str

    @classmethod
    def read(cls, query: QueryDict) -> ActionsAddress:
        """Return the state that a query asks for."""
        filters = ActionFilters(
            cluster=read_text(query, "cluster"),
            namespace=read_text(query, "namespace"),
            verb=read_text(query, "verb"),
            state=read_text(query, "state"),
            actor=read_text(query, "actor"),
            lever=read_text(query, "lever"),
            q=read_text(query, "q"),
            open_only=read_text(query, "open") == "1",
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
            ("verb", filters.verb),
            ("state", filters.state),
            ("actor", filters.actor),
            ("lever", filters.lever),
            ("open", "1" if filters.open_only else ""),
        )
        return tuple(pair for pair in every if pair[1])

    @property
    def query(self) -> str:
        """Return the filters as a query, without the cursor."""
        return urlencode(self.pairs)

    def live_query(self) -> str:
        """Return the query of the live address: the state and the page."""
        return urlencode([*self.pairs, *([("cursor", self.cursor)] if self.cursor else [])])

    def selects(self, clusters: tuple[str, ...]) -> tuple[Select, ...]:
        """Return the filters that are chosen from a list."""
        filters = self.filters
        return (
            make_select("cluster", "Cluster", clusters, filters.cluster),
            make_select("verb", "Verb", tuple(Verb), filters.verb),
            make_select("state", "State", tuple(ActionState), filters.state),
            Select(
                "lever",
                "Lever",
                tuple(
                    Option(lever.value, LEVER_LABELS[lever], lever.value == filters.lever)
                    for lever in Lever
                ),
            ),
        )
