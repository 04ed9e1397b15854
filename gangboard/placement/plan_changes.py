"""Changes that a plan tries: nodes to open, gangs to suspend, and pods to move."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gangboard.domain.capacity import NodeInfo, PodSet, Requested, RunningGang
from gangboard.domain.cluster_plan import MovablePod, PlanStepKind, WaitingGang
from gangboard.domain.objects import ObjectRef, node_ref
from gangboard.domain.placement_result import When
from gangboard.domain.pod_constraints import Effect, Taint
from gangboard.domain.suspension import FieldWriter
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.gang_nodes import without_requested
from gangboard.placement.node_columns import IntColumn
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.plan_classes import GangClass, has_relations
from gangboard.placement.plan_room import Room
from gangboard.placement.unavailable_nodes import is_set_by_controller, uncordoned

MAX_CHANGES = 60
"""Most changes that are considered for one gang."""
MAX_GANGS = 3
"""Most gangs that one step suspends."""
MAX_MOVED = 8
"""Most pods that one step moves."""
MAX_DOMAINS = 8
"""Most topology domains that are tried for one gang."""


NODE_KINDS = (PlanStepKind.UNCORDON, PlanStepKind.REMOVE_TAINT)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of some nodes."""

    kind: PlanStepKind
    ref: ObjectRef
    """The node, the gang or the pod."""
    nodes: tuple[str, ...]
    """Names of the nodes that change."""
    loads: Mapping[str, Requested] = field(default_factory=dict)
    """Node → usage that ends."""
    taint: Taint | None = None
    priority: int = 0
    """Priority of the gang."""
    pod: MovablePod | None = None
    writer: FieldWriter | None = None
    """Who cordoned or tainted the node."""

    def applied_to(self, node: NodeInfo) -> NodeInfo:
        """Return one of its nodes after the change."""
        if self.kind is PlanStepKind.UNCORDON:
            return uncordoned(node)
        if self.kind is PlanStepKind.REMOVE_TAINT:
            return replace(node, taints=tuple(item for item in node.taints if item != self.taint))
        return without_requested(node, self.loads[node.name])


def apply(room: Room, changes: Iterable[Change]) -> None:
    """Apply changes to the nodes of a room."""
    opened = False
    for change in changes:
        nodes = [node for name in change.nodes if (node := room.node(name)) is not None]
        room.change({node.name: change.applied_to(node) for node in nodes})
        opened |= change.kind in NODE_KINDS
    if opened:
        room.rebase()


def after(room: Room, changes: Iterable[Change]) -> Room:
    """Return a copy of the room with these changes."""
    changed = room.copy()
    apply(changed, changes)
    return changed


# The changes of a cluster


def uncordons(nodes: Iterable[NodeInfo]) -> Iterator[Change]:
    """Yield the uncordons. Nodes in maintenance or not ready stay cordoned."""
    for node in nodes:
        if node.unschedulable and node.ready and not node.lifecycle:
            yield Change(
                PlanStepKind.UNCORDON,
                node_ref(node.name),
                (node.name,),
                writer=node.cordoned_by,
            )


def taint_removals(nodes: Iterable[NodeInfo]) -> dict[Taint, list[Change]]:
    """Return taint → the removals of it. Taints of controllers, and of nodes that are cordoned or not ready, stay."""
    removals: dict[Taint, list[Change]] = {}
    for node in nodes:
        if node.unschedulable or node.lifecycle or not node.ready:
            continue
        strict = [
            taint
            for taint in node.taints
            if taint.effect in (Effect.NO_SCHEDULE, Effect.NO_EXECUTE)
        ]
        if any(map(is_set_by_controller, strict)):
            continue
        for taint in strict:
            change = Change(
                PlanStepKind.REMOVE_TAINT,
                node_ref(node.name),
                (node.name,),
                taint=taint,
                writer=node.tainted_by,
            )
            removals.setdefault(taint, []).append(change)
    return removals


def suspends(gangs: Iterable[RunningGang], kind: PlanStepKind) -> Iterator[Change]:
    """Yield the suspends of gangs whose suspend stays."""
    for gang in gangs:
        if gang.suspendable and gang.active_loads:
            yield Change(
                kind,
                gang.ref,
                tuple(gang.active_loads),
                gang.active_loads,
                priority=gang.priority,
            )


# The fewest changes for a gang


class ChangeSet:
    """The possible changes of one kind in a room, and the places that each of them gives."""

    def __init__(self, room: Room, changes: Sequence[Change]) -> None:
        self.room = room
        self.changes = changes
        changed = [
            (index, change.applied_to(node))
            for index, change in enumerate(changes)
            for name in change.nodes
            if (node := room.node(name)) is not None
        ]
        self._owners = np.array([index for index, _ in changed], dtype=np.int64)
        self._rows = np.array([room.snapshot.row(node.name) for _, node in changed], dtype=np.int64)
        # A snapshot sorts its nodes by name, and several changes may be about one node.
        self._snapshot = NodeSnapshot(
            [replace(node, name=f"{number:07}") for number, (_, node) in enumerate(changed)]
        )

    def places(self, gang: WaitingGang) -> IntColumn:
        """Return how many more pods of a gang fit with each change, each shape for itself."""
        places: IntColumn = np.zeros(len(self.changes), dtype=np.int64)
        if len(self._owners):
            for request in gang.requests:
                for pod_set in request.pod_sets:
                    np.add.at(places, self._owners, self._more(pod_set, request.topology_keys))
        return places

    def can_be_enough(self, gang: WaitingGang) -> bool:
        """Return whether the gang may fit with all of these changes. False is certain."""
        if not len(self._owners):
            return False
        gains = False
        for request in gang.requests:
            for pod_set in request.pod_sets:
                more = int(self._more(pod_set, request.topology_keys).sum())
                feasible = feasible_nodes_of(self.room.snapshot, pod_set.shape)
                if feasible.total_pods(When.CURRENT) + more < pod_set.count:
                    return False
                gains |= more > 0
        return gains

    def _more(self, pod_set: PodSet, keys: tuple[str, ...]) -> IntColumn:
        then = feasible_nodes_of(self._snapshot, pod_set.shape)
        now = feasible_nodes_of(self.room.snapshot, pod_set.shape).max_pods(When.CURRENT)
        after_it = np.where(then.eligible(keys), then.max_pods(When.CURRENT), 0)
        more: IntColumn = np.minimum(after_it, pod_set.count) - np.minimum(
            now[self._rows], pod_set.count
        )
        return np.maximum(more, 0).astype(np.int64)

    def reach(self, classes: Sequence[GangClass]) -> dict[int, frozenset[int]]:
        """Return for each change, by its `id`, the classes with a pod that may use one of its nodes then.

        Other pods decide about a pod with constraints between pods, so its class may gain by any change.
        """
        reached: list[set[int]] = [set() for _ in self.changes]
        for index, item in enumerate(classes):
            if any(map(has_relations, item.first.requests)):
                places: IntColumn = np.ones(len(self.changes), dtype=np.int64)
            else:
                places = self._then(item.first)
            for change in np.flatnonzero(places).tolist():
                reached[change].add(index)
        return {
            id(change): frozenset(found)
            for change, found in zip(self.changes, reached, strict=True)
        }

    def _then(self, gang: WaitingGang) -> IntColumn:
        """Return how many pods of the gang fit on the nodes of each change then, each shape for itself."""
        places: IntColumn = np.zeros(len(self.changes), dtype=np.int64)
        if len(self._owners):
            for request in gang.requests:
                for pod_set in request.pod_sets:
                    feasible = feasible_nodes_of(self._snapshot, pod_set.shape)
                    then = np.minimum(feasible.max_pods(When.CURRENT), pod_set.count)
                    np.add.at(places, self._owners, then.astype(np.int64))
        return places

    def useful(self, gang: WaitingGang) -> list[Change]:
        """Return the changes that give places for a gang: low priorities first, then those of most places."""
        places = self.places(gang)
        order = sorted(
            np.flatnonzero(places).tolist(),
            key=lambda index: (
                self.changes[index].priority,
                -places[index],
                self.changes[index].ref.name,
            ),
        )
        return [self.changes[index] for index in order[:MAX_CHANGES]]


def fewest_changes(change_set: ChangeSet, gang: WaitingGang, *, limit: int) -> tuple[Change, ...]:
    """Return few changes, at most `limit`, after which a gang gets nodes. Empty: there are none."""
    room = change_set.room
    best: tuple[Change, ...] = ()
    for candidates in _by_domain(room, gang, change_set.useful(gang)):
        chosen = _prefix(room, gang, candidates[: min(limit, len(best) - 1 if best else limit)])
        if chosen and (not best or len(chosen) < len(best)):
            best = chosen
    return best


def _by_domain(room: Room, gang: WaitingGang, changes: list[Change]) -> Iterator[list[Change]]:
    """Yield the changes that can help in each topology domain of the gang, those of the most places first."""
    keys = next((request.topology_keys for request in gang.requests if request.topology_keys), ())
    if not keys:
        if changes:
            yield changes
        return
    domains: dict[tuple[str, ...], list[Change]] = {}
    for change in changes:
        values = {
            tuple(node.labels.get(key, "") for key in keys)
            for name in change.nodes
            if (node := room.node(name)) is not None
        }
        for value in sorted(values):
            domains.setdefault(value, []).append(change)
    largest = sorted(domains.values(), key=len, reverse=True)
    yield from largest[:MAX_DOMAINS]


def _prefix(room: Room, gang: WaitingGang, changes: Sequence[Change]) -> tuple[Change, ...]:
    """Return the shortest beginning of the changes that is enough, without unneeded ones. Empty: all are not enough."""

    def is_enough(chosen: Collection[Change]) -> bool:
        return after(room, chosen).place(gang)

    if not changes or not is_enough(changes):
        return ()
    low, high = 0, len(changes)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(changes[:middle]) else (middle, high)
    chosen = tuple(changes[:high])
    if len(chosen) <= MAX_MOVED:
        for change in chosen[:-1]:
            fewer = tuple(item for item in chosen if item is not change)
            if fewer and is_enough(fewer):
                chosen = fewer
    return chosen
