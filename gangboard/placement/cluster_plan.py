"""The plan of a cluster: few steps, the least harm first, that let most waiting accelerators run together.

The search is greedy. In each stage (`PlanStepKind`) it tries the fewest changes for each class of waiting gangs, and
takes those that bring most accelerators for each change. It checks each step in all rooms of `plan_room`, with the
placement arithmetic of the verdicts. So the gains of a step are true after the steps before it, and all promised gangs
fit together.

Gangs that request most accelerators are tried first, so the end of the budget cuts the smallest gains. The plan says
which gangs were not tried.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime

from gangboard.domain.capacity import ClusterCapacity, NodeInfo, RunningGang
from gangboard.domain.cluster_plan import (
    ClusterPlan,
    PlanGain,
    PlanStep,
    PlanStepKind,
    UntriedGangs,
    WaitingGang,
)
from gangboard.domain.objects import node_ref
from gangboard.domain.owner import Owner
from gangboard.domain.verdict import Verdict
from gangboard.facts.suspensions import writers_text
from gangboard.placement.gang_nodes import without_requested
from gangboard.placement.node_snapshot import NodeSnapshot, snapshot_of
from gangboard.placement.plan_budget import SearchBudget
from gangboard.placement.plan_changes import NODE_KINDS
from gangboard.placement.plan_classes import gang_classes, is_decided, ways_for
from gangboard.placement.plan_ground import Demands, Ground
from gangboard.placement.plan_nodes import FilledNodes
from gangboard.placement.plan_promises import Promises, least_placed
from gangboard.placement.plan_room import Room
from gangboard.placement.plan_search import PodsOn, StepCandidate, StepSearch

SECONDS = 2.0
"""Time for one plan. The search stops then, with the steps that it has."""
MAX_STEPS_OF_KIND = 3
"""Most steps of one kind. The last one may open all nodes that gangs would use."""


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
    budget: SearchBudget | None = None,
) -> ClusterPlan:
    """Return the plan of a cluster.

    `waiting` are the gangs that wait for nodes and nothing else. `pods_on` returns the pods that may move. `spared` are
    uids of incomplete gangs that are only just starting. The steps that stop complete gangs come last. Without a
    `budget`, the search may take SECONDS.
    """
    gangs = tuple(waiting)
    if capacity.why:
        return ClusterPlan(why=capacity.why)
    if not gangs:
        return ClusterPlan()
    running = tuple(capacity.running_gangs())
    promises, demands = Promises(gang_classes(gangs)), Demands()
    budget = budget or SearchBudget(SECONDS)
    start = Ground(without_terminating(snapshot_of(capacity), running, now))
    rooms = _settled_rooms(promises, FilledNodes(start, demands), budget)
    steps: list[PlanStep] = []
    without_steps: tuple[PlanGain, ...] = ()
    if budget.is_over():
        # A gang that was not placed yet may take the capacity of any step, so no step is known to hold.
        untried = dict.fromkeys(PlanStepKind, frozenset(promises.targets()))
    else:
        untried = {}
        promises.add(least_placed(rooms))
        without_steps = promises.gains(promises.counts)
        search = StepSearch(promises, demands, rooms, running, pods_on, spared, budget)
        for position, kind in enumerate(PlanStepKind):
            budget.begin_stage(len(PlanStepKind) - position)
            steps += _steps(kind, search)
            untried[kind] = frozenset(search.untried)
    left = tuple(
        UntriedGangs(kind, *promises.size(indexes)) for kind, indexes in untried.items() if indexes
    )
    return ClusterPlan(
        tuple(steps),
        without_steps,
        len(gangs),
        sum(gang.accelerators for gang in gangs),
        sum(not is_decided(gang) for gang in gangs),
        not left,
        untried=left,
    )


def _settled_rooms(promises: Promises, nodes: FilledNodes, budget: SearchBudget) -> list[Room]:
    """Return all rooms with every gang placed that fits now."""
    classes = promises.classes
    rooms = [
        Room.make(number, way, classes, nodes, budget)
        for number, way in enumerate(ways_for(classes), start=1)
    ]
    for room in rooms:
        room.settle(frozenset(range(len(classes))))
    return rooms


def _steps(kind: PlanStepKind, search: StepSearch) -> Iterator[PlanStep]:
    """Yield the steps of one kind, each after the one before it."""
    for number in range(1, MAX_STEPS_OF_KIND + 1):
        search.budget.begin_step(1 + MAX_STEPS_OF_KIND - number)
        candidate = search.best(kind, is_last=number == MAX_STEPS_OF_KIND)
        if candidate is None:
            return
        if kind in (PlanStepKind.END_INCOMPLETE, PlanStepKind.STOP_WHOLE):
            search.promises.suspended.update(change.ref.uid for change in candidate.changes)
        search.take(candidate)
        yield _step(kind, candidate, search.promises.gains(candidate.gained))


def _step(kind: PlanStepKind, candidate: StepCandidate, gains: tuple[PlanGain, ...]) -> PlanStep:
    refs = tuple(change.ref for change in candidate.changes)
    accelerators = candidate.accelerators
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
        closed = tuple(map(node_ref, candidate.closed))
        return PlanStep(kind, gains, accelerators, closed, pods=refs)
    return PlanStep(kind, gains, accelerators, gangs=refs)


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
