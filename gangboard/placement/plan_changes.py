"""Changes that a plan tries: nodes to open, gangs to suspend, and pods to move."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from gangboard.domain.capacity import PODS, NodeInfo, PodSet, Requested, RunningGang, Shape
from gangboard.domain.cluster_plan import MovablePod, PlanStepKind, WaitingGang
from gangboard.domain.objects import ObjectRef, node_ref
from gangboard.domain.placement_result import When
from gangboard.domain.pod_constraints import Effect, Taint
from gangboard.domain.suspension import FieldWriter
from gangboard.placement.amounts import free_amount, requested_amounts, used_amount
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.gang_nodes import without_requested
from gangboard.placement.node_columns import IntColumn
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.plan_room import GangClass, Room, has_relations
from gangboard.placement.unavailable_nodes import is_set_by_controller, uncordoned

MAX_CHANGES = 60
"""Most changes that are considered for one gang."""
MAX_GANGS = 3
"""Most gangs that one step suspends."""
MAX_MOVED = 8
"""Most pods that one step moves."""
MIN_NODES = 32
"""Nodes on which a move is tried at least."""
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


# Moves


def moves(
    room: Room,
    gang: WaitingGang,
    pods_on: Callable[[Sequence[str]], Sequence[MovablePod]],
) -> tuple[Change, ...]:
    """Return the fewest pods, at most MAX_MOVED, without which a gang gets nodes. Empty: there are none.

    The nodes that need the fewest moves for one more pod of the gang come first.
    """
    shape = _largest_shape(gang)
    keys = tuple(key for request in gang.requests for key in request.topology_keys)
    names = _nearly_free(room, shape, keys, size=sum(request.size for request in gang.requests))
    by_node: dict[str, list[MovablePod]] = {}
    for pod in pods_on(names):
        by_node.setdefault(pod.node, []).append(pod)
    batches = [
        (len(batch), f"{name}/{number:04}", batch)
        for name, pods in by_node.items()
        if (node := room.node(name)) is not None
        for number, batch in enumerate(_batches(node, pods, shape))
    ]
    ordered = [batch for _, _, batch in sorted(batches, key=lambda item: item[:2])]
    for candidates in _batches_by_domain(room, keys, ordered):
        chosen: list[Change] = []
        for batch in candidates:
            if len(chosen) + len(batch) > MAX_MOVED:
                break
            chosen += batch
            if after(room, chosen).place(gang):
                return _needed(room, gang, chosen)
    return ()


def _nearly_free(room: Room, shape: Shape, keys: tuple[str, ...], *, size: int) -> list[str]:
    """Return the nodes that lack least for one more pod of the shape, by name. `size` is the number of pods."""
    feasible = feasible_nodes_of(room.snapshot, shape)
    full = (feasible.max_pods(When.DRAINED) > feasible.max_pods(When.CURRENT)) & feasible.eligible(
        keys
    )
    rows = np.flatnonzero(full)
    column = room.snapshot.resource(_scarce(shape))
    amount = requested_amounts(shape)[_scarce(shape)]
    lacking = amount - column.now[rows] % amount
    order = np.argsort(lacking, kind="stable")[: max(MIN_NODES, 2 * size)]
    return [room.snapshot.names[row] for row in rows[order].tolist()]


def _scarce(shape: Shape) -> str:
    """Return the device that a shape requests, else one of its other resources."""
    requested = requested_amounts(shape)
    return min(requested, key=lambda name: ("/" not in name, name == PODS, name))


def _needed(room: Room, gang: WaitingGang, chosen: Sequence[Change]) -> tuple[Change, ...]:
    needed = tuple(chosen)
    for change in chosen:
        fewer = tuple(item for item in needed if item is not change)
        if fewer and after(room, fewer).place(gang):
            needed = fewer
    return needed


def _largest_shape(gang: WaitingGang) -> Shape:
    pod_sets = [
        pod_set for request in gang.requests for pod_set in request.pod_sets if pod_set.count
    ]
    return max(
        pod_sets,
        key=lambda pod_set: (
            sum(amount for name, amount in requested_amounts(pod_set.shape).items() if "/" in name),
            sum(requested_amounts(pod_set.shape).values()),
        ),
    ).shape


def _batches(node: NodeInfo, pods: Sequence[MovablePod], shape: Shape) -> Iterator[list[Change]]:
    """Yield the pods of one node to move for one more pod of the shape, then for another one, and so on."""
    resource = _scarce(shape)
    remaining = sorted(pods, key=lambda pod: (-used_amount(pod.load, resource), pod.ref.name))
    places = _places(node, shape)
    batch: list[Change] = []
    while remaining:
        pod = remaining.pop(0)
        change = Change(
            PlanStepKind.MOVE_PODS, pod.ref, (node.name,), {node.name: pod.load}, pod=pod
        )
        node = change.applied_to(node)
        batch.append(change)
        now = _places(node, shape)
        if now > places:
            yield batch
            batch, places = [], now


def _places(node: NodeInfo, shape: Shape) -> int:
    """Return how many pods of a shape the free amounts of a node are enough for."""
    return min(
        max(0, free_amount(node, name, When.CURRENT)) // amount
        for name, amount in requested_amounts(shape).items()
    )


def _batches_by_domain(
    room: Room, keys: tuple[str, ...], batches: Sequence[list[Change]]
) -> Iterator[Sequence[list[Change]]]:
    if not keys:
        yield batches
        return
    domains: dict[tuple[str, ...], list[list[Change]]] = {}
    for batch in batches:
        node = room.node(batch[0].nodes[0])
        if node is not None:
            domains.setdefault(tuple(node.labels.get(key, "") for key in keys), []).append(batch)
    yield from [domains[value] for value in sorted(domains)][:MAX_DOMAINS]
