"""One watched resource: its state, and how far its API server has come.

A watch does not show that an API server was restored to an earlier state. kube-apiserver 1.36 and 1.37 accept a watch
from a resourceVersion that they have not reached again. They drop all events and bookmarks up to it, and continue after
it. A list without a resourceVersion asks etcd, whichever server behind a load balancer answers. Therefore lists decide
whether the server was restored.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from gangboard.decode.list_watch_decoder import DecodeProblem
from gangboard.domain.api_resource import Resource, WatchState
from gangboard.kube.errors import KubeError
from gangboard.kube.watch import is_lower

COMPARE_EVERY = 60.0
"""Seconds between two comparisons of a watch without other reasons for one."""
RESTORES_APART = 300.0
"""Seconds after a restore in which no other restore is detected. If servers contradict each other, each detection costs a
list of everything."""


class RestoredError(Exception):
    """The API server is at a lower resourceVersion than before, so the stored objects may be wrong."""


@dataclass(slots=True)
class RevisionTracker:
    """The newest resourceVersion of one resource that its API server has shown.

    Each resource has its own tracker. Events, for example, may be in another etcd.
    """

    compares_from: float = 0.0
    """Moment of `time.monotonic()` before which nothing is compared."""
    newest: str = ""
    is_doubtful: bool = False
    """A watch failed or went back, so a comparison is due before the next watch."""
    compared_at: float = -math.inf
    """Moment of `time.monotonic()` of the last comparison with a list."""

    def rise_to(self, version: str) -> None:
        """Record the resourceVersion of a line of a watch."""
        if not is_lower(version, self.newest):
            self.newest = version

    def is_due(self, *, regularly: bool) -> bool:
        """Return whether to compare before the next watch. `regularly`: also without a doubt, every COMPARE_EVERY."""
        now = time.monotonic()
        if now < self.compares_from:
            return False
        return self.is_doubtful or (regularly and now - self.compared_at >= COMPARE_EVERY)

    def compare(self, version: str) -> None:
        """Record the resourceVersion of a list. Raises RestoredError if it is lower than before."""
        if is_lower(version, self.newest):
            if time.monotonic() >= self.compares_from:
                raise RestoredError(f"resourceVersion {version} after {self.newest}")
            return
        self.newest, self.is_doubtful, self.compared_at = version, False, time.monotonic()


MAX_SILENCE = 60.0
"""Seconds of silent watches after which the next window lists the resource. The list is done within 90 s in all."""
MAX_SENTENCES = 100
"""Problems of a resource that keep their sentence. Further ones keep only their name, to count them and to find the
gangs that they may belong to."""


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """A request of the API server to wait (Retry-After)."""

    error: KubeError
    until: float
    """Moment of `time.monotonic()`."""


@dataclass(slots=True)
class WatchedResource:
    """One resource of one cluster: where its watch continues, and its state."""

    resource: Resource
    version: str = ""
    state: WatchState = WatchState.LISTING
    sentence: str = ""
    resource_version: str = ""
    revision: RevisionTracker = field(default_factory=RevisionTracker)
    silent_since: float | None = None
    """Moment of `time.monotonic()` at which the first of its silent watches began, or None after a sign of life.

    A watch is silent if it sends no line and does not end in time."""
    listed_at: datetime | None = None
    contact_at: datetime | None = None
    """Until when all changes are known: the last end of a complete list, or the last sign of life of a watch."""
    last_try_at: datetime | None = None
    """When these caches last learned the result of a list or watch, whether success or failure."""
    last_read_at: datetime | None = None
    """When these caches last received data: a page of a list, or a sign of life of a watch."""
    outages: list[tuple[datetime, datetime]] = field(default_factory=list)
    """Start and end of recent outages of the whole cluster. Only the writer touches it."""
    retry_after: RetryAfter | None = None
    """The last one. It outlives the window, but not a change of the worker."""
    problems: dict[tuple[str, str], str] = field(default_factory=dict)
    """(namespace, name) of objects that could not be read completely → sentence, for the first MAX_SENTENCES."""
    _sentence_count: int = 0
    unreadable_names: set[tuple[str, str]] = field(default_factory=set)
    """(namespace, name) of objects that could not be read at all."""
    is_current: bool = False
    """This worker or an earlier one listed it completely, with all fields that this release stores."""
    changed: bool = True
    """The stored row is out of date."""

    @property
    def needs_relist(self) -> bool:
        """True if its watches have been silent for so long that it must be listed."""
        since = self.silent_since
        return since is not None and time.monotonic() - since >= MAX_SILENCE

    @property
    def outage_time(self) -> timedelta:
        """The part of the time since `contact_at` in which the whole cluster was silent."""
        if self.contact_at is None:
            return timedelta()
        durations = [end - start for start, end in self.outages if start >= self.contact_at]
        return sum(durations, timedelta())

    def add_outage(self, started_at: datetime, ended_at: datetime) -> None:
        """Record an outage of the whole cluster, and drop those that ended before the last contact."""
        contact_at = self.contact_at
        self.outages = [
            outage for outage in self.outages if contact_at is None or outage[0] >= contact_at
        ]
        self.outages.append((started_at, ended_at))

    @property
    def is_version_guessed(self) -> bool:
        """True if it is read in a version that this release does not know."""
        return bool(self.version) and not self.resource.is_known(self.version)

    def set_state(self, state: WatchState, sentence: str = "") -> bool:
        """Set the state. Return whether it differs from before. A guessed version is named in the sentence."""
        if state is WatchState.OK and self.is_version_guessed:
            sentence = f"{self.resource.key} is served as {self.version}, which this release does not know; it is read as {self.resource.versions[0]}"
        differs = (self.state, self.sentence) != (state, sentence)
        self.state, self.sentence = state, sentence
        self.changed |= differs
        return differs

    def add_problem(self, problem: DecodeProblem) -> None:
        """Record an object that could not be read, or only in part."""
        name = (problem.namespace, problem.name)
        had_sentence = bool(self.problems.get(name))
        has_sentence = had_sentence or self._sentence_count < MAX_SENTENCES
        self._sentence_count += has_sentence and not had_sentence
        self.problems[name] = problem.sentence if has_sentence else ""
        (self.unreadable_names.add if problem.lost else self.unreadable_names.discard)(name)

    def remove_problem(self, name: tuple[str, str]) -> bool:
        """Remove the problem of an object that is now readable or deleted. Return whether there was one."""
        self.unreadable_names.discard(name)
        sentence = self.problems.pop(name, None)
        self._sentence_count -= bool(sentence)
        return sentence is not None
