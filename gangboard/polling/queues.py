"""The queues of a cluster, and which gangs stand in line in them: a queue that is stopped is news for these.

Entries of an admission system stand in line, and groups of which their scheduler has queues.
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
"""API group, namespace and name: what an entry or a group calls its queue."""
_FlavorName = tuple[str, str]
"""API group and name."""
InQueue = QueueEntry | Group
_NONE = Decimal(0)


class QueueTracker:
    """The queues of a cluster, and what waits in them."""

    def __init__(self, graph: OwnershipGraph) -> None:
        self._graph = graph
        self._tree = QueueTree()
        self._names: dict[str, QueueName] = {}
        """uid → name."""
        self._entries: dict[str, _Place] = {}
        """uid of what stands in line → what it names."""
        self._waiting: defaultdict[_Place, set[str]] = defaultdict(set)
        """The same the other way round."""
        self._flavors: dict[_FlavorName, Flavor] = {}
        self._flavor_names: dict[str, _FlavorName] = {}
        """uid → name."""
        self._users: defaultdict[_FlavorName, set[str]] = defaultdict(set)
        """uids of the entries whose pods are of a flavor."""
        self._used: dict[str, set[_FlavorName]] = {}
        """The same the other way round."""
        self._naming: set[str] = set()
        """uids of the entries and groups that name a queue or a flavor, waiting or not."""

    def put(self, queue: Queue) -> set[str]:
        """Take in the state of a queue; return the roots of gangs that are told something else by it."""
        before = self._tree.get(queue.name)
        self._tree.put(queue)
        self._names[queue.meta.ref.uid] = queue.name
        if before is not None and _is_same(before, queue):
            return set()
        return self._gangs_below(queue.name)

    def put_flavor(self, flavor: Flavor) -> set[str]:
        """Take in a flavor; return the roots of gangs whose pods get other node labels by it."""
        ref = flavor.meta.ref
        name = ref.group, ref.name
        before = self._flavors.get(name)
        self._flavors[name], self._flavor_names[ref.uid] = flavor, name
        if before is not None and before.node_labels == flavor.node_labels:
            return set()
        return self._graph.gangs_of_any(self._users.get(name, ()))

    def put_waiting(self, one: InQueue) -> None:
        """Take in what an entry names while it stands in line, or what a group names."""
        ref = one.meta.ref
        self._drop_entry(ref.uid)
        if one.queue or any(_flavors_of(one)):
            self._naming.add(ref.uid)
        for name in _flavors_of(one):
            self._used.setdefault(ref.uid, set()).add(name)
            self._users[name].add(ref.uid)
        if one.queue and (isinstance(one, Group) or one.is_waiting):
            place = ref.group, ref.namespace, one.queue
            self._entries[ref.uid] = place
            self._waiting[place].add(ref.uid)

    def remove(self, uid: str) -> set[str]:
        """Forget a queue, flavor or entry that is gone, if it was one; return the roots that are told otherwise."""
        self._drop_entry(uid)
        if (flavor := self._flavor_names.pop(uid, None)) is not None:
            return self._drop_flavor(uid, flavor)
        name = self._names.pop(uid, None)
        known = self._tree.get(name)
        if name is None or known is None or known.meta.ref.uid != uid:
            return set()  # one of the same name is there already
        touched = self._gangs_below(name)
        self._tree.remove(name)
        return touched

    def named_by(self, waiting: Iterable[InQueue]) -> QueueTree:
        """Return the queues that these entries and groups name, with all above them, and the flavors of their pods."""
        found = QueueTree()
        for one in waiting:
            ref = one.meta.ref
            entrance = self._tree.find_entry_queue(ref.group, ref.namespace, one.queue)
            for queue in self._tree.lineage(entrance) if entrance is not None else ():
                found.put(queue)
            for name in _flavors_of(one):
                if name in self._flavors:
                    found.flavors[name] = self._flavors[name]
        return found

    def _drop_flavor(self, uid: str, name: _FlavorName) -> set[str]:
        known = self._flavors.get(name)
        if known is None or known.meta.ref.uid != uid:
            return set()  # one of the same name is there already
        del self._flavors[name]
        return self._graph.gangs_of_any(self._users.get(name, ()))

    def is_named_by(self, uids: Iterable[str]) -> bool:
        """Whether any of these objects names a queue or a flavor."""
        return not self._naming.isdisjoint(uids)

    def shown(self) -> tuple[object, ...]:
        """Return what verdicts can show of all queues and flavors, in a fixed order."""
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
        places = {one.place for one in self._tree.subtree(name)}
        return self._graph.gangs_of_any(uid for place in places for uid in self._waiting_at(place))

    def _waiting_at(self, place: _Place) -> Iterator[str]:
        """Yield the entries that name a queue: a cluster-scoped one from any namespace."""
        group, namespace, name = place
        if namespace:
            yield from self._waiting.get(place, ())
            return
        for other, uids in self._waiting.items():
            if (other[0], other[2]) == (group, name):
                yield from uids


def _flavors_of(one: InQueue) -> Iterator[_FlavorName]:
    if isinstance(one, QueueEntry):
        for source in one.label_sources:
            yield from ((one.meta.ref.group, flavor) for flavor in source.flavors)


def _is_same(before: Queue, after: Queue) -> bool:
    """Whether the two are the same to whoever waits: numbers of use are not told in verdicts."""
    return _told(before) == _told(after)


def _without_use(queue: Queue) -> Queue:
    """Return a queue without the numbers that move with each entry, which no verdict shows."""
    quotas = tuple(
        replace(quota, used=_NONE, reserved=_NONE, borrowed=_NONE) for quota in queue.quotas
    )
    meta = replace(queue.meta, resource_version="")
    return replace(queue, meta=meta, quotas=quotas, pending=None, reserving=None, admitted=None)


def _told(queue: Queue) -> tuple[object, ...]:
    limits = tuple(
        (one.resource, one.nominal, one.borrowing_limit)
        for one in queue.quotas
        if one.nominal is not None
    )
    return queue.state, queue.cause, queue.parent, limits
