"""Properties of plans on tiny clusters, checked by trying every assignment of pods to nodes in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from hypothesis import event, given
from hypothesis import strategies as st

from gangboard.domain.capacity import ClusterCapacity, NodeInfo, Requested, RunningGang
from gangboard.domain.cluster_plan import ClusterPlan, MovablePod, PlanStepKind, WaitingGang
from gangboard.domain.objects import ObjectRef
from gangboard.placement.cluster_plan import make_plan
from gangboard.placement.plan_budget import SearchBudget
from tests.domain_objects import NOW
from tests.placement.making import CORDON, GPU, gang, shape

NODES = "abcd"


@dataclass(frozen=True)
class Tiny:
    """A cluster of plain numbers."""

    sizes: Mapping[str, int]
    """Node → its GPUs."""
    cordoned: frozenset[str]
    incomplete: Mapping[str, Mapping[str, int]]
    """Gang that holds capacity → node → GPUs."""
    whole: Mapping[str, Mapping[str, int]]
    replicas: Mapping[str, tuple[str, int]]
    """Pod that may move → its node and its GPUs."""
    waiting: Mapping[str, tuple[int, int, bool]]
    """Gang → pods, GPUs of each, and whether its pods are placed together."""

    def used(self, node: str) -> int:
        """The GPUs in use on a node."""
        gangs = (*self.incomplete.values(), *self.whole.values())
        held = sum(loads.get(node, 0) for loads in gangs)
        return held + sum(gpus for on, gpus in self.replicas.values() if on == node)


@st.composite
def tiny_clusters(draw: st.DrawFn) -> Tiny:
    """A cluster of two to four nodes without an overfull one."""
    names = NODES[: draw(st.integers(2, 4))]
    sizes = {name: draw(st.integers(1, 4)) for name in names}
    free = dict(sizes)

    def hold(most: int) -> dict[str, int]:
        loads = {}
        for name in names:
            amount = draw(st.integers(0, min(most, free[name])))
            if amount:
                loads[name] = amount
                free[name] -= amount
        return loads

    incomplete = {"half": hold(2)} if draw(st.booleans()) else {}
    whole = {"whole": hold(3)} if draw(st.booleans()) else {}
    replicas = {}
    for name in names:
        if free[name] and draw(st.booleans()):
            replicas[f"web-{name}"] = (name, 1)
            free[name] -= 1
    waiting = {
        f"gang-{number}": (draw(st.integers(1, 3)), draw(st.integers(1, 4)), draw(st.booleans()))
        for number in range(draw(st.integers(1, 3)))
    }
    cordoned = frozenset(name for name in names if draw(st.booleans()))
    return Tiny(sizes, cordoned, incomplete, whole, replicas, waiting)


def ref(name: str) -> ObjectRef:
    return ObjectRef("batch", "Job", "team-a", name, f"uid-{name}")


def plan_of(tiny: Tiny) -> ClusterPlan:
    pods_on = Counter[str]()
    for loads in (*tiny.incomplete.values(), *tiny.whole.values()):
        pods_on.update(loads.keys())
    pods_on.update(on for on, _ in tiny.replicas.values())
    nodes = tuple(
        NodeInfo(
            name,
            {"kubernetes.io/hostname": name},
            taints=(CORDON,) if name in tiny.cordoned else (),
            unschedulable=name in tiny.cordoned,
            allocatable={GPU: size, "pods": 110},
            now=Requested({GPU: tiny.used(name)}, pods_on[name]),
        )
        for name, size in tiny.sizes.items()
    )
    running = [
        RunningGang(
            f"uid-{name}",
            ref(name),
            0,
            {node: Requested({GPU: gpus}, 1) for node, gpus in loads.items()},
            is_whole=name in tiny.whole,
        )
        for name, loads in (*tiny.incomplete.items(), *tiny.whole.items())
        if loads
    ]
    movable = [
        MovablePod(ref(name), on, shape("web", gpus), Requested({GPU: gpus}, 1))
        for name, (on, gpus) in tiny.replicas.items()
    ]
    waiting = [
        WaitingGang(ref(name), (gang(pods, shape("w", gpus), pods if together else None),))
        for name, (pods, gpus, together) in tiny.waiting.items()
    ]
    capacity = ClusterCapacity(nodes, running_gangs=lambda: running)
    return make_plan(
        capacity,
        waiting,
        lambda names: [pod for pod in movable if pod.node in names],
        NOW,
        budget=SearchBudget(60),
    )


def carried_out(tiny: Tiny, plan: ClusterPlan) -> tuple[Tiny, dict[str, frozenset[str]]]:
    """Return the cluster after all steps, without the moved pods, and the nodes that each moved pod must avoid."""
    moved: dict[str, frozenset[str]] = {}
    for step in plan.steps:
        names = frozenset(item.name for item in step.nodes)
        if step.kind is PlanStepKind.UNCORDON:
            tiny = replace(tiny, cordoned=tiny.cordoned - names)
        elif step.kind is PlanStepKind.MOVE_PODS:
            # A node that is cordoned by then takes no moved pod, even if a later step uncordons it.
            moved |= {item.name: names | tiny.cordoned for item in step.pods}
        ended = {item.name for item in step.gangs}
        tiny = replace(
            tiny,
            incomplete={name: of for name, of in tiny.incomplete.items() if name not in ended},
            whole={name: of for name, of in tiny.whole.items() if name not in ended},
        )
    replicas = {name: place for name, place in tiny.replicas.items() if name not in moved}
    return replace(tiny, replicas=replicas), moved


def fits(free: Mapping[str, int], pods: Sequence[tuple[int, frozenset[str]]]) -> bool:
    """Return whether all pods (GPUs, forbidden nodes) find a node, by trying every assignment."""
    if not pods:
        return True
    (gpus, forbidden), *rest = pods
    return any(
        fits({**free, name: left - gpus}, rest)
        for name, left in free.items()
        if left >= gpus and name not in forbidden
    )


def promised(plan: ClusterPlan) -> Counter[tuple[str, ...]]:
    """Return the names of equal gangs → how many of them run in the end."""
    counts = Counter[tuple[str, ...]]()
    for gains in (plan.without_steps, *(step.gains for step in plan.steps)):
        for gain in gains:
            counts[tuple(sorted(item.name for item in gain.gangs))] += gain.count
    return counts


@given(tiny_clusters())
def test_all_promised_gangs_fit_together_after_the_steps(tiny: Tiny) -> None:
    plan = plan_of(tiny)
    for step in plan.steps:
        event(step.kind.value)
    result, moved = carried_out(tiny, plan)
    free = {name: size - result.used(name) for name, size in result.sizes.items()}
    pods = [(tiny.replicas[name][1], forbidden) for name, forbidden in moved.items()]
    for names, count in promised(plan).items():
        assert count <= len(names)
        number, gpus, _ = tiny.waiting[names[0]]
        pods += [(gpus, result.cordoned)] * (number * count)
    assert fits(free, sorted(pods, key=lambda pod: -pod[0])), (plan, tiny)


@given(tiny_clusters())
def test_a_step_touches_only_what_its_kind_says(tiny: Tiny) -> None:
    """Whole gangs stop only in the last steps. Steps stay in the order of their harm."""
    plan = plan_of(tiny)
    kinds = [list(PlanStepKind).index(step.kind) for step in plan.steps]
    assert kinds == sorted(kinds)
    for step in plan.steps:
        ended = {item.name for item in step.gangs}
        if step.kind is PlanStepKind.STOP_WHOLE:
            assert ended <= tiny.whole.keys()
        else:
            assert ended <= tiny.incomplete.keys()
        assert step.gains or step.accelerators, step
        assert step.accelerators >= sum(gain.count * gain.accelerators for gain in step.gains)


# In any order

RUNS, BROKEN = 2_000, 0.002
"""Runs of drawn clusters, and the largest share of them in which a promised gang may not run."""


def test_promised_gangs_run_in_drawn_orders() -> None:
    """A scheduler in plain Python takes gangs and nodes by chance after the steps of a plan.

    After a step that promises no gang, the next one may come first.
    """
    dice = Random(41)
    runs = broken = 0
    while runs < RUNS:
        tiny = _drawn(dice)
        plan = plan_of(tiny)
        if plan.without_steps or not any(step.gains for step in plan.steps):
            continue
        for _ in range(10):
            runs += 1
            broken += not _is_kept(tiny, plan, dice)
    assert broken <= BROKEN * runs, f"{broken} of {runs}"


def _drawn(dice: Random) -> Tiny:
    """A full cluster: nodes are cordoned, or pods of an incomplete gang, a whole one or replicas are on them."""
    names = NODES[: dice.randint(2, 4)]
    sizes = {name: dice.randint(1, 4) for name in names}
    held = {name: dice.randint(0, size) for name, size in sizes.items()}
    replicas = {
        f"web-{name}": (name, 1)
        for name, size in sizes.items()
        if held[name] < size and dice.random() < 0.6
    }
    loads = {name: amount for name, amount in held.items() if amount}
    waiting = {
        f"gang-{number}": (dice.randint(1, 3), dice.randint(1, 4), dice.random() < 0.7)
        for number in range(dice.randint(1, 4))
    }
    cordoned = frozenset(name for name in names if dice.random() < 0.5)
    is_whole = dice.random() < 0.3
    gang = {"held": loads} if loads else {}
    return Tiny(
        sizes, cordoned, {} if is_whole else gang, gang if is_whole else {}, replicas, waiting
    )


def _is_kept(tiny: Tiny, plan: ClusterPlan, dice: Random) -> bool:
    """Return whether all promised gangs run after each step."""
    free = {name: size - tiny.used(name) for name, size in tiny.sizes.items()}
    cordoned, placed = set(tiny.cordoned), Counter[str]()
    counts = Counter[tuple[str, ...]]()
    _schedule(tiny, free, cordoned, placed, dice)
    for step in plan.steps:
        names = {item.name for item in step.nodes}
        if step.kind is PlanStepKind.UNCORDON:
            cordoned -= names
        for item in step.gangs:
            for name, amount in {**tiny.incomplete, **tiny.whole}[item.name].items():
                free[name] += amount
        for item in step.pods:
            on, gpus = tiny.replicas[item.name]
            free[on] += gpus
        for item in step.pods:
            gpus = tiny.replicas[item.name][1]
            places = [
                name for name, left in free.items() if left >= gpus and name not in names | cordoned
            ]
            if not places:
                return False
            free[dice.choice(places)] -= gpus
        if step is not plan.steps[-1] and not step.gains and dice.random() < 0.5:
            continue
        _schedule(tiny, free, cordoned, placed, dice)
        for gain in step.gains:
            counts[tuple(item.name for item in gain.gangs)] += gain.count
        whole = {name for name, (pods, _, _) in tiny.waiting.items() if placed[name] == pods}
        if any(len(whole & set(equal)) < count for equal, count in counts.items()):
            return False
    return True


def _schedule(
    tiny: Tiny, free: dict[str, int], cordoned: set[str], placed: Counter[str], dice: Random
) -> None:
    """Place what fits, in a drawn order and on drawn nodes: gangs as a whole, other pods one by one."""
    for name in dice.sample(sorted(tiny.waiting), len(tiny.waiting)):
        pods, gpus, together = tiny.waiting[name]
        left, taken = dict(free), 0
        for _ in range(pods - placed[name]):
            places = [node for node in left if left[node] >= gpus and node not in cordoned]
            if not places:
                break
            left[dice.choice(places)] -= gpus
            taken += 1
        if not together or placed[name] + taken == pods:
            free.update(left)
            placed[name] += taken
