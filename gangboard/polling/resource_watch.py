"""One watched resource: how it can be seen, how far its API server has come, and the batches that its reflector hands on.

A watch does not tell whether an API server has gone back, because it was restored from a backup, say. kube-apiserver 1.36
and 1.37 accept one from a resourceVersion that they have not reached again. They drop all events and bookmarks up to it,
and go on behind it. A list without a resourceVersion asks etcd, whichever server behind a load balancer answers. So lists
decide.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from gangboard.decode.list_watch_decoder import DecodeProblem
from gangboard.domain.api_resource import Resource, WatchState
from gangboard.kube.errors import KubeError
from gangboard.kube.watch import is_lower

COMPARE_EVERY = 60.0
"""Seconds between two comparisons of a watch that has no other reason for them."""
RESTORES_APART = 300.0
"""Seconds after a restore in which no other restore is noticed: servers that contradict each other cost
one list of everything each time."""


class RestoredError(Exception):
    """The API server is at a lower resourceVersion than before, so the stored objects may be wrong."""


@dataclass(slots=True)
class Revision:
    """The newest resourceVersion that an API server has shown of one resource.

    Each resource has its own: events, for example, may be in another etcd.
    """

    compares_from: float = 0.0
    """Moment of `time.monotonic()` before which nothing is compared."""
    newest: str = ""
    is_doubtful: bool = False
    """A watch failed or went back: compare before the next watch."""
    compared_at: float = -math.inf
    """Moment of `time.monotonic()` at which a list was compared last."""

    def rise_to(self, version: str) -> None:
        """Take the resourceVersion of a line of a watch."""
        if not is_lower(version, self.newest):
            self.newest = version

    def is_due(self, *, regularly: bool) -> bool:
        """Whether to compare before the next watch; `regularly`: also without a doubt, from time to time."""
        now = time.monotonic()
        if now < self.compares_from:
            return False
        return self.is_doubtful or (regularly and now - self.compared_at >= COMPARE_EVERY)

    def compare(self, version: str) -> None:
        """Take the resourceVersion of a list. Raises RestoredError where it is lower than before."""
        if is_lower(version, self.newest):
            if time.monotonic() >= self.compares_from:
                raise RestoredError(f"resourceVersion {version} after {self.newest}")
            return
        self.newest, self.is_doubtful, self.compared_at = version, False, time.monotonic()


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


MOST_SILENCE = 60.0
"""Seconds of silent watches after which a resource is listed, at the next window: within 90 s in all."""
SENTENCES_KEPT = 100
"""Problems of a resource that are told in words; of the rest only the names are kept, to count them and
to know whose gangs they may belong to."""


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
    state: WatchState = WatchState.LISTING
    sentence: str = ""
    resource_version: str = ""
    revision: Revision = field(default_factory=Revision)
    silent_since: float | None = None
    """Moment of `time.monotonic()` at which the first of its silent watches began: they sent no line and did not
    end in time. A sign of life resets it to None."""
    listed_at: datetime | None = None
    contact_at: datetime | None = None
    """Up to when all changes are known: the last end of a complete list, or a watch that lived."""
    tried_at: datetime | None = None
    """When these caches last knew how a try ended: it was vouched for, or it failed."""
    seen_at: datetime | None = None
    """When these caches last got something of it: a page of a list, or a watch that lived."""
    silences: list[tuple[datetime, datetime]] = field(default_factory=list)
    """From when to when the whole cluster was silent, lately; only the writer touches it."""
    put_off: PutOff | None = None
    """The last one; outlives the window in which it was said, not a change of hands."""
    problems: dict[tuple[str, str], str] = field(default_factory=dict)
    """(namespace, name) of objects that could not be understood → sentence, of the first 100."""
    _told: int = 0
    lost: set[tuple[str, str]] = field(default_factory=set)
    """Those of them of which nothing could be read."""
    is_current: bool = False
    """It was listed to the end, with all that this release keeps, here or by an earlier holder."""
    changed: bool = True
    """The row in the store is behind."""

    @property
    def is_silent(self) -> bool:
        """True if its watches have been silent for so long that it must be listed."""
        since = self.silent_since
        return since is not None and time.monotonic() - since >= MOST_SILENCE

    @property
    def excused(self) -> timedelta:
        """How much of the time since `contact_at` the whole cluster was silent."""
        if self.contact_at is None:
            return timedelta()
        lately = [end - begin for begin, end in self.silences if begin >= self.contact_at]
        return sum(lately, timedelta())

    def excuse(self, began_at: datetime, ended_at: datetime) -> None:
        """Take note that the whole cluster was silent in that time."""
        known_at = self.contact_at
        self.silences = [one for one in self.silences if known_at is None or one[0] >= known_at]
        self.silences.append((began_at, ended_at))

    @property
    def is_guess(self) -> bool:
        """True if it is read in a version that this release does not know."""
        return bool(self.version) and not self.resource.is_known(self.version)

    def show(self, state: WatchState, sentence: str = "") -> bool:
        """Set the state; return whether that is news. While the version is a guess, the sentence says so."""
        if state is WatchState.OK and self.is_guess:
            sentence = (
                f"{self.resource.key} is served as {self.version}, which this release does not know: "
                f"it is read as {self.resource.versions[0]}"
            )
        news = (self.state, self.sentence) != (state, sentence)
        self.state, self.sentence = state, sentence
        self.changed |= news
        return news

    def take_problem(self, problem: DecodeProblem) -> None:
        """Remember an object that could not be read, or not all of it."""
        name = (problem.namespace, problem.name)
        told = bool(self.problems.get(name)) or self._told < SENTENCES_KEPT
        self._told += told and not self.problems.get(name)
        self.problems[name] = problem.sentence if told else ""
        (self.lost.add if problem.lost else self.lost.discard)(name)

    def drop_problem(self, name: tuple[str, str]) -> bool:
        """Forget it, since the object is understood or gone; return whether it was one."""
        self.lost.discard(name)
        sentence = self.problems.pop(name, None)
        self._told -= bool(sentence)
        return sentence is not None
