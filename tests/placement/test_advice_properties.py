"""Invariants of advice: it frees enough, it is minimal, and it is absent if placement is unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from gangboard.domain.advice import Advice, AdviceKind
from gangboard.domain.capacity import (
    PODS,
    ClusterCapacity,
    NodeInfo,
    PlacementRequest,
    PodSet,
    Requested,
    RunningGang,
    Termination,
)
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.placement_result import When
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import PodConstraints, Toleration
from gangboard.facts.unit import Unit
from gangboard.placement.advice.ranking import advise
from gangboard.placement.unit_placement import placing_of
from tests.agreement.advice_cases import is_plain_wait, on_paper, taken
from tests.agreement.drawing import make_case
from tests.agreement.reckoning import most
from tests.domain_objects import NOW, a_group, a_job, a_jobset, pods_of, with_cluster
from tests.placement.making import CORDON, R
from tests.placement.reference import reference
from tests.placement.test_properties import TAINT, rooms, shapes
from tests.rules.evaluation import unit_of


@st.composite
def clusters(draw: st.DrawFn) -> tuple[NodeInfo, ...]:
    """Up to three nodes with some of them cordoned."""
    nodes = [draw(rooms(f"n{index}")) for index in range(draw(st.integers(1, 3)))]
    return tuple(
        replace(node, unschedulable=True, taints=(*node.taints, CORDON))
        if draw(st.integers(0, 3)) == 3
        else node
        for node in nodes
    )


@st.composite
def waiting(draw: st.DrawFn) -> Unit:
    """A gang of one or two shapes that waits, and the gangs that hold room."""
    nodes = draw(clusters())
    counts = draw(st.sampled_from([(1,), (2,), (4,), (1, 2), (2, 2)]))
    jobset = a_jobset("run")
    jobs: list[Owner] = []
    pods: list[Pod] = []
    for index, count in enumerate(counts):
        shape = draw(shapes(f"s{index}"))
        needs = PodConstraints(
            tuple(shape.node_selector.items()),
            tolerations=shape.tolerations,
            host_ports=shape.host_ports,
            anti_affinity=tuple(shape.anti_affinity),
        )
        # The terms that are drawn are about pods of this namespace and label.
        labels = dict(term.name.partition("/")[2].split("=") for term in shape.matched_terms)
        job = a_job(f"run-s{index}-0", of=jobset, pods=count)
        jobs.append(job)
        pods += pods_of(job, count, group="g", requests=shape.requests, needs=needs, labels=labels)
    quorum = draw(st.integers(1, len(pods)))
    keys = ("rack",) if draw(st.integers(0, 3)) == 3 else ()
    group = a_group("g", quorum=quorum, topology_keys=keys)
    running_gangs = _running_gangs(draw, nodes)
    room = ClusterCapacity(nodes, running_gangs=lambda: running_gangs)
    unit = unit_of(jobset, *jobs, *pods, group, facts={"room": room, "kubernetes": (1, 37)})
    return replace(unit, placing=placing_of(unit))


def _running_gangs(draw: st.DrawFn, nodes: Sequence[NodeInfo]) -> list[RunningGang]:
    """Distribute the removable amounts of each node: all to one gang, or a share to each of two."""
    loads: dict[str, dict[str, Requested]] = {"one": {}, "two": {}, "three": {}}
    for node in nodes:
        amounts = {
            name: amount - node.pinned.amounts.get(name, 0)
            for name, amount in node.now.amounts.items()
        }
        pods = node.now.pods - node.pinned.pods
        owners = draw(st.sampled_from([("one",), ("two",), ("one", "two"), ("two", "three")]))
        for owner in owners:
            share = {name: amount // len(owners) for name, amount in amounts.items()}
            loads[owner][node.name] = Requested(share, pods // len(owners))
    return [
        _ending(draw, RunningGang(name, ObjectRef("batch", "Job", "team", name, name), 0, held))
        for name, held in loads.items()
        if held
    ]


def _ending(draw: st.DrawFn, gang: RunningGang) -> RunningGang:
    """Let a gang go on, be deleted on some of its nodes, or end there by itself."""
    # Amounts drawn without pods have no deadline.
    existing = sorted(name for name, load in gang.loads.items() if load.pods)
    if draw(st.integers(0, 3)) < 3 or not existing:
        return gang
    names = draw(st.lists(st.sampled_from(existing), min_size=1, unique=True))
    deleted = draw(st.booleans())
    selected = {name: gang.loads[name] for name in names}
    end = Termination(NOW + timedelta(minutes=draw(st.integers(1, 5))), selected, deleted)
    rest = {name: load for name, load in gang.loads.items() if not deleted or name not in names}
    return replace(gang, terminations=(end,), by_suspending=rest)


def request_of(unit: Unit) -> PlacementRequest:
    assert unit.placing is not None
    return unit.placing.request


def changed(unit: Unit, advice: Advice, part: Sequence[str] | None = None) -> list[NodeInfo]:
    """Return the nodes with the advice taken, or with those of these names only."""
    named = [ref.name for ref in (advice.nodes or advice.gangs)] if part is None else list(part)
    nodes = []
    for node in unit.gang.cluster.room.nodes:
        if advice.change is AdviceKind.WAIT_FOR_ROOM and node.name in named:
            node = _freed(node, advice.free[node.name])
        if advice.change is AdviceKind.UNCORDON and node.name in named:
            node = replace(node, taints=tuple(taint for taint in node.taints if taint != CORDON))
        nodes.append(node)
    for gang in unit.gang.cluster.room.running_gangs():
        if advice.change is AdviceKind.SUSPEND_GANGS and gang.ref.name in named:
            freed = gang.active_loads
            nodes = [_freed(node, _of(freed, node.name)) for node in nodes]
        for end in gang.terminations:
            # Advice about capacity includes terminating pods.
            waited = end.deleted and advice.change in (
                AdviceKind.SUSPEND_GANGS,
                AdviceKind.WAIT_FOR_ROOM,
            )
            if waited or (advice.at is not None and end.at <= advice.at):
                nodes = [_freed(node, _of(end.loads, node.name)) for node in nodes]
    return nodes


def _of(loads: Mapping[str, Requested], name: str) -> Mapping[str, int]:
    load = loads.get(name, Requested())
    return {**load.amounts, PODS: load.pods}


def _freed(node: NodeInfo, amounts: Mapping[str, int]) -> NodeInfo:
    now = replace(
        node.now,
        amounts={name: have - amounts.get(name, 0) for name, have in node.now.amounts.items()},
        pods=node.now.pods - amounts.get(PODS, 0),
    )
    assert now.pods >= node.pinned.pods
    assert all(now.amounts[name] >= node.pinned.amounts.get(name, 0) for name in now.amounts)
    return replace(node, now=now)


def placed(request: PlacementRequest, nodes: Sequence[NodeInfo], when: When = When.CURRENT) -> int:
    """Return the most that fit, by trying everything; a cordoned node takes no pod, and keeps its own."""
    existing = [
        replace(node, allocatable={**node.allocatable, PODS: 0}) if CORDON in node.taints else node
        for node in nodes
    ]
    return reference(request, existing, when)


def _tolerating(request: PlacementRequest) -> PlacementRequest:
    extra = (Toleration(TAINT.key, "Exists"),)
    pod_sets = tuple(
        PodSet(replace(pod_set.shape, tolerations=extra), pod_set.count)
        for pod_set in request.pod_sets
    )
    return replace(request, pod_sets=pod_sets)


BY_NODES = (
    AdviceKind.WAIT_FOR_ROOM,
    AdviceKind.UNCORDON,
    AdviceKind.SUSPEND_GANGS,
    AdviceKind.WAIT_FOR_END,
)


@given(waiting())
def test_advice_frees_enough_and_no_subset_does(unit: Unit) -> None:
    result = advise(unit)
    request = request_of(unit)
    for item in result:
        event(item.change)
        if item.change is AdviceKind.QUORUM:
            assert unit.quorum is not None
            assert item.count is not None
            assert item.count < unit.quorum
            now = placed(request, unit.gang.cluster.room.nodes)
            is_for_now = "when empty" not in item.text
            most = (
                now if is_for_now else placed(request, unit.gang.cluster.room.nodes, When.DRAINED)
            )
            assert most >= item.count
            if len(request.pod_sets) == 1:
                assert most == item.count
            assert is_for_now == (now >= item.count)
        if item.change is AdviceKind.DROP_TOPOLOGY:
            free = replace(request, topology_keys=(), domain=None)
            assert placed(free, unit.gang.cluster.room.nodes) >= request.needed
        if item.change is AdviceKind.TOLERATE:
            assert item.taint == TAINT
            assert placed(_tolerating(request), unit.gang.cluster.room.nodes) >= request.needed
        if item.change not in BY_NODES:
            continue
        assert placed(request, changed(unit, item)) >= request.needed, item
        names = [ref.name for ref in (item.nodes or item.gangs)]
        for name in names if item.change is not AdviceKind.WAIT_FOR_END else ():
            fewer = [other for other in names if other != name]
            assert placed(request, changed(unit, item, fewer)) < request.needed, (item, name)


@given(waiting())
def test_half_of_the_advised_capacity_is_too_little(unit: Unit) -> None:
    for item in advise(unit):
        if item.change is AdviceKind.WAIT_FOR_ROOM:
            half = {
                name: {resource: amount // 2 for resource, amount in amounts.items()}
                for name, amounts in item.free.items()
            }
            nodes = changed(unit, replace(item, free=half))
            assert placed(request_of(unit), nodes) < request_of(unit).needed


@given(waiting(), st.sampled_from(["unsupported", "undecidable", "blind", "unreadable"]))
def test_unproven_shortages_get_no_advice(unit: Unit, why: str) -> None:
    room = unit.gang.cluster.room
    if why == "blind":
        room = ClusterCapacity(why="nodes: forbidden")
    if why == "unreadable":
        nodes = tuple(replace(node, unreadable=frozenset({PODS})) for node in room.nodes)
        room = ClusterCapacity(nodes, running_gangs=room.running_gangs)
    unit = replace(unit, gang=with_cluster(unit.gang, room=room))
    if why == "unsupported":
        unit = _asking(unit, lambda needs: replace(needs, unsupported=("volumes",)))
    if why == "undecidable":
        unit = _asking(unit, lambda needs: replace(needs, undecidable=("claims",)))
    assert advise(replace(unit, placing=placing_of(unit))) == ()


def _asking(unit: Unit, extra: Callable[[PodConstraints], PodConstraints]) -> Unit:
    pods = tuple(replace(pod, needs=extra(pod.needs)) for pod in unit.pods)
    return replace(unit, pods=pods)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_advice_for_drawn_cases_frees_on_paper(seed: int, number: int) -> None:
    case = make_case(seed, number)
    if most(case) >= case.quorum:
        return
    read, groups = on_paper([case])
    for one in advise(read.unit(groups[case.name])):
        event(one.change)
        if is_plain_wait(one):
            continue
        changed_case = taken(case, one)
        assert changed_case is not None
        assert most(changed_case) >= changed_case.quorum, one
        half = taken(case, one, half=True)
        if half is not None and "only in some orders" not in one.text:
            assert most(half) < half.quorum, one


def test_a_pod_on_a_full_node_keeps_members_from_the_whole_rack() -> None:
    """Node c would take all three, but for a pod on b of the same rack that keeps the driver away."""
    held = Requested({"cpu": 1500}, 1, anti_affinity={R: 1})
    nodes = (
        _in_rack("a", "1"),
        _in_rack("b", "1", now=held, pinned=held),
        _in_rack("c", "1", taints=(CORDON,), unschedulable=True),
        _in_rack("d", "2", taints=(CORDON,), unschedulable=True),
    )
    jobset = a_jobset("run")
    driver, workers = a_job("run-driver-0", of=jobset, pods=1), a_job("run-w-0", of=jobset, pods=2)
    asked_for: dict[str, Any] = {"requests": {"cpu": Decimal("0.5")}, "group": "g"}
    pods = [
        *pods_of(driver, 1, **asked_for, labels={"app": "r"}),
        *pods_of(workers, 2, **asked_for),
    ]
    facts = {"room": ClusterCapacity(nodes), "kubernetes": (1, 37)}
    unit = unit_of(jobset, driver, workers, *pods, a_group("g", quorum=3), facts=facts)
    unit = replace(unit, placing=placing_of(unit))
    (advice,) = [item for item in advise(unit) if item.change is AdviceKind.UNCORDON]
    assert advice.text == "Uncordon node d: then all 3 pods fit."


def _in_rack(name: str, rack: str, **options: Any) -> NodeInfo:
    labels = {"kubernetes.io/hostname": name, "rack": rack}
    return NodeInfo(name, labels, allocatable={"cpu": 1500, PODS: 3}, **options)


def test_an_advised_amount_is_at_most_the_removable_amount() -> None:
    """A node of three pods and one permanent pod. Only the two removable pods are advised."""
    node = NodeInfo(
        "a",
        {"kubernetes.io/hostname": "a"},
        allocatable={"cpu": 4000, PODS: 3},
        now=Requested({"cpu": 300}, 3),
        pinned=Requested({"cpu": 100}, 1),
    )
    job = a_job("train", pods=2, requests={"cpu": Decimal("0.1")})
    facts = {"room": ClusterCapacity((node,)), "kubernetes": (1, 37)}
    unit = unit_of(job, *pods_of(job, 2, group="g"), a_group("g", quorum=2, of=job), facts=facts)
    unit = replace(unit, placing=placing_of(unit))
    (one,) = [item for item in advise(unit) if item.change is AdviceKind.WAIT_FOR_ROOM]
    assert one.free == {"a": {PODS: 2}}
    assert one.text == "Wait for 2 pods on node a to become free: then both pods fit."
