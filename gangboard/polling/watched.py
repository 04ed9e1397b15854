"""What is known of how one resource of one cluster can be seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from gangboard.decode.page import Problem
from gangboard.domain.registry import Resource
from gangboard.kube.errors import KubeError


@dataclass(frozen=True, slots=True)
class PutOff:
    """The API server asked not to be asked again before a time (Retry-After)."""

    error: KubeError
    until: float
    """By time.monotonic()."""


@dataclass(slots=True)
class Watched:
    """One resource of one cluster: from where its watch goes on and how it can be seen."""

    resource: Resource
    version: str = ""
    state: str = "listing"
    sentence: str = ""
    resource_version: str = ""
    listed_at: datetime | None = None
    contact_at: datetime | None = None
    """Up to when all changes are known: the last end of a complete list, or a watch that lived."""
    put_off: PutOff | None = None
    """The last one; outlives the window in which it was said, not a change of hands."""
    problems: dict[tuple[str, str], str] = field(default_factory=dict)
    """(namespace, name) of objects that could not be understood → sentence."""
    lost: set[tuple[str, str]] = field(default_factory=set)
    """Those of them of which nothing could be read."""
    is_current: bool = False
    """It was listed to the end, with all that this release keeps, here or by an earlier holder."""
    changed: bool = True
    """The row in the store is behind."""

    def show(self, state: str, sentence: str = "") -> bool:
        """Set the state; return whether that is news."""
        news = (self.state, self.sentence) != (state, sentence)
        self.state, self.sentence = state, sentence
        self.changed |= news
        return news

    def take_problem(self, problem: Problem) -> None:
        """Remember an object that could not be read, or not all of it."""
        name = (problem.namespace, problem.name)
        self.problems[name] = problem.sentence
        (self.lost.add if problem.lost else self.lost.discard)(name)

    def drop_problem(self, name: tuple[str, str]) -> bool:
        """Forget it, since the object is understood or gone; return whether it was one."""
        self.lost.discard(name)
        return self.problems.pop(name, None) is not None
