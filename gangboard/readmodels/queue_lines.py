"""Stored queues of clusters, and the entries in each line in their order."""

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
    """Queue → waiting entries."""
    _holders: defaultdict[QueueName, list[QueueEntry]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """Queue → entries with quota of it."""
    _users: defaultdict[QueueName, Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    """Queue of a scheduler → namespace → number of its gangs in the queue."""
    _unknown: Counter[QueueName] = field(default_factory=Counter)
    """Queue of a scheduler → number of gangs that were not observed."""

    def add(self, entry: QueueEntry) -> None:
        """Add an entry to the queue in which it waits or whose quota it has. Finished entries are left out."""
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
        """Add a gang of a scheduler to its queue. The gang may wait there and have quota at the same time."""
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
        """Return namespace → number of its gangs in a queue of a scheduler. 0: all of them have ended."""
        return self._users.get(name, Counter())

    def unknown(self, name: QueueName) -> int:
        """Return the number of gangs in a queue of which it is unknown whether they wait."""
        return self._unknown[name]

    def queue_of(self, entry: QueueEntry) -> Queue | None:
        """Return the queue that admits an entry, or None if the queue that it names does not exist."""
        ref = entry.meta.ref
        entrance = self.tree.find_entry_queue(ref.group, ref.namespace, entry.queue)
        if entrance is None or entrance.level is not QueueLevel.ALIAS:
            return entrance
        return self.tree.get(entrance.parent)

    def line(self, name: QueueName) -> list[QueueEntry]:
        """Return the waiting entries of a queue: those in line in order, then those that are not eligible."""
        return sorted(self._lines.get(name, ()), key=_place)

    def waiting_of_gang(self, uid: str) -> list[QueueEntry]:
        """Return the entries with which a gang waits in queues of schedulers, by queue. `uid` is its owner's."""
        return [
            entry
            for name in sorted(self._users)
            for entry in self._lines.get(name, ())
            if entry.owner_uid == uid
        ]

    def holders(self, name: QueueName) -> list[QueueEntry]:
        """Return the entries that have quota of a queue, unordered."""
        return list(self._holders.get(name, _NO_ENTRIES))

    def sharing(self, queue: Queue) -> tuple[Queue, ...]:
        """Return the queues that share quota with a queue, including itself, sorted by name."""
        top = self.tree.lineage(queue)[-1]
        # A missing parent still joins the queues that name it.
        root = top.parent if top.parent is not None else top.name
        subtree = (self.tree.get(name) for name in self.tree.subtree(root))
        return tuple(
            sorted(
                (
                    member
                    for member in subtree
                    if member is not None and member.level is not QueueLevel.ALIAS
                ),
                key=lambda member: member.name,
            )
        )


def _place(entry: QueueEntry) -> tuple[bool, int, datetime, str]:
    """Return the sort key of an entry. The uid decides between equal priorities and times, as in Kueue.

    See baseCompareFunc in pkg/cache/queue/cluster_queue.go.
    """
    since = entry.in_line_since or _LONG_AGO
    return not entry.stands_in_line, -entry.priority, since, entry.meta.ref.uid


def read_queues(
    cluster_ids: Iterable[int], *, with_entries: bool = True
) -> Mapping[int, QueuesOfCluster]:
    """Return all queues of the clusters, for any viewer (1 query, with entries about 7)."""
    ids = list(cluster_ids)
    queues = {id_: QueuesOfCluster() for id_ in ids}
    for id_, queue in _stored(ids, registry.queue_resources(Queue), Queue):
        queues[id_].tree.put(queue)
    if with_entries:
        for id_, entry in _stored(ids, registry.queue_resources(QueueEntry), QueueEntry):
            queues[id_].add(entry)
        for id_, gang in read_queued_gangs(ids):
            queues[id_].add_gang(gang)
    return queues


def _stored(
    ids: list[int], resources: Collection[Resource], model: type[Model]
) -> Iterable[tuple[int, Model]]:
    rows = WatchedObject.objects.filter(
        cluster_id__in=ids, resource__in=[resource.key for resource in resources]
    ).values_list("cluster_id", "data")
    return ((id_, unpack(bytes(data), model)) for id_, data in rows.iterator(chunk_size=2000))


def amount_of(amounts: Iterable[FlavorAmount], flavor: str, resource: str) -> Decimal:
    """Return the sum of the amounts of a resource in a flavor."""
    return sum(
        (
            amount.amount
            for amount in amounts
            if (amount.flavor, amount.resource) == (flavor, resource)
        ),
        Decimal(0),
    )
