"""What the threads that read a cluster hand to the one writer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gangboard.decode.list_watch_decoder import DecodeProblem
from gangboard.domain.watch_state import WatchState


@dataclass(frozen=True, slots=True)
class Changed:
    """A new or changed object."""

    uid: str
    resource_version: str
    namespace: str
    name: str
    model: Any


@dataclass(slots=True)
class Batch:
    """What one read of one resource brought."""

    resource: str
    changed: list[Changed] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    problems: list[DecodeProblem] = field(default_factory=list)
    understood: list[tuple[str, str]] = field(default_factory=list)
    """(namespace, name) of objects that were a problem before and are not any more."""
    resource_version: str = ""
    """From which the next watch goes on once this is stored; empty before that."""

    def __len__(self) -> int:
        return len(self.changed) + len(self.deleted) + len(self.problems)


@dataclass(frozen=True, slots=True)
class Listed:
    """A complete list came to its end: what was not in it is gone."""

    resource: str
    resource_version: str
    seen: frozenset[str]
    """uids of every object in it, those that were not understood included."""
    troubled: frozenset[tuple[str, str]]
    """(namespace, name) of objects in it that were not understood: they exist all the same."""


@dataclass(frozen=True, slots=True)
class Seen:
    """How a resource can be seen has changed."""

    resource: str
    state: WatchState
    sentence: str = ""


News = Batch | Listed | Seen
