"""Storage of objects: tables of bytes, one increasing resourceVersion, and a bounded history for watches.

Objects are stored as wire bytes, so a list of 100,000 pods is a join. A page shows one moment, however slow
its reader is, because bytes are replaced and never changed.
"""

from __future__ import annotations

import bisect
import itertools
import json
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from simulator import refusals
from simulator.resources import CORE_EVENTS, EVENTS, Resource

Json = dict[str, Any]
Key = tuple[str, str]
"""Namespace (empty for cluster-scoped objects) and name."""

_FIRST_VERSION = 1000
_SNAPSHOTS = 16  # Lists that clients page through at the same time. Older ones answer 410.


class Stored(Protocol):
    """A stored object."""

    @property
    def version(self) -> int:
        """Return its resourceVersion."""

    def body(self) -> bytes:
        """Return the object as JSON without apiVersion and kind."""


@dataclass(frozen=True, slots=True)
class Written:
    """An object as complete bytes."""

    version: int
    raw: bytes

    def body(self) -> bytes:
        """Return the object as JSON without apiVersion and kind."""
        return self.raw


@dataclass(frozen=True, slots=True)
class Record:
    """One change. `previous` is the object before it, None for a new one."""

    version: int
    type: str
    """`ADDED`, `MODIFIED` or `DELETED`."""
    key: Key
    stored: Stored
    previous: Stored | None


class History:
    """The last changes of one table. Positions count from the first change."""

    def __init__(self, start: int, limit: int) -> None:
        self._records: deque[Record] = deque(maxlen=limit)
        self._first = 0
        self.forgotten = start
        """The newest version whose change is forgotten."""

    @property
    def end_position(self) -> int:
        """Return the position after the last change."""
        return self._first + len(self._records)

    def add(self, record: Record) -> None:
        """Append a change, and drop the oldest one if the history is full."""
        if len(self._records) == self._records.maxlen:
            self.forgotten = self._records[0].version
            self._first += 1
        self._records.append(record)

    def position(self, version: int) -> int:
        """Return the position of the first change after `version`. Raises a 410 `Refusal`."""
        if version < self.forgotten:
            raise refusals.too_old_version(version, self.forgotten)
        index = bisect.bisect_right(self._records, version, key=lambda record: record.version)
        return self._first + index

    def read(self, position: int, limit: int = 500) -> list[Record]:
        """Return changes from a position on. Raises a 410 `Refusal` if the reader is too slow."""
        if position < self._first:
            raise refusals.too_old_version(self.forgotten, self._records[0].version)
        start = position - self._first
        return list(itertools.islice(self._records, start, start + limit))

    def forget(self, version: int) -> None:
        """Drop all changes, as if compacted at `version`."""
        self._first = self.end_position
        self._records.clear()
        self.forgotten = version


class Table:
    """All objects of one resource and their history."""

    def __init__(self, resource: Resource, lock: threading.RLock, start: int, limit: int) -> None:
        self.resource = resource
        self.objects: dict[Key, Stored] = {}
        self.history = History(start, limit)
        self.changed = threading.Condition(lock)
        self._sorted: list[Key] | None = None

    def ordered(self) -> list[Key]:
        """Return all keys in list order."""
        if self._sorted is None:
            self._sorted = sorted(self.objects)
        return self._sorted

    def put(self, key: Key, stored: Stored) -> None:
        """Replace or add an object without a record."""
        if key not in self.objects:
            self._sorted = None
        self.objects[key] = stored

    def drop(self, key: Key) -> None:
        """Remove an object without a record."""
        del self.objects[key]
        self._sorted = None

    def replace(self, objects: dict[Key, Stored]) -> None:
        """Replace all objects without a record."""
        self.objects = dict(objects)
        self._sorted = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All objects of a list at one version, for its later pages."""

    version: int
    items: list[tuple[Key, Stored]]


@dataclass(frozen=True, slots=True)
class Backup:
    """All objects of a store at one version."""

    version: int
    objects: dict[tuple[str, str], dict[Key, Stored]]
    """By API group and plural of their resource."""


@dataclass
class _Snapshots:
    """The lists that clients page through, oldest first."""

    snapshots: OrderedDict[tuple[str, int, str], Snapshot] = field(default_factory=OrderedDict)

    def keep(self, name: tuple[str, int, str], snapshot: Snapshot) -> None:
        self.snapshots[name] = snapshot
        while len(self.snapshots) > _SNAPSHOTS:
            self.snapshots.popitem(last=False)


Listener = Callable[[Resource, Record], None]


class Store:
    """All tables of a server. Every method may be called from any thread."""

    def __init__(self, resources: tuple[Resource, ...], *, history: int = 20_000) -> None:
        self.lock = threading.RLock()
        self._version = _FIRST_VERSION
        self._tables = {
            (resource.group, resource.plural): Table(resource, self.lock, _FIRST_VERSION, history)
            for resource in resources
            if resource != CORE_EVENTS
        }
        self._snapshots = _Snapshots()
        self._listeners: list[Listener] = []

    @property
    def version(self) -> int:
        """Return the newest resourceVersion."""
        return self._version

    def table(self, resource: Resource) -> Table:
        """Return the table of a resource. Both forms of events share one."""
        chosen = EVENTS if resource == CORE_EVENTS else resource
        return self._tables[(chosen.group, chosen.plural)]

    def has(self, resource: Resource) -> bool:
        """Return whether a resource has a table."""
        return (resource.group, resource.plural) in self._tables

    def resources(self) -> Iterator[Resource]:
        """Return the resource of each table."""
        return (table.resource for table in self._tables.values())

    def subscribe(self, listener: Listener) -> None:
        """Call `listener` after each change. The lock is held, so it must return quickly."""
        self._listeners.append(listener)

    def next_version(self) -> int:
        """Return the next resourceVersion. The caller holds the lock."""
        self._version += 1
        return self._version

    def find(self, resource: Resource, key: Key) -> Json | None:
        """Return one object decoded, without apiVersion and kind."""
        stored = self.table(resource).objects.get(key)
        return None if stored is None else json.loads(stored.body())

    def commit(self, resource: Resource, key: Key, stored: Stored | None) -> Record:
        """Store an object with a version taken under this lock, or remove one with `stored` None.

        The record of a removal contains the removed object under a new version.
        """
        table = self.table(resource)
        previous = table.objects.get(key)
        if stored is None:
            if previous is None:
                raise KeyError(key)
            table.drop(key)
            last = self._final_form(previous)
            record = Record(last.version, "DELETED", key, last, previous)
        else:
            table.put(key, stored)
            kind = "ADDED" if previous is None else "MODIFIED"
            record = Record(stored.version, kind, key, stored, previous)
        table.history.add(record)
        table.changed.notify_all()
        for listener in self._listeners:
            listener(table.resource, record)
        return record

    def _final_form(self, previous: Stored) -> Written:
        obj = json.loads(previous.body())
        version = self.next_version()
        obj["metadata"]["resourceVersion"] = str(version)
        return Written(version, encode(obj))

    def snapshot(self, resource: Resource, namespace: str) -> Snapshot:
        """Return the current objects of a namespace; of all namespaces if it is empty."""
        with self.lock:
            table = self.table(resource)
            objects = table.objects
            keys = table.ordered()
            if namespace:
                start = bisect.bisect_left(keys, (namespace, ""))
                stop = bisect.bisect_left(keys, (namespace + "\0", ""))
                keys = keys[start:stop]
            return Snapshot(self._version, [(key, objects[key]) for key in keys])

    def keep_snapshot(self, resource: Resource, namespace: str, snapshot: Snapshot) -> None:
        """Keep a list for its later pages."""
        with self.lock:
            self._snapshots.keep((resource.full, snapshot.version, namespace), snapshot)

    def kept_snapshot(self, resource: Resource, namespace: str, version: int) -> Snapshot | None:
        """Return a list for its next page; None if it was dropped."""
        return self._snapshots.snapshots.get((resource.full, version, namespace))

    def forget(self) -> None:
        """Drop all history and all kept lists, like an etcd compaction."""
        with self.lock:
            self._snapshots.snapshots.clear()
            for table in self._tables.values():
                table.history.forget(self._version)
                table.changed.notify_all()

    def back_up(self) -> Backup:
        """Return all current objects."""
        with self.lock:
            objects = {name: dict(table.objects) for name, table in self._tables.items()}
            return Backup(self._version, objects)

    def restore(self, backup: Backup) -> None:
        """Restore the objects and the version of a backup, without history, like etcd.

        It does not call subscribers.
        """
        with self.lock:
            self._version = backup.version
            for name, table in self._tables.items():
                table.replace(backup.objects[name])
            self.forget()

    def wake(self) -> None:
        """Wake all readers that wait for changes, so that they can stop."""
        with self.lock:
            for table in self._tables.values():
                table.changed.notify_all()


def encode(obj: Json) -> bytes:
    """Return an object as its wire bytes without apiVersion and kind."""
    bare = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}
    return json.dumps(bare, separators=(",", ":")).encode()


def with_type(body: bytes, resource: Resource, version: str | None = None) -> bytes:
    """Return wire bytes with apiVersion and kind in front."""
    head = f'{{"kind":"{resource.kind}","apiVersion":"{resource.api_version(version)}"'
    return head.encode() + (b"," if body != b"{}" else b"") + body[1:]
