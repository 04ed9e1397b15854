"""The pods on each node, updated pod by pod, and the cluster capacity that follows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from gangboard.domain.capacity import ClusterCapacity, NodeInfo, Requested, RunningGang
from gangboard.domain.node import Node
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import PodTerm
from gangboard.domain.resources import is_accelerator
from gangboard.placement.node_pods import (
    NodePods,
    PodUsage,
    RequestedSum,
    differs_only_in_counting,
    pod_usage_of,
    terms_of,
)
from gangboard.placement.term_matching import TermMatches

RunningGangsReader = Callable[[], Sequence[RunningGang]]


class Usage:
    """The usage of all nodes of a cluster, updated pod by pod.

    - Finished pods use no capacity. Terminating pods use theirs until they are gone.
    - A nominated pod uses capacity on its node before it is bound, because the scheduler reserves it
      (RunFilterPluginsWithNominatedPods in pkg/scheduler/framework/runtime). The scheduler reserves it only against pods
      of the same or a lower priority, which this class does not distinguish.
    - Pods on an unknown node count once the node appears.
    - Pods without a node use no capacity, but the matches of their anti-affinity and topology spread terms count. A
      spread term counts only while its pod has no node.

    Not thread-safe.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, NodeInfo] = {}
        """Nodes as read, without pods."""
        self._taken: dict[str, PodUsage] = {}
        self._terms: dict[str, tuple[PodTerm, ...]] = {}
        """uid → terms of an unfinished pod, with or without a node."""
        self._neighbours = TermMatches()
        self._infos: dict[str, NodePods] = {}
        self._rooms: dict[str, NodeInfo] = {}
        self._stale: set[str] = set()
        """Known nodes whose entry in `_rooms` is out of date."""
        self._all: tuple[NodeInfo, ...] | None = ()
        self._capacity = ClusterCapacity()

    def put_node(self, node: Node) -> bool:
        """Add or update a node. True: the node has changed for placement."""
        name = node.meta.ref.name
        bare = _node_without_pods(node)
        if bare == self._nodes.get(name):
            return False
        self._nodes[name] = bare
        return self._touch(name)

    def remove_node(self, name: str) -> bool:
        """Remove a node. Its pods stay until they are removed themselves."""
        if self._nodes.pop(name, None) is None:
            return False
        self._rooms.pop(name, None)
        self._stale.discard(name)
        self._all = None
        return True

    def put_pod(self, pod: Pod) -> bool:
        """Add or update a pod. True: the usage of a known node has changed."""
        uid = pod.meta.ref.uid
        taken = pod_usage_of(pod)
        has_changed = self._carry(uid, terms_of(pod))
        previous = self._taken.get(uid)
        if taken is None and previous is None:
            return has_changed
        if (
            taken
            and previous
            and differs_only_in_counting(taken, previous)
            and self._neighbours.knows(pod)
        ):
            return self._recount(uid, previous, taken) or has_changed
        has_changed |= self._leave(uid)
        if taken is None:
            return has_changed
        self._taken[uid] = taken
        info = self._infos.get(taken.node)
        if info is None:
            info = self._infos[taken.node] = NodePods()
        info.uids.add(uid)
        info.count(taken, 1)
        if terms := self._neighbours.put(pod):
            info.match(taken, terms, 1)
        return self._touch(taken.node) or has_changed

    def remove_pod(self, uid: str) -> bool:
        """Remove a pod. True: the usage of a known node has changed."""
        is_freed = self._leave(uid)
        return self._carry(uid, ()) or is_freed

    def _recount(self, uid: str, old: PodUsage, new: PodUsage) -> bool:
        """Update only whether a pod counts for topology spread."""
        if old == new:
            return False
        self._taken[uid] = new
        terms = [term for term in self._neighbours.matched(uid) if term.is_count]
        info = self._infos[new.node]
        info.match(old, terms, -1)
        info.match(new, terms, 1)
        return bool(terms) and self._touch(new.node)

    def _leave(self, uid: str) -> bool:
        """Remove a pod from its node, if it has one."""
        taken = self._taken.pop(uid, None)
        if taken is None:
            return False
        info = self._infos[taken.node]
        info.uids.discard(uid)
        info.count(taken, -1)
        info.match(taken, self._neighbours.remove(uid), -1)
        if not info.uids:
            del self._infos[taken.node]
        return self._touch(taken.node)

    def _carry(self, uid: str, terms: tuple[PodTerm, ...]) -> bool:
        """Update the terms of a pod. A new term is matched against all pods."""
        previous = self._terms.get(uid, ())
        if terms == previous:
            return False
        if terms:
            self._terms[uid] = terms
        else:
            del self._terms[uid]
        has_changed = False
        for term in terms:
            if term not in previous:
                has_changed |= self._rematch(self._neighbours.learn(term), term, 1)
        for term in previous:
            if term not in terms:
                has_changed |= self._rematch(self._neighbours.unlearn(term), term, -1)
        return has_changed

    def _rematch(self, uids: Iterable[str], term: PodTerm, sign: int) -> bool:
        has_changed = False
        for uid in uids:
            taken = self._taken[uid]
            self._infos[taken.node].match(taken, (term,), sign)
            has_changed |= self._touch(taken.node)
        return has_changed

    def pods_on(self, node: str) -> frozenset[str]:
        """Return the uids of the pods that use capacity on a node, including nominated pods."""
        info = self._infos.get(node)
        return frozenset(info.uids) if info else frozenset()

    def load_of(self, uids: Collection[str]) -> Mapping[str, Requested]:
        """Return the summed requests of these pods on each known node."""
        sums: dict[str, RequestedSum] = {}
        for uid in dict.fromkeys(uids):
            taken = self._taken.get(uid)
            if taken is not None and taken.node in self._nodes:
                sums_of_node = sums.setdefault(taken.node, RequestedSum())
                sums_of_node.count(taken, 1)
                if terms := self._neighbours.matched(uid):
                    sums_of_node.match(taken, terms, 1)
        return {name: sums[name].load() for name in sorted(sums)}

    def accelerators_of(self, uids: Iterable[str]) -> int:
        """Return the accelerators of those of these pods that are bound to a node, known or not."""
        return sum(
            amount
            for uid in uids
            if (taken := self._taken.get(uid)) is not None and taken.is_bound
            for resource, amount in taken.amounts.items()
            if is_accelerator(resource)
        )

    def capacity(
        self, why: str = "", running_gangs: RunningGangsReader | None = None
    ) -> ClusterCapacity:
        """Return all nodes with their pods. The object stays the same until something changes.

        With `why` (such as `nodes: forbidden`) it has no nodes. `running_gangs` is compared with the previous value
        by `==`, so the same bound method keeps the object.
        """
        nodes = () if why else self._current()
        reader = running_gangs or ClusterCapacity().running_gangs
        last = self._capacity
        if last.nodes is not nodes or last.why != why or last.running_gangs != reader:
            self._capacity = ClusterCapacity(nodes, why, reader)
        return self._capacity

    def _current(self) -> tuple[NodeInfo, ...]:
        """Return all nodes, after rebuilding the stale ones."""
        for name in self._stale:
            self._rooms[name] = _node_with_pods(self._nodes[name], self._infos.get(name))
        self._stale.clear()
        if self._all is None:
            self._all = tuple(self._rooms[name] for name in sorted(self._rooms))
        return self._all

    def _touch(self, name: str) -> bool:
        """Mark a node as changed. False: the node is unknown."""
        if name not in self._nodes:
            return False
        self._stale.add(name)
        self._all = None
        return True


def _node_without_pods(node: Node) -> NodeInfo:
    # Intern the labels, because thousands of nodes have the same ones.
    labels = {sys.intern(key): sys.intern(value) for key, value in node.labels.items()}
    return NodeInfo(
        name=node.meta.ref.name,
        labels=labels,
        taints=node.taints,
        unschedulable=node.unschedulable,
        cordoned_by=node.cordoned_by,
        tainted_by=node.tainted_by,
        ready=node.is_ready,
        allocatable=node.allocatable,
        unreadable=node.unreadable,
        withheld=node.withheld,
        lifecycle=node.lifecycle,
    )


def _node_with_pods(bare: NodeInfo, info: NodePods | None) -> NodeInfo:
    if info is None:
        return bare
    return NodeInfo(
        name=bare.name,
        labels=bare.labels,
        taints=bare.taints,
        unschedulable=bare.unschedulable,
        cordoned_by=bare.cordoned_by,
        tainted_by=bare.tainted_by,
        ready=bare.ready,
        allocatable=bare.allocatable,
        now=info.now.load(),
        pinned=info.pinned.load(),
        unreadable=bare.unreadable.union(info.unread) if info.unread else bare.unreadable,
        withheld=bare.withheld,
        lifecycle=bare.lifecycle,
    )
