"""The queues of clusters as stored, and who stands in line in them in which order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import TypeVar

from gangboard.domain.api_resource import Resource
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import FlavorAmount, Queue, QueueLevel, QueueName, QueueTree
from gangboard.plugins import registry
from gangboard.readmodels.queue_gangs import QueuedGang, read_queued_gangs
from gangboard.store.models import WatchedObject
from gangboard.store.objects import unpack

Model = TypeVar("Model", Queue, QueueEntry)

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_NO_ENTRIES: tuple[QueueEntry, ...] = ()


@dataclass(slots=True)
class QueuesOfCluster:
    """The queues of one cluster, and the entries in them."""

    tree: QueueTree = field(default_factory=QueueTree)
    _lines: defaultdict[QueueName, list[QueueEntry]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """Queue → who waits in it."""
    _holders: defaultdict[QueueName, list[QueueEntry]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """Queue → whose quota is out of it."""
    _users: defaultdict[QueueName, Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    """Queue of a scheduler → namespace → how many gangs of it are in the queue."""
    _unknown: Counter[QueueName] = field(default_factory=Counter)
    """Queue of a scheduler → how many gangs nobody could look at."""

    def add(self, entry: QueueEntry) -> None:
        """Put an entry where it waits, or where its quota is from; what is over is left out."""
        ref = entry.meta.ref
        if not entry.is_in_use or entry.is_variant:
            return
        if entry.has_quota and entry.admitted_by:
            holder = self.tree.find_entry_queue(ref.group, "", entry.admitted_by)
            if holder is not None:
                self._holders[holder.name].append(entry)
        elif entry.is_waiting:
            queue = self.queue_of(entry)
            if queue is not None:
                self._lines[queue.name].append(entry)

    def add_gang(self, gang: QueuedGang) -> None:
        """Put a gang of a scheduler where it waits, and where it has quota: it may do both."""
        ref = gang.group.meta.ref
        queue = self.tree.find_entry_queue(ref.group, ref.namespace, gang.group.queue)
        if queue is None:
            return
        is_in_it = gang.is_unknown or gang.waiting is not None or gang.holding is not None
        self._users[queue.name][ref.namespace] += is_in_it
        self._unknown[queue.name] += gang.is_unknown
        for entry in (gang.waiting, gang.holding):
            if entry is not None:
                self.add(entry)

    def users(self, name: QueueName) -> Mapping[str, int]:
        """Return namespace → how many of its gangs are in a queue of a scheduler; 0 where all of them are over."""
        return self._users.get(name, Counter())

    def unknown(self, name: QueueName) -> int:
        """Return of how many gangs in a queue nobody knows whether they wait."""
        return self._unknown[name]

    def queue_of(self, entry: QueueEntry) -> Queue | None:
        """Return the queue that admits an entry, or would; None where what it names leads nowhere."""
        ref = entry.meta.ref
        entrance = self.tree.find_entry_queue(ref.group, ref.namespace, entry.queue)
        if entrance is None or entrance.level is not QueueLevel.ALIAS:
            return entrance
        return self.tree.get(entrance.parent)

    def line(self, name: QueueName) -> list[QueueEntry]:
        """Return who waits in a queue: those in line in its order, then those who are kept out of it."""
        return sorted(self._lines.get(name, ()), key=_place)

    def holders(self, name: QueueName) -> list[QueueEntry]:
        """Return who has quota of a queue, in no order."""
        return list(self._holders.get(name, _NO_ENTRIES))

    def sharing(self, queue: Queue) -> tuple[Queue, ...]:
        """Return all with which a queue shares quota, itself among them, by name."""
        top = self.tree.lineage(queue)[-1]
        # What is named and not there still joins those that name it.
        root = top.parent if top.parent is not None else top.name
        found = (self.tree.get(name) for name in self.tree.subtree(root))
        return tuple(
            sorted(
                (one for one in found if one is not None and one.level is not QueueLevel.ALIAS),
                key=lambda one: one.name,
            )
        )


def _place(entry: QueueEntry) -> tuple[bool, int, datetime, str]:
    """Return what puts entries in order. Of one priority and time the uid decides, as in Kueue
    (pkg/cache/queue/cluster_queue.go, baseCompareFunc)."""
    since = entry.in_line_since or _LONG_AGO
    return not entry.stands_in_line, -entry.priority, since, entry.meta.ref.uid


def read_queues(
    cluster_ids: Iterable[int], *, with_entries: bool = True
) -> Mapping[int, QueuesOfCluster]:
    """Return the queues of these clusters, whoever may see them (1 query; with entries some 7)."""
    ids = list(cluster_ids)
    found = {id_: QueuesOfCluster() for id_ in ids}
    for id_, queue in _stored(ids, registry.queue_resources(Queue), Queue):
        found[id_].tree.put(queue)
    if with_entries:
        for id_, entry in _stored(ids, registry.queue_resources(QueueEntry), QueueEntry):
            found[id_].add(entry)
        for id_, gang in read_queued_gangs(ids):
            found[id_].add_gang(gang)
    return found


def _stored(
    ids: list[int], resources: Collection[Resource], model: type[Model]
) -> Iterable[tuple[int, Model]]:
    rows = WatchedObject.objects.filter(
        cluster_id__in=ids, resource__in=[resource.key for resource in resources]
    ).values_list("cluster_id", "data")
    return ((id_, unpack(bytes(data), model)) for id_, data in rows.iterator(chunk_size=2000))


def amount_of(amounts: Iterable[FlavorAmount], flavor: str, resource: str) -> Decimal:
    """Return how much of a resource in a flavor is among these."""
    return sum(
        (one.amount for one in amounts if (one.flavor, one.resource) == (flavor, resource)),
        Decimal(0),
    )
