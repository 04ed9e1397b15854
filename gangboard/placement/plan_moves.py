"""Moves of a plan: single pods that make room for a gang and run on other nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from gangboard.domain.capacity import PODS, NodeInfo, PlacementRequest, PodSet, Shape
from gangboard.domain.cluster_plan import MovablePod, PlanStepKind, WaitingGang
from gangboard.domain.placement_result import When
from gangboard.placement.amounts import free_amount, requested_amounts, used_amount
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.plan_changes import Change, after
from gangboard.placement.plan_fewest import MAX_DOMAINS
from gangboard.placement.plan_room import Room

MAX_MOVED = 8
"""Most pods that one step moves."""
MIN_NODES = 32
"""Nodes on which a move is tried at least."""


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
            if room.budget.is_over():
                return ()
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
        if fewer and not room.budget.is_over() and after(room, fewer).place(gang):
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


def nodes_to_cordon(room: Room, gang: WaitingGang, chosen: Sequence[Change]) -> tuple[str, ...]:
    """Return the nodes that the gang gets after the moves, and those that pods leave, without cordoned ones."""
    moved = after(room, chosen)
    pods = moved.nodes.pods.copy()
    moved.place(gang)
    snapshot = moved.ground.snapshot
    taken = {snapshot.names[row] for row in np.flatnonzero(moved.nodes.pods != pods).tolist()}
    taken |= {name for change in chosen for name in change.nodes}
    return tuple(
        sorted(
            name
            for name in taken
            if (node := moved.ground.node(name)) is not None and not node.unschedulable
        )
    )


def move_elsewhere(room: Room, chosen: Sequence[Change], closed: Sequence[str]) -> bool:
    """Place each moved pod on another node. Return whether all of them find one.

    `closed` are the nodes that are cordoned meanwhile.
    """
    ground = room.ground
    nodes = {name: node for name in closed if (node := ground.node(name)) is not None}
    rows = [row for name in nodes if (row := ground.snapshot.row(name)) is not None]
    pods = room.nodes.pods[rows]
    cordoned = {name: replace(node, unschedulable=True) for name, node in nodes.items()}
    room.nodes.stand_on(ground.changed(cordoned), nodes)
    for change in chosen:
        if change.pod is None:
            return False
        request = PlacementRequest((PodSet(change.pod.shape, 1),))
        if not room.place(WaitingGang(change.ref, (request,))):
            return False
    room.nodes.stand_on(ground, nodes)
    # A pod may tolerate the cordon.
    return bool((room.nodes.pods[rows] == pods).all())
