"""Search for the next step of a plan: changes of one kind, tried for one class of waiting gangs after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from gangboard.domain.capacity import RunningGang
from gangboard.domain.cluster_plan import MovablePod, PlanStepKind
from gangboard.domain.resources import is_accelerator
from gangboard.placement.node_columns import BoolColumn
from gangboard.placement.plan_budget import SearchBudget
from gangboard.placement.plan_changes import (
    MAX_GANGS,
    NODE_KINDS,
    Change,
    apply_to,
    suspends,
    taint_removals,
    uncordons,
)
from gangboard.placement.plan_classes import GangClass
from gangboard.placement.plan_fewest import ChangeSet, fewest_changes
from gangboard.placement.plan_ground import Demand, Demands, Ground
from gangboard.placement.plan_moves import move_elsewhere, moves, nodes_to_cordon
from gangboard.placement.plan_promises import Promises
from gangboard.placement.plan_room import Room

MAX_NODES = 50
"""Most nodes that one step opens."""
MAX_COMPETITORS = 3
"""Most gangs that get nodes in the same step, so that the target gets some in every order."""

PodsOn = Callable[[Sequence[str]], Sequence[MovablePod]]
"""Returns the movable pods on nodes, by name."""


@dataclass(frozen=True, slots=True)
class StepCandidate:
    """Changes of one step, and the rooms after them."""

    changes: tuple[Change, ...]
    rooms: list[Room]
    gained: tuple[int, ...]
    """Gangs of each class that run after it in every room, and not before."""
    accelerators: int
    """Accelerators of all gangs that run after it, in the room with the fewest."""
    closed: tuple[str, ...] = ()
    """Nodes that are cordoned while pods move."""

    def rank(self, cost: int) -> tuple[float, ...]:
        """Return the order among candidates, the best last."""
        gangs = sum(self.gained)
        priority = self.changes[0].priority
        return self.accelerators / cost, gangs / cost, self.accelerators, -priority


@dataclass(slots=True)
class StepSearch:
    """The state after the steps so far, and the search for the next one."""

    promises: Promises
    demands: Demands
    rooms: list[Room]
    """The nodes after the steps so far, each with the gangs that get nodes."""
    running: Sequence[RunningGang]
    pods_on: PodsOn
    spared: Collection[str]
    budget: SearchBudget
    untried: set[int] = field(default_factory=set)
    """Classes for which the last search tried no changes, although they might have helped."""
    _accelerators: int = field(init=False)
    """Accelerators of all gangs that run after the steps so far, in the room with the fewest."""
    _demands: list[set[Demand | None]] = field(init=False)
    """Demands of each class. None: other pods decide about some of its pods."""

    @property
    def classes(self) -> tuple[GangClass, ...]:
        """Classes of all waiting gangs."""
        return self.promises.classes

    @property
    def ground(self) -> Ground:
        """The nodes after the steps so far, without waiting gangs."""
        return self.rooms[0].ground

    def best(self, kind: PlanStepKind, *, is_last: bool) -> StepCandidate | None:
        """Return the changes with most accelerators for each change. None: no change lets a gang run.

        The last step of a kind is the one with most accelerators. If the budget is spent before all changes were tried,
        the best of the tried ones counts.
        """
        self.untried = set()
        best: StepCandidate | None = None
        best_rank: tuple[float, ...] = ()
        for candidate in self._candidates(kind):
            rank = candidate.rank(1 if is_last else len(candidate.changes))
            if best is None or rank > best_rank:
                best, best_rank = candidate, rank
        return best

    def __post_init__(self) -> None:
        """Count the capacity of the rooms, which all candidates change."""
        self._demands = [
            {
                self.demands.of(pod_set.shape)
                for request in item.first.requests
                for pod_set in request.pod_sets
            }
            for item in self.classes
        ]
        self._continue_from(self.rooms, is_awaited=any(self.promises.counts))

    def take(self, candidate: StepCandidate) -> None:
        """Continue from the state after a step."""
        self._continue_from(candidate.rooms, is_awaited=any(candidate.gained))
        self.promises.add(candidate.gained)

    def _continue_from(self, rooms: Sequence[Room], *, is_awaited: bool) -> None:
        """Continue from settled rooms. `is_awaited` tells whether admins see a promised gang run before the next step."""
        self._accelerators = _least_accelerators(rooms)
        self.rooms = [room if is_awaited else room.unsettled or room for room in rooms]
        for room in self.rooms:
            room.unsettled = None
            room.nodes.rebase()

    # Candidates

    def _candidates(self, kind: PlanStepKind) -> Iterator[StepCandidate]:
        """Yield candidates until the budget is spent."""
        if kind is PlanStepKind.MOVE_PODS:
            for index in self._targets():
                yield from self._tried(index, self._move(index))
            return
        for changes, limit in self._changes(kind):
            if kind is PlanStepKind.UNCORDON and changes and not self.budget.is_over():
                everything = self._all(changes[:MAX_NODES])
                if everything is not None:
                    yield everything
            change_set = ChangeSet(self.ground, changes)
            for index in self._targets(change_set):
                candidate = self._enough(index, kind, change_set, limit)
                for tried in self._tried(index, candidate):
                    if self._is_worth(kind, tried):
                        yield tried

    def _tried(self, index: int, candidate: StepCandidate | None) -> Iterator[StepCandidate]:
        """Yield the candidate of a class. Without one after the budget is spent, the class counts as untried."""
        if candidate is not None:
            yield candidate
        elif self.budget.is_over():
            self.untried.add(index)

    def _targets(self, change_set: ChangeSet | None = None) -> Iterator[int]:
        """Yield the classes that the changes can help, until the budget is spent. The other ones are `untried` then."""
        for index in self.promises.targets():
            if self.budget.is_over():
                self.untried.add(index)
            elif self._may_help(change_set, index):
                yield index

    def _may_help(self, change_set: ChangeSet | None, index: int) -> bool:
        """Return whether all changes together may let a gang of the class run. False is certain."""
        room = self.rooms[0]
        return change_set is None or change_set.can_be_enough(room, room.next_gang(index))

    def _changes(self, kind: PlanStepKind) -> Iterator[tuple[list[Change], int]]:
        """Yield the possible changes of a kind, with the most that one step has of them. The longest lists come first."""
        nodes = self.ground.snapshot.nodes
        if kind is PlanStepKind.UNCORDON:
            yield list(uncordons(nodes)), MAX_NODES
        elif kind is PlanStepKind.REMOVE_TAINT:
            for removals in sorted(taint_removals(nodes).values(), key=len, reverse=True):
                yield removals, MAX_NODES
        else:
            yield list(suspends(self._stoppable(kind), kind)), MAX_GANGS

    def _stoppable(self, kind: PlanStepKind) -> Iterator[RunningGang]:
        """Yield the gangs that a step may suspend.

        An incomplete gang that may get its missing nodes without them is not among them.
        """
        whole = kind is PlanStepKind.STOP_WHOLE
        spared = {
            *self.spared,
            *self.promises.suspended,
            *(
                gang.ref.uid
                for index, item in enumerate(self.classes)
                if any(room.placed[index] for room in self.rooms)
                for gang in item.gangs
            ),
        }
        for gang in self.running:
            if gang.is_whole is whole and gang.root not in spared:
                yield gang

    def _is_worth(self, kind: PlanStepKind, candidate: StepCandidate) -> bool:
        """Return whether complete gangs stop for gangs that request more, or that have a higher priority."""
        if kind is not PlanStepKind.STOP_WHOLE:
            return True
        stopped = {change.ref.uid for change in candidate.changes}
        lost = sum(held_accelerators(gang) for gang in self.running if gang.root in stopped)
        lowest = min(
            item.first.priority
            for count, item in zip(candidate.gained, self.classes, strict=True)
            if count
        )
        return lost < candidate.accelerators or all(
            change.priority < lowest for change in candidate.changes
        )

    def _enough(
        self, index: int, kind: PlanStepKind, change_set: ChangeSet, limit: int
    ) -> StepCandidate | None:
        """Return the fewest changes with which a gang of the class runs in every room.

        In a room where other gangs take the capacity first, further changes are added.
        """
        chosen: tuple[Change, ...] = ()
        allowed = self._allowed(index, kind, change_set)
        room = self.rooms[0]
        for _ in range(1 + MAX_COMPETITORS):
            gang = room.next_gang(index)
            more = fewest_changes(change_set, room, gang, allowed, limit=limit - len(chosen))
            if not more or self.budget.is_over():
                return None
            chosen += more
            rooms = []
            for settled in self._settled(chosen):
                rooms.append(settled)
                if settled.placed[index] <= self.promises.counts[index]:
                    room = settled
                    break
            else:
                return self._candidate(chosen, rooms)
            allowed = allowed & np.array([item not in more for item in change_set.changes])
        return None

    def _allowed(self, index: int, kind: PlanStepKind, change_set: ChangeSet) -> BoolColumn:
        """Return the changes that may be made for a class.

        No gang of a higher priority is suspended for it, and no gang for itself.
        """
        if kind in NODE_KINDS:
            return np.ones(len(change_set.changes), dtype=np.bool_)
        item = self.classes[index]
        own = item.first.ref.uid if len(item.gangs) == 1 else ""
        return np.array(
            [
                change.priority <= item.first.priority and change.ref.uid != own
                for change in change_set.changes
            ],
            dtype=np.bool_,
        )

    def _all(self, changes: Sequence[Change]) -> StepCandidate | None:
        """Return all changes of nodes that gangs then use, whichever gangs these are."""
        rooms = list(self._settled(changes))
        used = []
        for change in changes:
            row = self.ground.snapshot.row(change.ref.name)
            before = self.rooms[0].nodes.pods
            if row is not None and any(room.nodes.pods[row] > before[row] for room in rooms):
                used.append(change)
        if not used:
            return None
        if len(used) < len(changes):
            rooms = list(self._settled(used))
        return self._candidate(used, rooms)

    def _candidate(
        self, chosen: Sequence[Change], rooms: list[Room], closed: tuple[str, ...] = ()
    ) -> StepCandidate | None:
        """Return a candidate. None: it helps no gang, or the budget was spent before all rooms were settled."""
        gained = self.promises.gained(rooms)
        accelerators = _least_accelerators(rooms) - self._accelerators
        if self.budget.is_over() or (not any(gained) and accelerators <= 0):
            return None
        promised = sum(
            count * item.accelerators for count, item in zip(gained, self.classes, strict=True)
        )
        return StepCandidate(tuple(chosen), rooms, gained, max(promised, accelerators), closed)

    # Rooms after changes

    def _settled(self, changes: Sequence[Change]) -> Iterator[Room]:
        """Yield all rooms after changes, with every gang placed that fits then."""
        rooms = [room.copy() for room in self.rooms]
        apply_to(rooms, changes)
        among = self._gainers(rooms[0].ground, changes)
        stopped = tuple(self.promises.classes_of({change.ref.uid for change in changes}))
        for room in rooms:
            for index in stopped:
                room.remaining[index] = max(0, room.remaining[index] - 1)
            room.settle(among)
            yield room

    def _gainers(self, ground: Ground, changes: Sequence[Change]) -> frozenset[int]:
        """Return the classes with a pod that may use a changed node, as if no waiting gang was on it.

        Other pods decide about a pod with constraints between pods, so its class may gain by any change.
        """
        names = {name for change in changes for name in change.nodes}
        rows = np.array(
            [row for name in names if (row := ground.snapshot.row(name)) is not None],
            dtype=np.int64,
        )
        gains: dict[Demand | None, bool] = {None: True}

        def may_gain(demand: Demand | None) -> bool:
            if demand not in gains and demand is not None:
                gains[demand] = ground.takes_any(demand, rows)
            return gains[demand]

        return frozenset(
            index for index, demands in enumerate(self._demands) if any(map(may_gain, demands))
        )

    def _move(self, index: int) -> StepCandidate | None:
        """Return the fewest pods to move, if each finds another node in every room, and the gang runs then."""
        gang = self.rooms[0].next_gang(index)
        chosen = moves(self.rooms[0], gang, self.pods_on)
        if not chosen or self.budget.is_over():
            return None
        closed = nodes_to_cordon(self.rooms[0], gang, chosen)
        rooms = [room.copy() for room in self.rooms]
        apply_to(rooms, chosen)
        among = self._gainers(rooms[0].ground, chosen)
        for room in rooms:
            if not move_elsewhere(room, chosen, closed):
                return None
            room.settle(among)
        return self._candidate(chosen, rooms, closed)


def _least_accelerators(rooms: Sequence[Room]) -> int:
    return min(room.accelerators for room in rooms)


def held_accelerators(gang: RunningGang) -> int:
    """Return the accelerators that a gang holds and a suspend frees."""
    return sum(
        amount
        for load in gang.active_loads.values()
        for name, amount in load.amounts.items()
        if is_accelerator(name)
    )
