"""The queues of a cluster and the gangs that wait in them, which are assessed when their queue changes.

Gangs wait in a queue by an entry of an admission system, or by a group if their scheduler has queues.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal

from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.group import Group
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import Flavor, Queue, QueueName, QueueTree

_Place = tuple[str, str, str]
"""API group, namespace and name by which an entry or a group names its queue."""
_FlavorName = tuple[str, str]
"""API group and name."""
InQueue = QueueEntry | Group
_NONE = Decimal(0)


class QueueTracker:
    """The queues of a cluster, and the entries and groups in them."""

    def __init__(self, graph: OwnershipGraph) -> None:
        self._graph = graph
        self._tree = QueueTree()
        self._names: dict[str, QueueName] = {}
        """uid → name."""
        self._entries: dict[str, _Place] = {}
        """uid of a waiting entry or of a group → the queue that it names."""
        self._waiting: defaultdict[_Place, set[str]] = defaultdict(set)
        """Name of a queue → uids of its entries and groups."""
        self._flavors: dict[_FlavorName, Flavor] = {}
        self._flavor_names: dict[str, _FlavorName] = {}
        """uid → name."""
        self._users: defaultdict[_FlavorName, set[str]] = defaultdict(set)
        """Flavor → uids of the entries whose pods use it."""
        self._used: dict[str, set[_FlavorName]] = {}
        """uid of an entry → its flavors."""
        self._naming: set[str] = set()
        """uids of all entries and groups that name a queue or a flavor."""

    def put(self, queue: Queue) -> set[str]:
        """Store a queue. Return the roots of the gangs whose verdict can change by it."""
        before = self._tree.get(queue.name)
        self._tree.put(queue)
        self._names[queue.meta.ref.uid] = queue.name
        if before is not None and _is_same(before, queue):
            return set()
        return self._gangs_below(queue.name)

    def put_flavor(self, flavor: Flavor) -> set[str]:
        """Store a flavor. Return the roots of the gangs whose pods get different node labels from it."""
        ref = flavor.meta.ref
        name = ref.group, ref.name
        before = self._flavors.get(name)
        self._flavors[name], self._flavor_names[ref.uid] = flavor, name
        if before is not None and before.node_labels == flavor.node_labels:
            return set()
        return self._graph.gangs_of_any(self._users.get(name, ()))

    def put_member(self, member: InQueue) -> None:
        """Store the queue and flavors that an entry or a group names. An entry that does not wait is in no queue."""
        ref = member.meta.ref
        self._drop_entry(ref.uid)
        if member.queue or any(_flavors_of(member)):
            self._naming.add(ref.uid)
        for name in _flavors_of(member):
            self._used.setdefault(ref.uid, set()).add(name)
            self._users[name].add(ref.uid)
        if member.queue and (isinstance(member, Group) or member.is_waiting):
            place = ref.group, ref.namespace, member.queue
            self._entries[ref.uid] = place
            self._waiting[place].add(ref.uid)

    def remove(self, uid: str) -> set[str]:
        """Remove a queue, flavor, entry or group. Return the roots of the gangs whose verdict can change by it.

        Other uids are ignored.
        """
        self._drop_entry(uid)
        if (flavor := self._flavor_names.pop(uid, None)) is not None:
            return self._drop_flavor(uid, flavor)
        name = self._names.pop(uid, None)
        queue = self._tree.get(name)
        if name is None or queue is None or queue.meta.ref.uid != uid:
            return set()  # a new queue of the same name exists
        touched = self._gangs_below(name)
        self._tree.remove(name)
        return touched

    def named_by(self, waiting: Iterable[InQueue]) -> QueueTree:
        """Return the queues that these entries and groups name, with their ancestors and the flavors of their pods."""
        tree = QueueTree()
        for member in waiting:
            ref = member.meta.ref
            find_entry_queue = self._tree.find_entry_queue(ref.group, ref.namespace, member.queue)
            for queue in (
                self._tree.lineage(find_entry_queue) if find_entry_queue is not None else ()
            ):
                tree.put(queue)
            for name in _flavors_of(member):
                if name in self._flavors:
                    tree.flavors[name] = self._flavors[name]
        return tree

    def all(self) -> QueueTree:
        """Return all queues and flavors of the cluster."""
        tree = QueueTree(self._tree)
        tree.flavors.update(self._flavors)
        return tree

    def _drop_flavor(self, uid: str, name: _FlavorName) -> set[str]:
        flavor = self._flavors.get(name)
        if flavor is None or flavor.meta.ref.uid != uid:
            return set()  # a new flavor of the same name exists
        del self._flavors[name]
        return self._graph.gangs_of_any(self._users.get(name, ()))

    def is_named_by(self, uids: Iterable[str]) -> bool:
        """Return whether any of these objects names a queue or a flavor."""
        return not self._naming.isdisjoint(uids)

    def digest_inputs(self) -> tuple[object, ...]:
        """Return the parts of all queues and flavors that verdicts use, in a fixed order."""
        queues = tuple(map(_without_use, sorted(self._tree, key=lambda queue: queue.name)))
        return queues, [
            (name, flavor.node_labels) for name, flavor in sorted(self._flavors.items())
        ]

    def _drop_entry(self, uid: str) -> None:
        self._naming.discard(uid)
        for name in self._used.pop(uid, ()):
            self._users[name].discard(uid)
            if not self._users[name]:
                del self._users[name]
        place = self._entries.pop(uid, None)
        if place is not None:
            self._waiting[place].discard(uid)
            if not self._waiting[place]:
                del self._waiting[place]

    def _gangs_below(self, name: QueueName) -> set[str]:
        places = {queue.place for queue in self._tree.subtree(name)}
        return self._graph.gangs_of_any(uid for place in places for uid in self._waiting_at(place))

    def _waiting_at(self, place: _Place) -> Iterator[str]:
        """Yield the uids in a queue. Entries of any namespace can name a cluster-scoped queue."""
        group, namespace, name = place
        if namespace:
            yield from self._waiting.get(place, ())
            return
        for candidate, uids in self._waiting.items():
            if (candidate[0], candidate[2]) == (group, name):
                yield from uids


def _flavors_of(member: InQueue) -> Iterator[_FlavorName]:
    if isinstance(member, QueueEntry):
        for source in member.label_sources:
            yield from ((member.meta.ref.group, flavor) for flavor in source.flavors)


def _is_same(before: Queue, after: Queue) -> bool:
    """Return whether the two give the same verdicts. A verdict that shows usage is rechecked every minute."""
    return _verdict_fields(before) == _verdict_fields(after)


def _without_use(queue: Queue) -> Queue:
    """Return a queue without the numbers that change with each entry. Most verdicts do not show them."""
    quotas = tuple(
        replace(quota, used=_NONE, reserved=_NONE, borrowed=_NONE) for quota in queue.quotas
    )
    meta = replace(queue.meta, resource_version="")
    return replace(
        queue, meta=meta, quotas=quotas, pending=None, reserving=None, admitted=None, share=None
    )


def _verdict_fields(queue: Queue) -> tuple[object, ...]:
    limits = tuple(
        (quota.resource, quota.nominal, quota.borrowing_limit)
        for quota in queue.quotas
        if quota.nominal is not None
    )
    closed = queue.state, queue.cause, queue.stop_setting, queue.stopped_by
    return *closed, queue.parent, limits
