"""What is on each node, kept up to date pod by pod, and the room that follows from it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import TypeVar

from gangboard.domain.capacity import Amounts, ClusterRoom, HostPort, Load, NodeRoom, Resident
from gangboard.domain.node import Node
from gangboard.domain.pod import Pod
from gangboard.placement.amounts import pod_amounts

Key = TypeVar("Key")
Residents = Callable[[], Sequence[Resident]]


@dataclass(frozen=True, slots=True)
class _Taken:
    """What one pod takes from its node."""

    node: str
    amounts: Amounts
    host_ports: frozenset[HostPort]
    apart: frozenset[str]
    unread: tuple[str, ...]
    stays: bool


@dataclass(slots=True)
class _Sum:
    """A load that pods are added to and taken from; what two pods hold is held until both go."""

    amounts: dict[str, int] = field(default_factory=dict)
    pods: int = 0
    host_ports: dict[HostPort, int] = field(default_factory=dict)
    apart: dict[str, int] = field(default_factory=dict)

    def count(self, taken: _Taken, sign: int) -> None:
        """Add a pod (1) or take it away (-1)."""
        self.pods += sign
        for resource, amount in taken.amounts.items():
            _count(self.amounts, resource, sign * amount)
        for port in taken.host_ports:
            _count(self.host_ports, port, sign)
        for name in taken.apart:
            _count(self.apart, name, sign)

    def load(self) -> Load:
        """Return it as it is now."""
        return Load(
            dict(self.amounts), self.pods, frozenset(self.host_ports), frozenset(self.apart)
        )


@dataclass(slots=True)
class _Tally:
    """The pods of one node, whether the node is known or not."""

    uids: set[str] = field(default_factory=set)
    now: _Sum = field(default_factory=_Sum)
    staying: _Sum = field(default_factory=_Sum)
    unread: dict[str, int] = field(default_factory=dict)

    def count(self, taken: _Taken, sign: int) -> None:
        """Add a pod (1) or take it away (-1)."""
        self.now.count(taken, sign)
        if taken.stays:
            self.staying.count(taken, sign)
        for resource in taken.unread:
            _count(self.unread, resource, sign)


class Usage:
    """Nodes and pods of one cluster, as far as they decide what fits where.

    Finished pods take nothing. Terminating ones take their room until they are gone. A pod that is
    nominated to a node takes its room there before it is bound: the scheduler keeps it for the pod
    (RunFilterPluginsWithNominatedPods in pkg/scheduler/framework/runtime). Pods on a node that is
    not known wait for it to come. Not for several threads at once.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, NodeRoom] = {}
        """As they come, nothing on them."""
        self._taken: dict[str, _Taken] = {}
        self._tallies: dict[str, _Tally] = {}
        self._rooms: dict[str, NodeRoom] = {}
        self._stale: set[str] = set()
        """Known nodes whose entry in `_rooms` is out of date."""
        self._all: tuple[NodeRoom, ...] | None = ()
        self._room = ClusterRoom()

    def put_node(self, node: Node) -> bool:
        """Take in a node as it is now; True when placement sees another node than before."""
        name = node.meta.ref.name
        bare = _bare(node)
        if bare == self._nodes.get(name):
            return False
        self._nodes[name] = bare
        return self._touch(name)

    def remove_node(self, name: str) -> bool:
        """Forget a node; its pods stay known until they are removed themselves."""
        if self._nodes.pop(name, None) is None:
            return False
        self._rooms.pop(name, None)
        self._stale.discard(name)
        self._all = None
        return True

    def put_pod(self, pod: Pod) -> bool:
        """Take in a pod as it is now; True when what is taken from a known node has changed."""
        uid = pod.meta.ref.uid
        taken = _taken(pod)
        if taken == self._taken.get(uid):
            return False
        seen = self.remove_pod(uid)
        if taken is None:
            return seen
        self._taken[uid] = taken
        tally = self._tallies.get(taken.node)
        if tally is None:
            tally = self._tallies[taken.node] = _Tally()
        tally.uids.add(uid)
        tally.count(taken, 1)
        return self._touch(taken.node) or seen

    def remove_pod(self, uid: str) -> bool:
        """Forget a pod; True when that frees something on a known node."""
        taken = self._taken.pop(uid, None)
        if taken is None:
            return False
        tally = self._tallies[taken.node]
        tally.uids.discard(uid)
        tally.count(taken, -1)
        if not tally.uids:
            del self._tallies[taken.node]
        return self._touch(taken.node)

    def pods_on(self, node: str) -> frozenset[str]:
        """Return the uids of the pods that take room on a node, nominated ones included."""
        tally = self._tallies.get(node)
        return frozenset(tally.uids) if tally else frozenset()

    def load_of(self, uids: Collection[str]) -> Mapping[str, Load]:
        """Return what these pods take together on each known node."""
        sums: dict[str, _Sum] = {}
        for uid in dict.fromkeys(uids):
            taken = self._taken.get(uid)
            if taken is not None and taken.node in self._nodes:
                sums.setdefault(taken.node, _Sum()).count(taken, 1)
        return {name: sums[name].load() for name in sorted(sums)}

    def room(self, why: str = "", residents: Residents | None = None) -> ClusterRoom:
        """Return all nodes with what is on them: the same object while nothing has changed.

        With `why` (such as `nodes: forbidden`) it has no nodes and says why. `residents` is
        compared with the one before by `==`: a bound method keeps the object as it is.
        """
        nodes = () if why else self._current()
        given = residents or ClusterRoom().residents
        last = self._room
        if last.nodes is not nodes or last.why != why or last.residents != given:
            self._room = ClusterRoom(nodes, why, given)
        return self._room

    def _current(self) -> tuple[NodeRoom, ...]:
        """Return every node as it is now, built anew where something has changed."""
        for name in self._stale:
            self._rooms[name] = _filled(self._nodes[name], self._tallies.get(name))
        self._stale.clear()
        if self._all is None:
            self._all = tuple(self._rooms[name] for name in sorted(self._rooms))
        return self._all

    def _touch(self, name: str) -> bool:
        """Note that something has changed on a node; False where the node is not known."""
        if name not in self._nodes:
            return False
        self._stale.add(name)
        self._all = None
        return True


def _count(into: dict[Key, int], key: Key, by: int) -> None:
    """Add; what comes to nothing is no longer there, so that order and history leave no trace."""
    left = into.get(key, 0) + by
    if left:
        into[key] = left
    else:
        into.pop(key, None)


def _bare(node: Node) -> NodeRoom:
    # Thousands of nodes carry the same labels: their text is kept once.
    labels = {sys.intern(key): sys.intern(value) for key, value in node.labels.items()}
    return NodeRoom(
        name=node.meta.ref.name,
        labels=labels,
        taints=node.taints,
        unschedulable=node.unschedulable,
        ready=node.is_ready,
        allocatable=node.allocatable,
        unreadable=node.unreadable,
    )


def _filled(bare: NodeRoom, tally: _Tally | None) -> NodeRoom:
    if tally is None:
        return bare
    return NodeRoom(
        name=bare.name,
        labels=bare.labels,
        taints=bare.taints,
        unschedulable=bare.unschedulable,
        ready=bare.ready,
        allocatable=bare.allocatable,
        now=tally.now.load(),
        staying=tally.staying.load(),
        unreadable=bare.unreadable.union(tally.unread) if tally.unread else bare.unreadable,
    )


def _taken(pod: Pod) -> _Taken | None:
    """Return what a pod takes; None when it is finished or has no node to take it from."""
    node = pod.node or pod.nominated_node
    if not node or pod.is_finished:
        return None
    return _Taken(
        node=sys.intern(node),
        amounts=_amounts(tuple(pod.requests.items())),
        host_ports=pod.needs.host_ports,
        apart=pod.needs.apart,
        unread=pod.unread_requests,
        stays=pod.stays,
    )


@lru_cache(maxsize=16384)
def _amounts(requests: tuple[tuple[str, Decimal], ...]) -> Amounts:
    """Return the amounts of one pod, the same object for the many pods that ask the same."""
    return pod_amounts(dict(requests))
