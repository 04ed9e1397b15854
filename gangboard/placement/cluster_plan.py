"""The plan of a cluster: few steps, the least harm first, that let most waiting accelerators run together.

The search is greedy. In each stage (`PlanStepKind`) it tries the fewest changes for each class of waiting gangs, and
takes those that bring most accelerators for each change. It checks each step in all rooms of `plan_room`, with the
placement arithmetic of the verdicts. So the gains of a step are true after the steps before it, and all promised gangs
fit together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gangboard.domain.capacity import (
    ClusterCapacity,
    NodeInfo,
    RunningGang,
)
from gangboard.domain.cluster_plan import (
    MAX_NAMED,
    ClusterPlan,
    MovablePod,
    PlanGain,
    PlanStep,
    PlanStepKind,
    WaitingGang,
)
from gangboard.domain.objects import node_ref
from gangboard.domain.owner import Owner
from gangboard.domain.resources import is_accelerator
from gangboard.domain.verdict import Verdict
from gangboard.facts.suspensions import writers_text
from gangboard.placement.gang_nodes import without_requested
from gangboard.placement.node_snapshot import NodeSnapshot, snapshot_of
from gangboard.placement.plan_changes import (
    MAX_GANGS,
    NODE_KINDS,
    Change,
    ChangeSet,
    after,
    apply,
    fewest_changes,
    suspends,
    taint_removals,
    uncordons,
)
from gangboard.placement.plan_classes import GangClass, gang_classes, is_decided, room_count
from gangboard.placement.plan_moves import move_elsewhere, moves, nodes_to_cordon
from gangboard.placement.plan_room import Room

SECONDS = 2.0
"""Time for one plan. The search stops then, with the steps that it has."""
MAX_STEPS_OF_KIND = 3
"""Most steps of one kind. The last one may open all nodes that gangs would use."""
MAX_NODES = 50
"""Most nodes that one step opens."""
MAX_TARGETS = 24
"""Most classes for which changes are tried before each step."""
MAX_COMPETITORS = 3
"""Most gangs that get nodes in the same step, so that the target gets some in every order."""

PodsOn = Callable[[Sequence[str]], Sequence[MovablePod]]
"""Returns the movable pods on nodes, by name."""


def waiting_gang_of(owner: Owner, verdict: Verdict) -> WaitingGang | None:
    """Return the members of a gang that wait for nodes. None: no member waits."""
    requests = verdict.node_requests
    if requests is None:
        return None
    return WaitingGang(
        owner.meta.ref,
        requests.requests,
        verdict.priority_value or 0,
        owner.meta.created_at,
        requests.is_solved_by_capacity,
    )


def make_plan(
    capacity: ClusterCapacity,
    waiting: Iterable[WaitingGang],
    pods_on: PodsOn,
    now: datetime,
    *,
    spared: Collection[str] = (),
    seconds: float = SECONDS,
) -> ClusterPlan:
    """Return the plan of a cluster.

    `waiting` are the gangs that wait for nodes and nothing else. `pods_on` returns the pods that may move. `spared` are
    uids of incomplete gangs that are only just starting. The steps that stop complete gangs come last.
    """
    gangs = tuple(waiting)
    if capacity.why:
        return ClusterPlan(why=capacity.why)
    if not gangs:
        return ClusterPlan()
    planner = _Planner(
        gang_classes(gangs),
        tuple(capacity.running_gangs()),
        pods_on,
        spared,
        give_up_at=time.monotonic() + seconds,
        stage_ends_at=time.monotonic() + seconds,
    )
    steps = planner.plan(snapshot_of(capacity), now)
    return ClusterPlan(
        steps,
        planner.without_steps,
        len(gangs),
        sum(gang.accelerators for gang in gangs),
        sum(not is_decided(gang) for gang in gangs),
        not planner.is_cut,
    )


@dataclass(slots=True)
class _Candidate:
    """Changes of one step, and the rooms after them."""

    changes: tuple[Change, ...]
    rooms: list[Room]
    gained: tuple[int, ...]
    """Gangs of each class that run after it in every room, and not before."""
    accelerators: int
    """Accelerators of all gangs that run after it, in the room with the fewest."""
    closed: tuple[str, ...] = ()
    """Nodes that are cordoned while pods move."""


@dataclass(slots=True)
class _Planner:
    classes: tuple[GangClass, ...]
    running: Sequence[RunningGang]
    pods_on: PodsOn
    spared: Collection[str]
    give_up_at: float
    stage_ends_at: float
    without_steps: tuple[PlanGain, ...] = ()
    is_cut: bool = False
    rooms: list[Room] = field(default_factory=list)
    bare: Room | None = None
    """The nodes after the steps so far, without any waiting gang on them."""
    reach: dict[int, frozenset[int]] = field(default_factory=dict)
    """`id` of a change that is tried → classes that may gain by it."""
    promised: list[int] = field(default_factory=list)
    """Gangs of each class that run after the steps so far."""
    suspended: set[str] = field(default_factory=set)
    """uids of the gangs that steps suspend."""

    def plan(self, snapshot: NodeSnapshot, now: datetime) -> tuple[PlanStep, ...]:
        """Return the steps."""
        start = without_terminating(snapshot, self.running, now)
        numbers = range(room_count(self.classes))
        self.rooms = [Room.make(number, self.classes, start) for number in numbers]
        self.bare = self.rooms[0].copy()
        for room in self.rooms:
            room.settle(range(len(self.classes)), self.is_over)
        if self.is_over():
            return ()
        self.promised = self._least_placed(self.rooms)
        self.without_steps = self._gains(tuple(self.promised))
        steps: list[PlanStep] = []
        for kind in PlanStepKind:
            self._begin_stage(kind)
            for number in range(1, MAX_STEPS_OF_KIND + 1):
                candidate = self._best(kind, is_last=number == MAX_STEPS_OF_KIND)
                if candidate is None:
                    break
                steps.append(self._take(kind, candidate))
        return tuple(steps)

    def _begin_stage(self, kind: PlanStepKind) -> None:
        """Share the rest of the time equally among the remaining stages. The first steps may take twice their share."""
        stages = len(PlanStepKind) - list(PlanStepKind).index(kind)
        now = time.monotonic()
        self.stage_ends_at = min(self.give_up_at, now + 2 * (self.give_up_at - now) / stages)

    def is_over(self) -> bool:
        """Return whether the time of the stage is over, and note it."""
        if time.monotonic() < self.stage_ends_at:
            return False
        self.is_cut = True
        return True

    # One step

    def _best(self, kind: PlanStepKind, *, is_last: bool) -> _Candidate | None:
        """Return the changes with most accelerators for each change. None: no change lets a gang run.

        The last step of a kind is the one with most accelerators.
        """
        best: _Candidate | None = None
        best_rank: tuple[float, ...] = ()
        for candidate in self._candidates(kind):
            rank = self._rank(candidate, 1 if is_last else len(candidate.changes))
            if best is None or rank > best_rank:
                best, best_rank = candidate, rank
        return best

    def _candidates(self, kind: PlanStepKind) -> Iterator[_Candidate]:
        """Yield candidates until the time is over."""
        if kind is PlanStepKind.MOVE_PODS:
            for index in self._targets():
                candidate = self._move(index)
                if candidate is not None:
                    yield candidate
            return
        for changes, limit in self._changes(kind):
            self._find_reach(changes)
            if kind is PlanStepKind.UNCORDON:
                candidate = self._all(changes[:MAX_NODES])
                if candidate is not None:
                    yield candidate
            change_set = ChangeSet(self.rooms[0], changes)
            for index in self._targets(change_set):
                candidate = self._enough(index, kind, change_set, limit)
                if candidate is not None and self._is_worth(kind, candidate):
                    yield candidate

    def _find_reach(self, changes: Sequence[Change]) -> None:
        """Find the classes that may gain by each change, so that only these are tried again after it."""
        assert self.bare is not None  # noqa: S101 - `plan` sets it
        self.reach = ChangeSet(self.bare, changes).reach(self.classes)

    def _targets(self, change_set: ChangeSet | None = None) -> Iterator[int]:
        """Yield classes with a gang that does not run yet, and that the changes can help, until the time is over."""
        number = 0
        for index, item in enumerate(self.classes):
            if self.is_over() or number == MAX_TARGETS:
                return
            if self.promised[index] >= self._waiting(index) or not is_decided(item.first):
                continue
            gang = self.rooms[0].next_gang(index)
            if change_set is None or change_set.can_be_enough(gang):
                number += 1
                yield index

    def _waiting(self, index: int) -> int:
        """Return the number of gangs of a class, without those that steps suspend."""
        return sum(gang.ref.uid not in self.suspended for gang in self.classes[index].gangs)

    def _rank(self, candidate: _Candidate, cost: int) -> tuple[float, ...]:
        gangs = sum(candidate.gained)
        priority = candidate.changes[0].priority
        return candidate.accelerators / cost, gangs / cost, candidate.accelerators, -priority

    def _changes(self, kind: PlanStepKind) -> Iterator[tuple[list[Change], int]]:
        """Yield the possible changes of a kind, with the most that one step has of them."""
        nodes: Iterable[NodeInfo] = self.rooms[0].snapshot.nodes
        if kind is PlanStepKind.UNCORDON:
            yield list(uncordons(nodes)), MAX_NODES
        elif kind is PlanStepKind.REMOVE_TAINT:
            for removals in taint_removals(nodes).values():
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
            *self.suspended,
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

    def _is_worth(self, kind: PlanStepKind, candidate: _Candidate) -> bool:
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
    ) -> _Candidate | None:
        """Return the fewest changes with which a gang of the class runs in every room.

        In a room where other gangs take the capacity first, further changes are added.
        """
        chosen: tuple[Change, ...] = ()
        changes = [
            change
            for change in change_set.changes
            if kind in NODE_KINDS or self._may_stop(change, index)
        ]
        if len(changes) < len(change_set.changes):
            change_set = ChangeSet(change_set.room, changes)
        for _ in range(1 + MAX_COMPETITORS):
            gang = change_set.room.next_gang(index)
            more = fewest_changes(change_set, gang, limit=limit - len(chosen))
            if not more or self.is_over():
                return None
            chosen += more
            rooms = self._settled(chosen)
            placed = self._least_placed(rooms)
            if placed[index] > self.promised[index]:
                return self._candidate(chosen, rooms)
            room = min(rooms, key=lambda item: item.placed[index])
            rest = [change for change in changes if change not in chosen]
            change_set = ChangeSet(room, rest)
        return None

    def _may_stop(self, change: Change, index: int) -> bool:
        """Return whether a gang may be suspended for a class: not for a lower priority, nor for itself."""
        item = self.classes[index]
        is_own = len(item.gangs) == 1 and item.first.ref.uid == change.ref.uid
        return change.priority <= item.first.priority and not is_own

    def _all(self, changes: Sequence[Change]) -> _Candidate | None:
        """Return all changes of nodes that gangs then use, whichever gangs these are."""
        rooms = self._settled(changes)
        used = [
            change
            for change in changes
            if any(
                (now := room.node(change.ref.name)) is not None
                and (before := self.rooms[0].node(change.ref.name)) is not None
                and now.now.pods > before.now.pods
                for room in rooms
            )
        ]
        return self._candidate(used, self._settled(used)) if used else None

    def _candidate(
        self, chosen: Sequence[Change], rooms: list[Room], closed: tuple[str, ...] = ()
    ) -> _Candidate | None:
        """Return a candidate. None: it helps no gang, or the time was over before all rooms were settled."""
        placed = self._least_placed(rooms)
        gained = tuple(
            max(0, now - before) for now, before in zip(placed, self.promised, strict=True)
        )
        accelerators = self._least_accelerators(rooms) - self._least_accelerators(self.rooms)
        if self.is_over() or (not any(gained) and accelerators <= 0):
            return None
        promised = sum(
            count * item.first.accelerators
            for count, item in zip(gained, self.classes, strict=True)
        )
        return _Candidate(tuple(chosen), rooms, gained, max(promised, accelerators), closed)

    def _settled(self, changes: Sequence[Change]) -> list[Room]:
        """Return all rooms after changes, with every gang placed that fits then."""
        rooms = [after(room, changes) for room in self.rooms]
        among = self._among(changes)
        stopped = {change.ref.uid for change in changes}
        for room in rooms:
            for index, item in enumerate(self.classes):
                ended = sum(gang.ref.uid in stopped for gang in item.gangs)
                room.remaining[index] = max(0, room.remaining[index] - ended)
            room.settle(among, self.is_over)
        return rooms

    def _among(self, changes: Iterable[Change]) -> frozenset[int]:
        """Return the classes that may gain by these changes."""
        return frozenset().union(*(self.reach[id(change)] for change in changes))

    def _least_placed(self, rooms: Sequence[Room]) -> list[int]:
        return [min(room.placed[index] for room in rooms) for index in range(len(self.classes))]

    def _least_accelerators(self, rooms: Sequence[Room]) -> int:
        return min(room.accelerators for room in rooms)

    def _take(self, kind: PlanStepKind, candidate: _Candidate) -> PlanStep:
        """Take a step, and return it."""
        refs = tuple(change.ref for change in candidate.changes)
        if kind in (PlanStepKind.END_INCOMPLETE, PlanStepKind.STOP_WHOLE):
            self.suspended.update(ref.uid for ref in refs)
        gains = self._gains(candidate.gained)
        self.rooms = candidate.rooms
        if self.bare is not None:
            apply(self.bare, candidate.changes)
        self.promised = [
            before + more for before, more in zip(self.promised, candidate.gained, strict=True)
        ]
        accelerators, closed = candidate.accelerators, tuple(map(node_ref, candidate.closed))
        if kind in NODE_KINDS:
            return PlanStep(
                kind,
                gains,
                accelerators,
                refs,
                candidate.changes[0].taint,
                by=writers_text(change.writer for change in candidate.changes),
            )
        if kind is PlanStepKind.MOVE_PODS:
            return PlanStep(kind, gains, accelerators, closed, pods=refs)
        return PlanStep(kind, gains, accelerators, gangs=refs)

    def _gains(self, counts: Sequence[int]) -> tuple[PlanGain, ...]:
        gains = []
        for count, item in zip(counts, self.classes, strict=True):
            if count:
                refs = [gang.ref for gang in item.gangs if gang.ref.uid not in self.suspended]
                named = tuple(refs[:MAX_NAMED])
                gains.append(PlanGain(named, len(refs), count, item.first.accelerators))
        return tuple(gains)

    # Moves

    def _move(self, index: int) -> _Candidate | None:
        """Return the fewest pods to move, if each finds another node in every room, and the gang runs then."""
        gang = self.rooms[0].next_gang(index)
        chosen = moves(self.rooms[0], gang, self.pods_on)
        if not chosen or self.is_over():
            return None
        closed = nodes_to_cordon(self.rooms[0], gang, chosen)
        self._find_reach(chosen)
        rooms = []
        for room in self.rooms:
            moved = after(room, chosen)
            if not move_elsewhere(moved, chosen, closed):
                return None
            moved.settle(self._among(chosen), self.is_over)
            rooms.append(moved)
        return self._candidate(chosen, rooms, closed)


def without_terminating(
    snapshot: NodeSnapshot, running: Iterable[RunningGang], now: datetime
) -> NodeSnapshot:
    """Return the nodes without the pods that are being deleted and that no controller replaces.

    A pod that still exists after its time is stuck and keeps its capacity.
    """
    changed: dict[str, NodeInfo] = {}
    for gang in running:
        for termination in gang.terminations:
            if not termination.deleted or termination.replaced or termination.rounded <= now:
                continue
            for name, load in termination.loads.items():
                row = snapshot.row(name)
                if row is not None:
                    changed[name] = without_requested(changed.get(name, snapshot.nodes[row]), load)
    return snapshot.changed(changed)


def held_accelerators(gang: RunningGang) -> int:
    """Return the accelerators that a gang holds and a suspend frees."""
    return sum(
        amount
        for load in gang.active_loads.values()
        for name, amount in load.amounts.items()
        if is_accelerator(name)
    )
