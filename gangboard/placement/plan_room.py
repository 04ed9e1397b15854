"""The nodes of a cluster while a plan is made: changed by its steps, and filled by the gangs that then get nodes.

The order in which the scheduler tries gangs, and the nodes that it takes, are not known beforehand. So a plan is tried
in several rooms (`plan_classes.ROOMS`), each with its own order and its own choice of nodes. A gang is promised only if it gets
nodes in each of them.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np

from gangboard.domain.capacity import NodeInfo, PlacementRequest, PodSet, Requested, Shape
from gangboard.domain.cluster_plan import WaitingGang
from gangboard.domain.placement_result import FitAnswer, When
from gangboard.placement.amounts import pod_amounts
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.gang_fit import check_fit
from gangboard.placement.gang_nodes import add_requested
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.plan_classes import (
    ROOMS,
    Choice,
    GangClass,
    are_related,
    has_relations,
    is_decided,
    room_count,
)
from gangboard.placement.scheduler_order import (
    is_found_in_scheduler_order,
    scheduler_placement,
    scoring_cost,
)

STEPS = 2_000
"""Search steps of one check."""
MAX_SCORES = 5_000
"""Most node scorings in the simulated orders of one gang. With more, it is not promised."""
_REBASE = 64
"""Changed nodes after which the columns are built anew, because each check patches all changed nodes."""

Placement = Mapping[str, Mapping[str, int]]
"""Node → shape → number of pods."""


@dataclass(slots=True)
class Room:
    """The nodes with everything that was placed so far."""

    classes: tuple[GangClass, ...]
    order: Sequence[int]
    """Indexes of classes."""
    choice: Choice
    takes_undecided: bool
    base: NodeSnapshot
    remaining: list[int]
    """Gangs of each class that still wait."""
    placed: list[int]
    """Gangs of each class that got nodes and may be promised."""
    draws: int = 0
    """Seed of the order of the next settlement, or 0 if the order stays."""
    changes: dict[str, NodeInfo] = field(default_factory=dict)
    rests: dict[int, WaitingGang] = field(default_factory=dict)
    """Class → one of its gangs, without the pods that got nodes although not all of them did."""
    present: list[WaitingGang] = field(default_factory=list)
    """Gangs placed so far."""
    _snapshot: NodeSnapshot | None = None

    @classmethod
    def make(cls, number: int, classes: tuple[GangClass, ...], snapshot: NodeSnapshot) -> Room:
        """Return a room with no gang placed. The first ones are those of `ROOMS`, the order of the others is drawn."""
        key, choice, takes_undecided = ROOMS[number % len(ROOMS)]
        is_drawn = number >= len(ROOMS)
        # Gangs that are equal by the key must not come in the same order in all rooms.
        sign = -1 if number % 2 else 1
        order = sorted(range(len(classes)), key=lambda index: (key(classes[index]), sign * index))
        return cls(
            classes,
            order,
            Choice.DRAWN if is_drawn else choice,
            takes_undecided,
            snapshot,
            [len(item.gangs) for item in classes],
            [0] * len(classes),
            draws=number if is_drawn else 0,
        )

    def copy(self) -> Room:
        """Return a copy that changes independently."""
        return replace(
            self,
            remaining=list(self.remaining),
            placed=list(self.placed),
            changes=dict(self.changes),
            rests=dict(self.rests),
            present=list(self.present),
        )

    @property
    def accelerators(self) -> int:
        """Accelerators of the gangs that got all their nodes and may be promised."""
        return sum(
            count * item.first.accelerators
            for count, item in zip(self.placed, self.classes, strict=True)
            if count
        )

    @property
    def snapshot(self) -> NodeSnapshot:
        """The nodes now."""
        if self._snapshot is None:
            if len(self.changes) > _REBASE:
                nodes = [self.changes.get(node.name, node) for node in self.base.nodes]
                self.base, self.changes = NodeSnapshot(nodes), {}
            self._snapshot = self.base.changed(self.changes)
        return self._snapshot

    def node(self, name: str) -> NodeInfo | None:
        """Return a node. None: the cluster has no such node."""
        if name in self.changes:
            return self.changes[name]
        row = self.base.row(name)
        return None if row is None else self.base.nodes[row]

    def change(self, nodes: Mapping[str, NodeInfo]) -> None:
        """Replace nodes, by name."""
        if not nodes:
            return
        self.changes.update(nodes)
        self._snapshot = None

    def rebase(self) -> None:
        """Take the nodes as they are as the new base, so that groups of taints are not made for each placed gang."""
        self.base, self.changes = self.snapshot, {}

    # Placing

    def settle(self, among: Container[int], is_over: Callable[[], bool]) -> None:
        """Place all gangs of these classes that fit, in the order of the room. Stop early if the time is over."""
        start = self.snapshot
        if self.draws:
            # Drawn, but always the same for the same gangs, so that the plan does not change without a cause.
            dice = Random(self.draws)  # noqa: S311 - no secret
            self.order = dice.sample(self.order, len(self.order))
            self.draws += room_count(self.classes)
        for index in self.order:
            # The nodes at the start are an upper bound. Their columns are the same for all classes.
            if index not in among or not self._may_place(index, start):
                continue
            while self._may_place(index, self.snapshot) and not is_over():
                if not self._place_next(index):
                    break

    def _may_place(self, index: int, snapshot: NodeSnapshot) -> bool:
        """Return whether some pods of the next gang of a class may get nodes. False is certain."""
        if not self.remaining[index]:
            return False
        return any(_may_start(request, snapshot) for request in self.next_gang(index).requests)

    def next_gang(self, index: int) -> WaitingGang:
        """Return the next gang of a class to get nodes."""
        return self.rests.get(index, self.classes[index].first)

    def _place_next(self, index: int) -> bool:
        """Place one more gang of a class. Return whether it got all its nodes."""
        decided = is_decided(self.classes[index].first)
        gang = self.next_gang(index)
        if decided and self.place(gang):
            self.placed[index] += not any(are_related(gang, other) for other in self.present)
            self._end(index)
            return True
        if decided or self.takes_undecided:
            self._place_part(index, gang)
        return False

    def _end(self, index: int) -> None:
        """Note that a gang of a class has all its nodes."""
        self.present.append(self.next_gang(index))
        self.rests.pop(index, None)
        self.remaining[index] -= 1

    def place(self, gang: WaitingGang) -> bool:
        """Place all waiting members of a gang, or none. Return whether it got its nodes."""
        before, snapshot = dict(self.changes), self._snapshot
        base = self.base
        for request in gang.requests:
            placement = self.placement_of(request)
            if placement is None:
                self.base, self.changes, self._snapshot = base, before, snapshot
                return False
            self._add(request, placement)
        return True

    def placement_of(self, request: PlacementRequest) -> Placement | None:
        """Return nodes for all pods of a request that the scheduler provably finds, else None."""
        request = replace(request, quorum=None)
        snapshot = self.snapshot
        fit = check_fit(request, snapshot, When.CURRENT, request.size, steps=STEPS)
        if fit.answer is not FitAnswer.YES:
            return None
        if sum(bool(pod_set.count) for pod_set in request.pod_sets) > 1 and (
            scoring_cost(request, snapshot) > MAX_SCORES
            or not is_found_in_scheduler_order(request, snapshot, request.size)
        ):
            return None
        if self.choice is Choice.PACKED or has_relations(request):
            return fit.placement
        is_plain = len(request.pod_sets) == 1 and not request.topology_keys
        if self.choice is Choice.WIDEST and is_plain:
            return _widest_placement(request.pod_sets[0], snapshot)
        if self.choice is Choice.DRAWN and is_plain:
            return _drawn_placement(request.pod_sets[0], snapshot, self.draws)
        return scheduler_placement(request, snapshot) or fit.placement

    def _place_part(self, index: int, gang: WaitingGang) -> None:
        """Let a gang take some nodes: its quorum, or the pods that the scheduler places one by one."""
        rests = tuple(self._place_some(_understood(request)) for request in gang.requests)
        if rests == gang.requests:
            return
        self.rests[index] = replace(gang, requests=rests)
        if not any(request.size for request in rests):
            self._end(index)

    def _place_some(self, request: PlacementRequest) -> PlacementRequest:
        """Place the quorum, then as many other pods as fit. Return the pods without a node."""
        if request.quorum is not None:
            fit = check_fit(request, self.snapshot, When.CURRENT, request.needed, steps=STEPS)
            if fit.answer is not FitAnswer.YES:
                return request
            self._add(request, fit.placement)
            request = _rest(request, fit.placement)
        for pod_set in request.pod_sets:
            feasible = feasible_nodes_of(self.snapshot, pod_set.shape)
            number = min(pod_set.count, feasible.total_pods(When.CURRENT))
            part = replace(request, pod_sets=(replace(pod_set, count=number),))
            fit = check_fit(part, self.snapshot, When.CURRENT, number, steps=STEPS)
            if number and fit.answer is FitAnswer.YES:
                self._add(part, fit.placement)
                request = _rest(request, fit.placement)
        return request

    def _add(self, request: PlacementRequest, placement: Placement) -> None:
        shapes = {pod_set.shape.name: pod_set.shape for pod_set in request.pod_sets}
        self.change(
            {
                name: with_pods(node, [(shapes[shape], number) for shape, number in pods.items()])
                for name, pods in placement.items()
                if (node := self.node(name)) is not None
            }
        )


def _widest_placement(pod_set: PodSet, snapshot: NodeSnapshot) -> Placement:
    """Return nodes for equal pods, each on the node with the most places left. They must fit."""
    places = feasible_nodes_of(snapshot, pod_set.shape).max_pods(When.CURRENT)
    heap = [(-int(places[row]), row) for row in np.flatnonzero(places).tolist()]
    heapq.heapify(heap)
    taken = Counter[str]()
    for _ in range(pod_set.count):
        left, row = heap[0]
        taken[snapshot.names[row]] += 1
        if left < -1:
            heapq.heapreplace(heap, (left + 1, row))
        else:
            heapq.heappop(heap)
    return {name: {pod_set.shape.name: number} for name, number in taken.items()}


def _drawn_placement(pod_set: PodSet, snapshot: NodeSnapshot, seed: int) -> Placement:
    """Return drawn nodes for equal pods, the same ones for the same seed. The pods must fit."""
    places = feasible_nodes_of(snapshot, pod_set.shape).max_pods(When.CURRENT)
    left = {row: int(places[row]) for row in np.flatnonzero(places).tolist()}
    rows = list(left)
    dice = Random(seed)  # noqa: S311 - no secret
    taken = Counter[str]()
    for _ in range(pod_set.count):
        index = dice.randrange(len(rows))
        row = rows[index]
        taken[snapshot.names[row]] += 1
        left[row] -= 1
        if not left[row]:
            rows[index] = rows[-1]
            rows.pop()
    return {name: {pod_set.shape.name: number} for name, number in taken.items()}


def _may_start(request: PlacementRequest, snapshot: NodeSnapshot) -> bool:
    needed = 1 if request.quorum is None else request.needed
    places = 0
    for pod_set in request.pod_sets:
        feasible = feasible_nodes_of(snapshot, pod_set.shape)
        places += min(pod_set.count, feasible.total_pods(When.CURRENT))
        if places >= needed:
            return True
    return False


def with_pods(node: NodeInfo, pods: Iterable[tuple[Shape, int]]) -> NodeInfo:
    """Return a node with more pods on it: shapes with their numbers."""
    now = node.now
    for shape, number in pods:
        if number:
            now = add_requested(now, _load(shape, number))
    return replace(node, now=now)


def _load(shape: Shape, number: int) -> Requested:
    return Requested(
        {name: amount * number for name, amount in pod_amounts(shape.requests).items()},
        number,
        shape.host_ports,
        Counter(dict.fromkeys(shape.anti_affinity, number)),
        Counter(dict.fromkeys(shape.matched_terms, number)),
    )


def _rest(request: PlacementRequest, placement: Placement) -> PlacementRequest:
    """Return the pods of a request that a placement leaves out."""
    placed = Counter[str]()
    for pods in placement.values():
        placed.update(pods)
    return replace(
        request,
        pod_sets=tuple(
            replace(pod_set, count=max(0, pod_set.count - placed[pod_set.shape.name]))
            for pod_set in request.pod_sets
        ),
        quorum=None,
    )


def _understood(request: PlacementRequest) -> PlacementRequest:
    """Return the request without the requirements that the arithmetic does not know."""
    if not any(
        pod_set.shape.unsupported or pod_set.shape.undecidable or pod_set.shape.spreads
        for pod_set in request.pod_sets
    ):
        return request
    return replace(
        request,
        pod_sets=tuple(
            replace(
                pod_set,
                shape=replace(pod_set.shape, unsupported=(), undecidable=(), spreads=()),
            )
            for pod_set in request.pod_sets
        ),
    )
