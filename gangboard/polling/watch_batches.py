"""Updates that a reflector sends to the store writer, and how batches are built from lists and watches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gangboard.decode.events import EVENT
from gangboard.decode.list_watch_decoder import (
    DecodeProblem,
    Page,
    TooLargeError,
    WatchEvent,
    build_model,
    read_event,
    read_page,
)
from gangboard.domain.api_resource import DecodeError, WatchState
from gangboard.kube.errors import KubeError, KubeErrorCode
from gangboard.polling.resource_watch import WatchedResource


@dataclass(frozen=True, slots=True)
class UpdatedObject:
    """A new or changed object."""

    uid: str
    resource_version: str
    namespace: str
    name: str
    model: Any


@dataclass(slots=True)
class Batch:
    """Changes from one page of a list, or from one read of a watch."""

    resource: str
    changed: list[UpdatedObject] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    problems: list[DecodeProblem] = field(default_factory=list)
    understood: list[tuple[str, str]] = field(default_factory=list)
    """(namespace, name) of objects that had a problem before and are readable now."""
    resource_version: str = ""
    """From where the next watch starts once the batch is stored. Empty if the batch does not change it."""

    def __len__(self) -> int:
        return len(self.changed) + len(self.deleted) + len(self.problems)


@dataclass(frozen=True, slots=True)
class ListCompleted:
    """The end of a complete list. Objects that were not in it are deleted."""

    resource: str
    resource_version: str
    seen: frozenset[str]
    """uids of all objects in it, including unreadable ones."""
    unreadable: frozenset[tuple[str, str]]
    """(namespace, name) of objects in it that could not be read. They exist."""


@dataclass(frozen=True, slots=True)
class StateChange:
    """A new state of a watched resource."""

    resource: str
    state: WatchState
    sentence: str = ""


WatchUpdate = Batch | ListCompleted | StateChange


class UnreadableVersionError(Exception):
    """An object of an unknown version cannot be read as the newest known version."""


class BatchBuilder:
    """Builds the batches of one watched resource."""

    def __init__(self, watched: WatchedResource, versions: Mapping[str, str], host: str) -> None:
        """`versions`: uid → resourceVersion of the objects that need no update. `host`: for sentences."""
        self._watched = watched
        self._versions = versions
        self._host = host

    def read_page(self, body: bytes) -> Page:
        """Return a page of a list. Raises KubeError."""
        try:
            return read_page(body, self._watched.resource)
        except TooLargeError as error:
            raise KubeError(KubeErrorCode.TOO_LARGE, f"{self._host}: {error}") from error
        except DecodeError as error:
            raise KubeError(KubeErrorCode.NOT_JSON, str(error)) from error

    def read_line(self, line: bytes) -> WatchEvent:
        """Return the event of one line of a watch. Raises KubeError for an ERROR event and for a line without JSON."""
        try:
            event = read_event(line, self._watched.resource)
        except DecodeError as error:
            raise KubeError(KubeErrorCode.BROKEN_OFF, str(error)) from error
        if event.type == "ERROR":
            code = KubeErrorCode.GONE if event.status_code == 410 else KubeErrorCode.SERVER_ERROR
            raise KubeError(code, event.message or "the watch ended with an error")
        return event

    def batch_of_page(self, page: Page, seen: set[str], unreadable: set[tuple[str, str]]) -> Batch:
        """Return the changes in a page. Add its objects to `seen` and `unreadable` of the list.

        Raises UnreadableVersionError.
        """
        self._check_readable(page.problems)
        batch = Batch(self._watched.resource.key, problems=list(page.problems))
        for problem in page.problems:
            seen.add(problem.uid)
            unreadable.add((problem.namespace, problem.name))
        for wire in page.objects:
            meta = wire.metadata
            seen.add(meta.uid)
            if self._versions.get(meta.uid) != meta.resource_version:
                self._add_object(batch, wire)
        return batch

    def add_event(self, batch: Batch, event: WatchEvent) -> None:
        """Add an event of a watch to the batch. Raises UnreadableVersionError."""
        if event.type == "DELETED":
            self._add_deletion(batch, event)
        elif event.problem is not None:
            self._check_readable((event.problem,))
            batch.problems.append(event.problem)
        elif event.object is not None and event.type != "BOOKMARK":
            self._add_object(batch, event.object)

    def _check_readable(self, problems: Iterable[DecodeProblem]) -> None:
        """Raise UnreadableVersionError if the version is guessed and an object is lost by that."""
        if self._watched.is_version_guessed and any(problem.lost for problem in problems):
            raise UnreadableVersionError

    def _add_object(self, batch: Batch, wire: object) -> None:
        model, problem = build_model(self._watched.resource, wire, self._watched.version)
        if problem is not None:
            self._check_readable((problem,))
            batch.problems.append(problem)
        if model is None:
            return
        ref = model.meta.ref
        if (ref.namespace, ref.name) in self._watched.problems and problem is None:
            batch.understood.append((ref.namespace, ref.name))
        batch.changed.append(
            UpdatedObject(ref.uid, model.meta.resource_version, ref.namespace, ref.name, model)
        )

    def _add_deletion(self, batch: Batch, event: WatchEvent) -> None:
        """Add a deletion, also that of an object that could not be read.

        Events are left out. They expire after an hour, but are kept as long as their object.
        """
        deleted = event.problem if event.object is None else event.object.metadata
        if deleted is None or self._watched.resource.key == EVENT.key:
            return
        if deleted.uid:
            batch.deleted.append(deleted.uid)
        if (deleted.namespace, deleted.name) in self._watched.problems:
            batch.understood.append((deleted.namespace, deleted.name))
