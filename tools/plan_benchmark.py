"""Time and memory of the plan of a cluster, on generated clusters in memory."""

from __future__ import annotations

import cProfile
import gc
import pstats
import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import StringIO

from gangboard.domain.capacity import ClusterCapacity
from gangboard.domain.cluster_plan import ClusterPlan, WaitingGang
from gangboard.placement.cluster_plan import make_plan
from gangboard.placement.plan_budget import SearchBudget
from gangboard.placement.plan_classes import gang_classes
from tools.placement_benchmark import Bench, waiting_gangs
from tools.placement_fleet import NOW, make_fleet

PODS_OF_A_NODE = 10
DRAINED = 25
"""Every node of this number is cordoned and empty, so that a plan has steps."""
FEW = 20
"""Different requests of a case with few of them."""


@dataclass(frozen=True, slots=True)
class PlanCase:
    """A cluster, and the gangs that wait for its nodes."""

    capacity: ClusterCapacity
    waiting: Sequence[WaitingGang]
    classes: int
    """Number of different requests."""


@dataclass(frozen=True, slots=True)
class PlanCost:
    """A plan, and what it took."""

    plan: ClusterPlan
    seconds: float
    """CPU seconds."""
    placements: int
    peak: int
    """Most bytes in use, measured in a second run with the same number of placements."""


def plan_cases(nodes: int, gangs: int, shapes: int, seed: int) -> tuple[PlanCase, PlanCase]:
    """Return a cluster whose gangs have FEW different requests, and the same one with many."""
    fleet = make_fleet(
        nodes=nodes, pods=PODS_OF_A_NODE * nodes, gangs=gangs, shapes=shapes, seed=seed
    )
    bench = Bench(fleet)
    waiting = waiting_gangs(fleet.pending, bench.judge(fleet.pending))
    many = [replace(gang, is_solved_by_capacity=True) for gang in waiting]
    few = [replace(many[number % FEW], ref=gang.ref) for number, gang in enumerate(many)]
    capacity = _with_drained_nodes(bench.cold())
    return _case(capacity, few), _case(capacity, many)


def _with_drained_nodes(capacity: ClusterCapacity) -> ClusterCapacity:
    drained = {node.name for node in capacity.nodes[::DRAINED]}
    nodes = tuple(
        replace(node, unschedulable=True, now=node.pinned) if node.name in drained else node
        for node in capacity.nodes
    )
    running = [
        replace(
            gang, loads={name: load for name, load in gang.loads.items() if name not in drained}
        )
        for gang in capacity.running_gangs()
    ]
    return replace(capacity, nodes=nodes, running_gangs=lambda: running)


def _case(capacity: ClusterCapacity, waiting: Sequence[WaitingGang]) -> PlanCase:
    return PlanCase(capacity, waiting, len(gang_classes(waiting)))


def measure(case: PlanCase, seconds: float) -> PlanCost:
    """Return the plan of a case within so many CPU seconds, and its cost."""
    budget = _budget(seconds)
    gc.collect()
    started = time.process_time()
    plan = _plan(case, budget)
    used = time.process_time() - started
    tracemalloc.start()
    _plan(case, SearchBudget(60 * seconds, budget.placements))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return PlanCost(plan, used, budget.placements, peak)


def profile(case: PlanCase, seconds: float, lines: int) -> str:
    """Return the functions in which the plan of a case spends most time."""
    profiler = cProfile.Profile()
    profiler.enable()
    _plan(case, _budget(seconds))
    profiler.disable()
    out = StringIO()
    pstats.Stats(profiler, stream=out).strip_dirs().sort_stats("tottime").print_stats(lines)
    return out.getvalue()


def _plan(case: PlanCase, budget: SearchBudget) -> ClusterPlan:
    cold = replace(case.capacity, cache={})
    return make_plan(cold, case.waiting, lambda _: (), NOW, budget=budget)


def _budget(seconds: float) -> SearchBudget:
    """Return a budget of CPU seconds, so that other processes on the machine change no figure."""
    return SearchBudget(seconds, clock=_CpuClock())


class _CpuClock:
    """CPU seconds of this process, read at most every 5 ms, because each reading takes a system call."""

    def __init__(self) -> None:
        self._read_at, self._seconds = time.monotonic(), time.process_time()

    def __call__(self) -> float:
        """Return the CPU seconds so far."""
        now = time.monotonic()
        if now - self._read_at >= 0.005:
            self._read_at, self._seconds = now, time.process_time()
        return self._seconds
