"""The nodes of a cluster while a plan is made: changed by its steps, and filled by the gangs that then get nodes.

The order in which the scheduler tries gangs, and the nodes that it takes, are not known beforehand. So a plan is tried
in several rooms (`plan_classes.Way`), each with its own order and its own choice of nodes. A gang is promised only if it gets
nodes in each of them.

Admins see when a promised gang runs. If a step promises none, they may take the next step before the scheduler has placed
any pod. Late rooms are for this case: each step since the last promise changes the nodes, and only then all gangs are placed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from gangboard.domain.capacity import NodeInfo, PlacementRequest, PodSet
from gangboard.domain.cluster_plan import WaitingGang
from gangboard.domain.placement_result import FitAnswer, When
from gangboard.domain.pod_constraints import PodTerm
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.gang_fit import check_fit
from gangboard.placement.node_columns import IntColumn
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.plan_budget import SearchBudget
from gangboard.placement.plan_choices import Choice, drawn_nodes, packed_nodes, widest_nodes
from gangboard.placement.plan_classes import (
    GangClass,
    Way,
    has_relations,
    may_select,
    terms_of,
)
from gangboard.placement.plan_ground import Demand, Ground
from gangboard.placement.plan_nodes import FilledNodes, PlacedPods
from gangboard.placement.scheduler_order import (
    is_found_in_scheduler_order,
    scheduler_placement,
    scoring_cost,
)

STEPS = 2_000
"""Search steps of one check."""
MAX_ROOMS = 100
"""More than a plan has, so that no two rooms have the same draws."""
MAX_SCORES = 5_000
"""Most node scorings in the simulated orders of one gang. With more, it is not promised."""


@dataclass(slots=True)
class Room:
    """The nodes with everything that was placed so far."""

    classes: tuple[GangClass, ...]
    order: Sequence[int]
    """Indexes of classes."""
    choice: Choice
    takes_undecided: bool
    nodes: FilledNodes
    budget: SearchBudget
    remaining: list[int]
    """Gangs of each class that still wait."""
    placed: list[int]
    """Gangs of each class that got nodes and may be promised."""
    draws: int = 0
    """Seed of the order of the next settlement, or 0 if the order stays."""
    is_late: bool = False
    """Whether no gang is placed for good before a step promises one."""
    late_classes: frozenset[int] = frozenset()
    """Classes that may have got nodes since the last promise, if the room is late."""
    unsettled: Room | None = None
    """A late room as it was before it was settled."""
    rests: dict[int, WaitingGang] = field(default_factory=dict)
    """Class → one of its gangs, without the pods that got nodes although not all of them did."""
    namespaces: set[str] = field(default_factory=set)
    """Namespaces of the gangs that have all their nodes."""
    terms: set[PodTerm] = field(default_factory=set)
    """Their terms about other pods."""

    @classmethod
    def make(
        cls,
        number: int,
        way: Way,
        classes: tuple[GangClass, ...],
        nodes: FilledNodes,
        budget: SearchBudget,
    ) -> Room:
        """Return a room with no gang placed. `number` is not 0 and tells it from the others."""
        # Gangs that are equal by the key must not come in the same order in all rooms.
        sign = -1 if number % 2 else 1
        order = sorted(
            range(len(classes)), key=lambda index: (way.order(classes[index]), sign * index)
        )
        return cls(
            classes,
            order,
            way.choice,
            way.takes_undecided,
            nodes.copy(),
            budget,
            [len(item.gangs) for item in classes],
            [0] * len(classes),
            draws=number if way.choice is Choice.DRAWN else 0,
            is_late=way.is_late,
        )

    def copy(self) -> Room:
        """Return a copy that changes independently."""
        return replace(
            self,
            nodes=self.nodes.copy(),
            remaining=list(self.remaining),
            placed=list(self.placed),
            rests=dict(self.rests),
            namespaces=set(self.namespaces),
            terms=set(self.terms),
            unsettled=None,
        )

    @property
    def accelerators(self) -> int:
        """Accelerators of the gangs that got all their nodes and may be promised."""
        return sum(
            count * item.accelerators
            for count, item in zip(self.placed, self.classes, strict=True)
            if count
        )

    @property
    def snapshot(self) -> NodeSnapshot:
        """The nodes now."""
        return self.nodes.snapshot

    @property
    def ground(self) -> Ground:
        """The nodes without the pods of waiting gangs."""
        return self.nodes.ground

    def node(self, name: str) -> NodeInfo | None:
        """Return a node. None: the cluster has no such node."""
        return self.nodes.node(name)

    # Placing

    def settle(self, among: frozenset[int]) -> None:
        """Place all gangs of these classes that fit, in the order of the room. Stop early if the budget is spent."""
        if self.draws:
            # Drawn, but always the same for the same gangs, so that the plan does not change without a cause.
            dice = Random(self.draws)  # noqa: S311 - no secret
            self.order = dice.sample(self.order, len(self.order))
            self.draws += MAX_ROOMS
        if self.is_late:
            among |= self.late_classes
            self.unsettled = replace(self.copy(), late_classes=among)
            self.late_classes = frozenset()
        for index in self.order:
            if index not in among:
                continue
            while self._may_place(index) and not self.budget.is_over():
                if not self._place_next(index):
                    break

    def _may_place(self, index: int) -> bool:
        """Return whether some pods of the next gang of a class may get nodes. False is certain."""
        if not self.remaining[index]:
            return False
        return any(map(self._may_start, self.next_gang(index).requests))

    def _may_start(self, request: PlacementRequest) -> bool:
        needed = 1 if request.quorum is None else request.needed
        pod_sets = request.pod_sets
        if len(pod_sets) == 1 and (demand := self._demand(pod_sets[0])) is not None:
            size = pod_sets[0].count
            return needed <= 0 or (needed <= size and self.nodes.takes(demand, needed))
        places = 0
        for pod_set in pod_sets:
            places += min(pod_set.count, self.total_places(pod_set))
            if places >= needed:
                return True
        return False

    def _demand(self, pod_set: PodSet) -> Demand | None:
        return self.nodes.demands.of(pod_set.shape)

    def total_places(self, pod_set: PodSet) -> int:
        """Return how many pods of a shape fit on all nodes, without constraints between nodes."""
        demand = self._demand(pod_set)
        if demand is not None:
            return self.nodes.total(demand)
        return feasible_nodes_of(self.snapshot, pod_set.shape).total_pods(When.CURRENT)

    def next_gang(self, index: int) -> WaitingGang:
        """Return the next gang of a class to get nodes."""
        return self.rests.get(index, self.classes[index].first)

    def _place_next(self, index: int) -> bool:
        """Place one more gang of a class. Return whether it got all its nodes."""
        decided = self.classes[index].is_decided
        gang = self.next_gang(index)
        if decided and self.place(gang):
            self.placed[index] += not self._is_related(gang)
            self._end(index)
            return True
        if decided or self.takes_undecided:
            self._place_part(index, gang)
        return False

    def _is_related(self, gang: WaitingGang) -> bool:
        """Return whether a term of the gang, or of a gang that has its nodes, could be about pods of the other."""
        own = any(may_select(term, self.namespaces) for term in terms_of(gang))
        return own or any(may_select(term, (gang.ref.namespace,)) for term in self.terms)

    def _end(self, index: int) -> None:
        """Note that a gang of a class has all its nodes."""
        gang = self.next_gang(index)
        self.namespaces.add(gang.ref.namespace)
        self.terms.update(terms_of(gang))
        self.rests.pop(index, None)
        self.remaining[index] -= 1

    def place(self, gang: WaitingGang) -> bool:
        """Place all waiting members of a gang, or none. Return whether it got its nodes."""
        self.budget.spend()
        before = self.nodes
        if len(gang.requests) > 1:
            self.nodes = before.copy()
        for request in gang.requests:
            placed = self._placement_of(request)
            if placed is None:
                self.nodes = before
                return False
            self.nodes.put(placed)
        return True

    def _placement_of(self, request: PlacementRequest) -> PlacedPods | None:
        """Return nodes for all pods of a request that the scheduler provably finds, else None."""
        request = replace(request, quorum=None)
        is_plain = len(request.pod_sets) == 1 and not request.topology_keys
        if is_plain and (demand := self._demand(request.pod_sets[0])) is not None:
            return self._placement_of_equal(request, demand)
        snapshot = self.snapshot
        is_mixed = sum(bool(pod_set.count) for pod_set in request.pod_sets) > 1
        if is_mixed and scoring_cost(request, snapshot) > MAX_SCORES:
            return None
        fit = check_fit(request, snapshot, When.CURRENT, request.size, steps=STEPS)
        if fit.answer is not FitAnswer.YES or (
            is_mixed and not is_found_in_scheduler_order(request, snapshot, request.size)
        ):
            return None
        if self.choice is Choice.PACKED or has_relations(request):
            return self._rows_of(request, fit.placement)
        if is_plain and self.choice in (Choice.WIDEST, Choice.DRAWN):
            (pod_set,) = request.pod_sets
            places = feasible_nodes_of(snapshot, pod_set.shape).max_pods(When.CURRENT)
            return _of_shape(pod_set, self._chosen(places, pod_set.count))
        return self._rows_of(request, scheduler_placement(request, snapshot) or fit.placement)

    def _placement_of_equal(self, request: PlacementRequest, demand: Demand) -> PlacedPods | None:
        """Return nodes for equal pods for which only node properties and free amounts decide."""
        (pod_set,) = request.pod_sets
        if not demand.is_understood or not self.nodes.takes(demand, pod_set.count):
            return None
        if self.choice is Choice.SCORED:
            placement = scheduler_placement(request, self.snapshot)
            if placement is not None:
                return self._rows_of(request, placement)
        return _of_shape(pod_set, self._chosen(self.nodes.places(demand), pod_set.count))

    def _chosen(self, places: IntColumn, count: int) -> Mapping[int, int]:
        if self.choice is Choice.WIDEST:
            return widest_nodes(places, count)
        if self.choice is Choice.DRAWN:
            return drawn_nodes(places, count, self.draws)
        return packed_nodes(places, count)

    def _rows_of(
        self, request: PlacementRequest, placement: Mapping[str, Mapping[str, int]]
    ) -> PlacedPods:
        shapes = {pod_set.shape.name: pod_set.shape for pod_set in request.pod_sets}
        return [
            (row, shapes[shape], number)
            for name, pods in placement.items()
            if (row := self.ground.snapshot.row(name)) is not None
            for shape, number in pods.items()
            if number
        ]

    # Parts of gangs

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
        if not request.topology_keys and len(request.pod_sets) == 1:
            demand = self._demand(request.pod_sets[0])
            if demand is not None:
                return self._place_equal(request, demand)
        if request.quorum is not None:
            fit = check_fit(request, self.snapshot, When.CURRENT, request.needed, steps=STEPS)
            if fit.answer is not FitAnswer.YES:
                return request
            request = self._put(request, self._rows_of(request, fit.placement))
        for pod_set in request.pod_sets:
            number = min(pod_set.count, self.total_places(pod_set))
            if not number:
                continue
            part = replace(request, pod_sets=(replace(pod_set, count=number),))
            fit = check_fit(part, self.snapshot, When.CURRENT, number, steps=STEPS)
            if fit.answer is FitAnswer.YES:
                request = self._put(request, self._rows_of(part, fit.placement))
        return request

    def _place_equal(self, request: PlacementRequest, demand: Demand) -> PlacementRequest:
        """Place as many equal pods as fit, if they are enough for the quorum. Return the pods without a node."""
        (pod_set,) = request.pod_sets
        needed = max(1, request.needed if request.quorum is not None else 1)
        if not demand.is_understood or needed > pod_set.count:
            return request
        if not self.nodes.takes(demand, needed):
            return request
        chosen = packed_nodes(self.nodes.places(demand), pod_set.count)
        return self._put(request, _of_shape(pod_set, chosen))

    def _put(self, request: PlacementRequest, placed: PlacedPods) -> PlacementRequest:
        """Put pods on nodes. Return the pods of the request that are left."""
        self.nodes.put(placed)
        numbers = Counter[str]()
        for _, shape, number in placed:
            numbers[shape.name] += number
        return replace(
            request,
            pod_sets=tuple(
                replace(pod_set, count=max(0, pod_set.count - numbers[pod_set.shape.name]))
                for pod_set in request.pod_sets
            ),
            quorum=None,
        )


def _of_shape(pod_set: PodSet, numbers: Mapping[int, int]) -> PlacedPods:
    return [(row, pod_set.shape, number) for row, number in numbers.items()]


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
