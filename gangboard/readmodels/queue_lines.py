"""The queues of clusters as stored, and who stands in line in them in which order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import TypeVar

from gangboard.diagnosis import registry
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import FlavorAmount, Queue, QueueLevel, QueueName, QueueTree
from gangboard.domain.registry import Resource
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

    def add(self, entry: QueueEntry) -> None:
        """Put an entry where it waits, or where its quota is from; what is over is left out."""
        ref = entry.meta.ref
        if not entry.is_in_use or entry.is_variant:
            return
        if entry.has_quota and entry.admitted_by:
            holder = self.tree.entrance(ref.group, "", entry.admitted_by)
            if holder is not None:
                self._holders[holder.name].append(entry)
        elif entry.is_waiting:
            queue = self.queue_of(entry)
            if queue is not None:
                self._lines[queue.name].append(entry)

    def queue_of(self, entry: QueueEntry) -> Queue | None:
        """Return the queue that admits an entry, or would; None where what it names leads nowhere."""
        ref = entry.meta.ref
        entrance = self.tree.entrance(ref.group, ref.namespace, entry.queue)
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
        top = self.tree.above(queue)[-1]
        # What is named and not there still joins those that name it.
        root = top.parent if top.parent is not None else top.name
        found = (self.tree.get(name) for name in self.tree.below(root))
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
    """Return the queues of these clusters, whoever may see them (1 query, 2 with entries)."""
    ids = list(cluster_ids)
    found = {id_: QueuesOfCluster() for id_ in ids}
    for id_, queue in _stored(ids, registry.queue_resources(Queue), Queue):
        found[id_].tree.put(queue)
    if with_entries:
        for id_, entry in _stored(ids, registry.queue_resources(QueueEntry), QueueEntry):
            found[id_].add(entry)
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
