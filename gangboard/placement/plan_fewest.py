"""The fewest changes of one kind with which a gang gets nodes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from gangboard.domain.capacity import NodeInfo, PodSet
from gangboard.domain.cluster_plan import WaitingGang
from gangboard.domain.placement_result import When
from gangboard.placement.amounts import used_amount
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.matching import untolerated
from gangboard.placement.node_columns import BoolColumn, IntColumn, int_column, taint_groups
from gangboard.placement.node_filters import has_label
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.plan_changes import Change, after
from gangboard.placement.plan_ground import Demand, Ground, pods_that_fit
from gangboard.placement.plan_room import Room

MAX_CHANGES = 60
"""Most changes that are considered for one gang."""
MAX_REMOVALS = 8
"""Up to this many changes, each is left out once, to see whether the others are enough."""
MAX_DOMAINS = 8
"""Most topology domains that are tried for one gang."""


class ChangeSet:
    """The possible changes of one kind, and the places that each of them gives for a gang in a room.

    All rooms must stand on `ground`, or on one that differs by some of these changes.
    """

    def __init__(self, ground: Ground, changes: Sequence[Change]) -> None:
        self.changes = changes
        self._ground = ground
        pairs = [
            (index, name, row)
            for index, change in enumerate(changes)
            for name in change.nodes
            if (row := ground.snapshot.row(name)) is not None
        ]
        self._pairs = pairs
        self._owners = np.array([index for index, _, _ in pairs], dtype=np.int64)
        self._rows = np.array([row for _, _, row in pairs], dtype=np.int64)
        self._changed = [
            changes[index].applied_to(ground.snapshot.nodes[row]) for index, _, row in pairs
        ]
        self._taints = taint_groups(self._changed)
        self._freed: dict[str, IntColumn] = {}
        self._open: dict[object, BoolColumn] = {}
        self._counted: tuple[Room, dict[Demand, tuple[IntColumn, IntColumn]]] | None = None
        """A settled room, and the places in it. It does not change while its steps are searched."""
        self._details: tuple[Room, NodeSnapshot] | None = None

    def places(self, room: Room, gang: WaitingGang) -> IntColumn:
        """Return how many more pods of a gang fit with each change, each shape for itself."""
        places: IntColumn = np.zeros(len(self.changes), dtype=np.int64)
        if len(self._owners):
            for request in gang.requests:
                for pod_set in request.pod_sets:
                    more = self._more(room, pod_set, request.topology_keys)
                    np.add.at(places, self._owners, more)
        return places

    def can_be_enough(self, room: Room, gang: WaitingGang) -> bool:
        """Return whether the gang may fit with all of these changes. False is certain."""
        if not len(self._owners):
            return False
        gains = False
        for request in gang.requests:
            for pod_set in request.pod_sets:
                more = int(self._more(room, pod_set, request.topology_keys).sum())
                if room.total_places(pod_set) + more < pod_set.count:
                    return False
                gains |= more > 0
        return gains

    def useful(self, room: Room, gang: WaitingGang, allowed: BoolColumn) -> list[Change]:
        """Return the allowed changes that give places for a gang: low priorities first, then those of most places."""
        places = np.where(allowed, self.places(room, gang), 0)
        order = sorted(
            np.flatnonzero(places).tolist(),
            key=lambda index: (
                self.changes[index].priority,
                -places[index],
                self.changes[index].ref.name,
            ),
        )
        return [self.changes[index] for index in order[:MAX_CHANGES]]

    def _more(self, room: Room, pod_set: PodSet, keys: tuple[str, ...]) -> IntColumn:
        demand = room.nodes.demands.of(pod_set.shape)
        if demand is None:
            then, now = self._in_detail(room, pod_set)
        else:
            then, now = self._then_and_now(room, demand)
        for key in keys:
            then = np.where(has_label(self._ground.snapshot, key)[self._rows], then, 0)
        more: IntColumn = np.minimum(then, pod_set.count) - np.minimum(now, pod_set.count)
        return np.maximum(more, 0).astype(np.int64)

    def _then_and_now(self, room: Room, demand: Demand) -> tuple[IntColumn, IntColumn]:
        """Return the places for pods of a demand on each changed node, then and now."""
        if self._counted is None or self._counted[0] is not room:
            self._counted = room, {}
        counts = self._counted[1]
        if demand not in counts:
            counts[demand] = (
                pods_that_fit(demand, self._free_then(room, demand), self._is_open(demand)),
                room.nodes.places(demand, self._rows),
            )
        return counts[demand]

    def _free_then(self, room: Room, demand: Demand) -> dict[str, IntColumn]:
        free = room.nodes.free(demand)
        return {
            resource: free[resource][self._rows] + self._freed_amounts(resource)
            for resource, _ in demand.amounts
        }

    def _freed_amounts(self, resource: str) -> IntColumn:
        """Return the amount of a resource that each change frees on its node."""
        if resource not in self._freed:
            nodes = self._ground.snapshot.nodes
            self._freed[resource] = int_column(
                [
                    used_amount(nodes[row].now, resource) - used_amount(changed.now, resource)
                    for (_, _, row), changed in zip(self._pairs, self._changed, strict=True)
                ]
            )
        return self._freed[resource]

    def _is_open(self, demand: Demand) -> BoolColumn:
        """Return the changed nodes that the requirements of a demand allow then."""
        key = demand.selection, demand.amounts, demand.shape.tolerations
        if key not in self._open:
            # Labels stay, so only taints and cordons are those of the changed nodes.
            groups = self._taints
            is_tolerated = [not untolerated(node, demand.shape) for node in groups.nodes]
            tolerated = np.array(is_tolerated, dtype=np.bool_)[groups.codes]
            self._open[key] = self._ground.is_selected(demand)[self._rows] & tolerated
        return self._open[key]

    def _in_detail(self, room: Room, pod_set: PodSet) -> tuple[IntColumn, IntColumn]:
        """Return the places for pods with constraints between pods on each changed node, then and now."""
        if self._details is None or self._details[0] is not room:
            nodes = [
                self.changes[index].applied_to(node)
                for index, name, _ in self._pairs
                if (node := room.node(name)) is not None
            ]
            self._details = room, _numbered(nodes)
        then = feasible_nodes_of(self._details[1], pod_set.shape).max_pods(When.CURRENT)
        now = feasible_nodes_of(room.snapshot, pod_set.shape).max_pods(When.CURRENT)
        return then, now[self._rows]


def _numbered(nodes: Iterable[NodeInfo]) -> NodeSnapshot:
    """Return nodes in this order. A snapshot sorts its nodes by name, and several changes may be about one node."""
    return NodeSnapshot([replace(node, name=f"{number:07}") for number, node in enumerate(nodes)])


def fewest_changes(
    change_set: ChangeSet, room: Room, gang: WaitingGang, allowed: BoolColumn, *, limit: int
) -> tuple[Change, ...]:
    """Return few of the allowed changes, at most `limit`, after which a gang gets nodes. Empty: there are none."""
    best: tuple[Change, ...] = ()
    for candidates in _by_domain(room, gang, change_set.useful(room, gang, allowed)):
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
            if (node := room.ground.node(name)) is not None
        }
        for value in sorted(values):
            domains.setdefault(value, []).append(change)
    largest = sorted(domains.values(), key=len, reverse=True)
    yield from largest[:MAX_DOMAINS]


def _prefix(room: Room, gang: WaitingGang, changes: Sequence[Change]) -> tuple[Change, ...]:
    """Return the shortest beginning of the changes that is enough, without unneeded ones. Empty: all are not enough."""

    def is_enough(chosen: Collection[Change]) -> bool:
        return not room.budget.is_over() and after(room, chosen).place(gang)

    if not changes or not is_enough(changes):
        return ()
    low, high = 0, len(changes)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(changes[:middle]) else (middle, high)
    chosen = tuple(changes[:high])
    if len(chosen) <= MAX_REMOVALS:
        for change in chosen[:-1]:
            fewer = tuple(item for item in chosen if item is not change)
            if fewer and is_enough(fewer):
                chosen = fewer
    return chosen
