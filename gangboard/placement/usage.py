"""What is on each node, kept up to date pod by pod, and the room that follows from it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import TypeVar

from gangboard.domain.capacity import (
    Amounts,
    ClusterRoom,
    HostPort,
    Load,
    NodeRoom,
    PodTerm,
    Resident,
)
from gangboard.domain.node import Node
from gangboard.domain.pod import Pod
from gangboard.placement.amounts import pod_amounts
from gangboard.placement.neighbours import Neighbours

Key = TypeVar("Key")
Residents = Callable[[], Sequence[Resident]]


@dataclass(frozen=True, slots=True)
class _Taken:
    """What one pod takes from its node."""

    node: str
    amounts: Amounts
    host_ports: frozenset[HostPort]
    apart: tuple[PodTerm, ...]
    unread: tuple[str, ...]
    stays: bool


@dataclass(slots=True)
class _Sum:
    """A load that pods are added to and taken from; what two pods hold is held until both go."""

    amounts: dict[str, int] = field(default_factory=dict)
    pods: int = 0
    host_ports: dict[HostPort, int] = field(default_factory=dict)
    apart: dict[PodTerm, int] = field(default_factory=dict)
    matched: dict[PodTerm, int] = field(default_factory=dict)

    def count(self, taken: _Taken, sign: int) -> None:
        """Add a pod (1) or take it away (-1)."""
        self.pods += sign
        for resource, amount in taken.amounts.items():
            _count(self.amounts, resource, sign * amount)
        for port in taken.host_ports:
            _count(self.host_ports, port, sign)
        for term in taken.apart:
            _count(self.apart, term, sign)

    def match(self, terms: Iterable[PodTerm], sign: int) -> None:
        """Note that a pod matches these terms (1), or no longer (-1)."""
        for term in terms:
            _count(self.matched, term, sign)

    def load(self) -> Load:
        """Return it as it is now."""
        return Load(
            dict(self.amounts),
            self.pods,
            frozenset(self.host_ports),
            dict(self.apart),
            dict(self.matched),
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

    def match(self, taken: _Taken, terms: Iterable[PodTerm], sign: int) -> None:
        """Note that a pod of it matches these terms (1), or no longer (-1)."""
        self.now.match(terms, sign)
        if taken.stays:
            self.staying.match(terms, sign)


class Usage:
    """Nodes and pods of one cluster, as far as they decide what fits where.

    Finished pods take nothing. Terminating ones take their room until they are gone. A pod that is
    nominated to a node takes its room there before it is bound: the scheduler keeps it for the pod
    (RunFilterPluginsWithNominatedPods in pkg/scheduler/framework/runtime). Pods on a node that is
    not known wait for it to come. Pods without one take nothing, but who matches their terms of
    anti-affinity is counted. Not for several threads at once.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, NodeRoom] = {}
        """As they come, nothing on them."""
        self._taken: dict[str, _Taken] = {}
        self._terms: dict[str, tuple[PodTerm, ...]] = {}
        """Of pods that are not finished, with a node or without; none that has none."""
        self._neighbours = Neighbours()
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
        seen = self._carry(uid, () if pod.is_finished else pod.needs.anti_affinity)
        if taken == self._taken.get(uid) and (taken is None or self._neighbours.knows(pod)):
            return seen
        seen |= self._leave(uid)
        if taken is None:
            return seen
        self._taken[uid] = taken
        tally = self._tallies.get(taken.node)
        if tally is None:
            tally = self._tallies[taken.node] = _Tally()
        tally.uids.add(uid)
        tally.count(taken, 1)
        tally.match(taken, self._neighbours.put(pod), 1)
        return self._touch(taken.node) or seen

    def remove_pod(self, uid: str) -> bool:
        """Forget a pod; True when that frees something on a known node."""
        left = self._leave(uid)
        return self._carry(uid, ()) or left

    def _leave(self, uid: str) -> bool:
        """Take a pod from its node, if it has one."""
        taken = self._taken.pop(uid, None)
        if taken is None:
            return False
        tally = self._tallies[taken.node]
        tally.uids.discard(uid)
        tally.count(taken, -1)
        tally.match(taken, self._neighbours.remove(uid), -1)
        if not tally.uids:
            del self._tallies[taken.node]
        return self._touch(taken.node)

    def _carry(self, uid: str, terms: tuple[PodTerm, ...]) -> bool:
        """Take in the terms that a pod has now: those that nobody had before are asked of all pods."""
        before = self._terms.get(uid, ())
        if terms == before:
            return False
        if terms:
            self._terms[uid] = terms
        else:
            del self._terms[uid]
        seen = False
        for term in terms:
            if term not in before:
                seen |= self._rematch(self._neighbours.learn(term), term, 1)
        for term in before:
            if term not in terms:
                seen |= self._rematch(self._neighbours.unlearn(term), term, -1)
        return seen

    def _rematch(self, uids: Iterable[str], term: PodTerm, sign: int) -> bool:
        seen = False
        for uid in uids:
            taken = self._taken[uid]
            self._tallies[taken.node].match(taken, (term,), sign)
            seen |= self._touch(taken.node)
        return seen

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
                found = sums.setdefault(taken.node, _Sum())
                found.count(taken, 1)
                found.match(self._neighbours.matched(uid), 1)
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
        apart=pod.needs.anti_affinity,
        unread=pod.unread_requests,
        stays=pod.stays,
    )


@lru_cache(maxsize=16384)
def _amounts(requests: tuple[tuple[str, Decimal], ...]) -> Amounts:
    """Return the amounts of one pod, the same object for the many pods that ask the same."""
    return pod_amounts(dict(requests))
