"""Advice: the steps of a good engineer that free the gang, and no step without a proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gangboard.domain.advice import Advice, AdviceKind, ChangeMethod
from gangboard.domain.capacity import ClusterCapacity, NodeInfo, Requested, RunningGang
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import GangRequest
from gangboard.domain.pod_constraints import PodConstraints, Taint
from gangboard.facts.unit import Unit
from gangboard.placement.advice.ranking import advise
from gangboard.placement.sentences.finding import advice_of
from gangboard.placement.unit_placement import placing_of
from tests.domain_objects import (
    a_condition,
    a_group,
    a_job,
    a_jobset,
    pods_of,
    requests,
    with_cluster,
)
from tests.placement.making import CORDON, GPU, S, node
from tests.rules.evaluation import unit_of

INFRA = Taint("dedicated", "NoSchedule", "infra")


def waiting(
    nodes: Sequence[NodeInfo],
    pods: int,
    gpu: int,
    *,
    quorum: int | None = None,
    running_gangs: Sequence[RunningGang] = (),
    minor: tuple[int, int] | None = (1, 37),
    keys: tuple[str, ...] = (),
    asked: bool = True,
    **options: Any,
) -> Unit:
    """A Job of that many pods without nodes."""
    asks = GangRequest("gang", quorum) if quorum is not None and asked else None
    job = a_job("train", pods=pods, requests=requests(gpu=str(gpu)), gang_request=asks)
    objects: list[Any] = [*pods_of(job, pods, group="train-group" if quorum else "", **options)]
    if quorum is not None:
        objects.append(a_group(quorum=quorum, of=job, topology_keys=keys))
    room = ClusterCapacity(
        tuple(sorted(nodes, key=lambda item: item.name)), running_gangs=lambda: running_gangs
    )
    unit = unit_of(job, *objects, facts={"room": room, "kubernetes": minor})
    return replace(unit, placing=placing_of(unit))


def resident(name: str, priority: int = 0, kind: str = "Job", **gpus: int) -> RunningGang:
    """A gang that holds that many GPUs on these nodes, one pod on each."""
    ref = ObjectRef("batch", kind, "team-b", name, f"uid-{name}")
    loads = {place: Requested({GPU: count}, 1) for place, count in gpus.items()}
    return RunningGang(ref.uid, ref, priority, loads, suspendable=kind != "Pod")


def kinds(result: Sequence[Advice]) -> list[AdviceKind]:
    return [item.change for item in result]


def advice_of_kind(result: Sequence[Advice], change: AdviceKind) -> Advice:
    return next(item for item in result if item.change is change)


def test_the_least_is_freed_on_the_fewest_nodes() -> None:
    # 3 pods of 4: one fits on c. a lacks 1 for a pod, b lacks 3, d lacks 4.
    nodes = [node("a", 4, 1), node("b", 4, 3), node("c", 4, 0), node("d", 4, 4)]
    result = advice_of_kind(advise(waiting(nodes, 3, 4, quorum=3)), AdviceKind.WAIT_FOR_ROOM)
    assert result.free == {"a": {GPU: 1}, "b": {GPU: 3}}
    assert result.method is None
    assert [ref.name for ref in result.nodes] == ["a", "b"]
    assert result.text == (
        "Wait for 1 GPU on node a and 3 GPUs on node b to become free: then all 3 pods fit."
    )


def test_room_is_advised_in_the_cheapest_rack() -> None:
    # In r1 one place lacks, for 4 GPUs; in r2 both, for 3; in r3 there is no second node.
    used = {"a": ("r1", 0), "b": ("r1", 4), "c": ("r2", 1), "d": ("r2", 2), "e": ("r3", 0)}
    nodes = [node(name, 4, taken, labels={"rack": rack}) for name, (rack, taken) in used.items()]
    in_one_rack = waiting(nodes, 2, 4, quorum=2, keys=("rack",))
    result = advice_of_kind(advise(in_one_rack), AdviceKind.WAIT_FOR_ROOM)
    assert result.free == {"c": {GPU: 1}, "d": {GPU: 2}}


def test_the_freed_capacity_fits_the_quorum() -> None:
    result = advice_of_kind(
        advise(waiting([node("a", 4, 1), node("b", 4)], 3, 4, quorum=2)), AdviceKind.WAIT_FOR_ROOM
    )
    assert result.text == (
        "Wait for 1 GPU on node a to become free: then the 2 of 3 pods that its quorum needs fit."
    )


def test_two_of_many_nodes_are_named_with_their_amounts() -> None:
    nodes = [node(name, 4, used) for name, used in zip("abcd", (1, 3, 2, 2), strict=True)]
    result = advice_of_kind(advise(waiting(nodes, 4, 4, quorum=4)), AdviceKind.WAIT_FOR_ROOM)
    assert [ref.name for ref in result.nodes] == ["a", "b", "c", "d"]
    assert [ref.name for ref in result.named] == ["a", "b"]
    assert result.text == (
        "Wait for up to 3 GPUs on each of 4 nodes (1 GPU on node a, "
        "3 GPUs on node b, …) to become free: then all 4 pods fit."
    )


def test_the_displayed_amount_is_enough() -> None:
    """1.5 GB of memory are 1.397Gi. The verdict shows 1.3Gi of free memory, which would not be enough."""
    gigabytes = {"memory": 1_500_000_000, "cpu": 8000, "pods": 110}
    full = NodeInfo("a", {}, allocatable=gigabytes, now=Requested({"memory": 1_500_000_000}, 1))
    job = a_job("train", pods=1, requests=requests(memory="1500000000"))
    facts = {"room": ClusterCapacity((full,)), "kubernetes": (1, 37)}
    unit = unit_of(job, *pods_of(job, 1), facts=facts)
    result = advice_of_kind(
        advise(replace(unit, placing=placing_of(unit))), AdviceKind.WAIT_FOR_ROOM
    )
    assert result.text == "Wait for 1.4Gi of memory on node a to become free: then the pod fits."


def test_only_printed_names_are_kept_for_redaction() -> None:
    unit = waiting([node(name, 4, 4) for name in "abcde"], 5, 4, quorum=5)
    result = advice_of_kind(advise(unit), AdviceKind.WAIT_FOR_ROOM)
    assert (
        result.text
        == "Wait for 4 GPUs on each of 5 nodes (a, b, …) to become free: then all 5 pods fit."
    )
    assert [item.source.name for item in advice_of(unit)[1] if item.source] == ["a", "b"]


def test_pods_of_daemonsets_are_never_to_be_removed() -> None:
    # On a 1 of 4 stays for good: no pod of 4 ever fits there.
    nodes = [node("a", 4, 0, pinned=1), node("b", 4, 4), node("c", 4, 4)]
    result = advice_of_kind(advise(waiting(nodes, 1, 4, quorum=1)), AdviceKind.WAIT_FOR_ROOM)
    assert result.free == {"b": {GPU: 4}}


def test_a_slot_on_an_occupied_node_counts() -> None:
    # Pods of 2 on nodes of 4: a has room for one, and for two when 1 more is free.
    nodes = [node("a", 4, 1), node("b", 4, 4)]
    result = advice_of_kind(advise(waiting(nodes, 2, 2, quorum=2)), AdviceKind.WAIT_FOR_ROOM)
    assert result.free == {"a": {GPU: 1}}


def test_mixed_shapes_are_freed_for_together() -> None:
    # The worker wants a whole node. The driver fits on b, where more CPU is free.
    result = advice_of_kind(advise(driver_and_worker(cpu_on_a=4000)), AdviceKind.WAIT_FOR_ROOM)
    assert result.free == {"a": {GPU: 2}}


def test_capacity_the_driver_may_take_is_not_advised() -> None:
    # Both nodes are equal for the scheduler. The driver goes to a in half of the cases, and the worker does
    # not fit.
    assert AdviceKind.WAIT_FOR_ROOM not in kinds(advise(driver_and_worker(cpu_on_a=0)))


def test_each_pod_that_a_term_is_about_has_to_go() -> None:
    """The node has room: two pods with the label are in the way, and one of them is not enough."""
    needs = PodConstraints(anti_affinity=(S,))
    existing = replace(node("a", 8), now=Requested({GPU: 2}, 2, matched_terms={S: 2}))
    gangs = [
        replace(resident(name), loads={"a": Requested({GPU: 1}, 1, matched_terms={S: 1})})
        for name in ("one", "two")
    ]
    result = advice_of_kind(
        advise(waiting([existing], 1, 1, quorum=1, running_gangs=gangs, needs=needs)),
        AdviceKind.SUSPEND_GANGS,
    )
    assert sorted(ref.name for ref in result.gangs) == ["one", "two"]
    assert result.text == (
        "Suspend Job team-b/one (priority 0) and Job team-b/two (priority 0), which hold "
        "2 GPUs together: then the pod fits."
    )
    advice_ = advise(waiting([existing], 1, 1, quorum=1, running_gangs=gangs[:1], needs=needs))
    assert AdviceKind.SUSPEND_GANGS not in kinds(advice_)
    assert AdviceKind.WAIT_FOR_ROOM not in kinds(advice_)


def test_capacity_on_unusable_nodes_does_not_count_to_a_gang() -> None:
    """Of 16 GPUs 8 are on a node of another pool: 8 would be said of a gang half as large."""
    pool = PodConstraints((("pool", "x"),))
    nodes = [node("a", 8, 8, labels={"pool": "x"}), node("b", 8, 8)]
    large = resident("large", a=8, b=8)
    unit = waiting(nodes, 2, 4, quorum=2, running_gangs=[large], needs=pool)
    assert advice_of_kind(advise(unit), AdviceKind.SUSPEND_GANGS).text == (
        "Suspend Job team-b/large (priority 0), which frees 8 GPUs on nodes that the "
        "waiting pods could use: then both pods fit."
    )
    # Half of its usage there is already terminating.
    removable = replace(large, by_suspending={"a": Requested({GPU: 4}, 1)})
    unit = waiting(nodes, 1, 4, quorum=1, running_gangs=[removable], needs=pool)
    assert advice_of_kind(advise(unit), AdviceKind.SUSPEND_GANGS).text == (
        "Suspend Job team-b/large (priority 0), which frees 4 GPUs on nodes that the "
        "waiting pod could use: then the pod fits."
    )
    unit = waiting(nodes, 2, 4, quorum=2, running_gangs=[resident("half", a=8)], needs=pool)
    assert advice_of_kind(advise(unit), AdviceKind.SUSPEND_GANGS).text == (
        "Suspend Job team-b/half (priority 0), which holds 8 GPUs: then both pods fit."
    )


def driver_and_worker(cpu_on_a: int) -> Unit:
    jobset = a_jobset("run")
    driver = a_job("run-driver-0", of=jobset, pods=1, requests=requests(gpu="1"))
    workers = a_job("run-workers-0", of=jobset, pods=1, requests=requests(gpu="4"))
    pods = [*pods_of(driver, 1, group="tree"), *pods_of(workers, 1, group="tree")]
    a = replace(node("a", 4, 2), now=Requested({GPU: 2, "cpu": cpu_on_a}, 1))
    room = ClusterCapacity((a, node("b", 4, 3)))
    facts = {"room": room, "kubernetes": (1, 37)}
    unit = unit_of(jobset, driver, workers, *pods, a_group("tree", quorum=2), facts=facts)
    return replace(unit, placing=placing_of(unit))


def test_the_fewest_cordons_are_lifted() -> None:
    cordoned = [
        replace(node(name, gpu), unschedulable=True, taints=(CORDON,))
        for name, gpu in (("a", 4), ("b", 8), ("c", 4))
    ]
    result = advise(waiting([*cordoned, node("d", 4)], 3, 4, quorum=3))
    assert result[0].change is AdviceKind.UNCORDON
    assert [ref.name for ref in result[0].nodes] == ["b"]
    assert result[0].text == "Uncordon node b: then all 3 pods fit."


def test_uncordoning_a_full_node_is_not_advised() -> None:
    full = replace(node("a", 4, 4), unschedulable=True, taints=(CORDON,))
    assert AdviceKind.UNCORDON not in kinds(
        advise(waiting([full, node("b", 4, 4)], 1, 4, quorum=1))
    )


@pytest.mark.parametrize("says", ["DrainInProgress", "MaintenancePlanned"])
def test_a_node_in_maintenance_is_not_advised(says: str) -> None:
    """Its admin keeps pods away on purpose: neither is its cordon to be lifted, nor its taint to be tolerated."""
    message = (a_condition(says),)
    cordoned = node("a", unschedulable=True, taints=(CORDON,), lifecycle=message)
    remaining = kinds(advise(waiting([cordoned, node("b", 4, 4)], 1, 4, quorum=1)))
    assert remaining == [AdviceKind.WAIT_FOR_ROOM]
    tainted = node("a", taints=(INFRA,), lifecycle=message)
    other = node("b", taints=(INFRA,))
    assert kinds(advise(waiting([tainted], 1, 4, quorum=1))) == []
    result = advice_of_kind(advise(waiting([tainted, other], 1, 4, quorum=1)), AdviceKind.TOLERATE)
    assert "of 1 node" in result.text
    assert kinds(advise(waiting([tainted, other], 2, 4, quorum=2))) == []


def test_a_taint_to_tolerate_is_named_and_how() -> None:
    nodes = [node("a", 4, taints=(INFRA,)), node("b", 4, taints=(INFRA,))]
    result = advice_of_kind(advise(waiting(nodes, 2, 4)), AdviceKind.TOLERATE)
    assert result.taint == INFRA
    assert result.method is ChangeMethod.RECREATE
    assert result.text == (
        "Tolerate the taint dedicated=infra:NoSchedule of 2 nodes: then both pods fit (needs re-creating)."
    )


@pytest.mark.parametrize(
    "key",
    [
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/out-of-service",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "node.cloudprovider.kubernetes.io/shutdown",
        "karpenter.sh/disrupted",
        "karpenter.sh/unregistered",
        "node.cilium.io/agent-not-ready",
        "ebs.csi.aws.com/agent-not-ready",
        "efs.csi.aws.com/agent-not-ready",
        "node.gardener.cloud/critical-components-not-ready",
        "node.cluster.x-k8s.io/uninitialized",
        "aws-node-termination-handler/spot-itn",
        "aws-node-termination-handler/scheduled-maintenance",
        "cloud.google.com/impending-node-termination",
        "ToBeDeletedByClusterAutoscaler",
        "DeletionCandidateOfClusterAutoscaler",
    ],
)
def test_taints_of_nodes_in_trouble_or_on_their_way_are_not_to_be_tolerated(key: str) -> None:
    nodes = [node("a", 4, taints=(Taint(key, "NoSchedule", "1"),)), node("b", 4, 4)]
    assert AdviceKind.TOLERATE not in kinds(advise(waiting(nodes, 1, 4, quorum=1)))


def test_a_manual_taint_is_named_next_to_a_controller_taint() -> None:
    leaving = Taint("karpenter.sh/disrupted", "NoSchedule")
    nodes = [node(name, 4, taints=(leaving,)) for name in "abc"] + [node("d", 4, taints=(INFRA,))]
    assert advice_of_kind(advise(waiting(nodes, 1, 4)), AdviceKind.TOLERATE).taint == INFRA


def test_a_manual_quorum_can_be_lowered() -> None:
    result = advice_of_kind(
        advise(waiting([node("a", 4), node("b", 4)], 4, 4, quorum=3)), AdviceKind.QUORUM
    )
    assert result.count == 2
    assert result.method is ChangeMethod.IN_PLACE
    assert result.text == "Lower the quorum of Job train from 3 to 2: 2 pods fit now (no restart)."


def replace_minor(unit: Unit, minor: tuple[int, int]) -> Unit:
    return replace(unit, gang=with_cluster(unit.gang, kubernetes=minor))


def test_an_unrequested_gang_of_kubernetes_136_can_be_disabled() -> None:
    unit = waiting([node("a", 4), node("b", 4)], 3, 4, quorum=3, asked=False, minor=(1, 36))
    result = advice_of_kind(advise(unit), AdviceKind.OPT_OUT)
    assert (result.count, result.method) == (2, ChangeMethod.RECREATE)
    assert result.text.endswith(
        "its pods are placed one by one, and 2 pods fit now (needs re-creating)."
    )
    assert AdviceKind.OPT_OUT not in kinds(advise(replace_minor(unit, (1, 37))))


def test_a_topology_that_is_the_only_cause_is_to_be_dropped() -> None:
    nodes = [node(name, 4, labels={"rack": rack}) for name, rack in (("a", "r1"), ("b", "r2"))]
    result = advise(waiting(nodes, 2, 4, quorum=2, keys=("rack",)))
    assert result[0].change is AdviceKind.DROP_TOPOLOGY
    assert result[0].method is ChangeMethod.RECREATE
    assert (
        result[0].text == "Drop the constraint to one rack: then both pods fit (needs re-creating)."
    )


def test_a_single_sufficient_gang_is_named_before_two() -> None:
    nodes = [node("a", 4, 4), node("b", 4, 4), node("c", 4, 4)]
    held = [resident("small", a=4), resident("pair", b=4, c=4), resident("vip", 10, b=4)]
    result = advice_of_kind(
        advise(waiting(nodes, 2, 4, quorum=2, running_gangs=held)), AdviceKind.SUSPEND_GANGS
    )
    assert [ref.name for ref in result.gangs] == ["pair"]
    assert result.text == (
        "Suspend Job team-b/pair (priority 0), which holds 8 GPUs: then both pods fit."
    )


def test_two_gangs_are_named_if_one_is_not_enough() -> None:
    nodes = [node("a", 4, 4), node("b", 4, 4), node("c", 4, 4)]
    held = [resident("one", a=4), resident("two", b=4), resident("three", c=4)]
    result = advice_of_kind(
        advise(waiting(nodes, 2, 4, quorum=2, running_gangs=held)), AdviceKind.SUSPEND_GANGS
    )
    assert len(result.gangs) == 2


def test_two_gangs_that_make_the_same_place_are_not_two_places() -> None:
    # 2 of 4 are free on a: without either 3 are, which is one place, and without both no more.
    nodes = [node("a", 4, 2), node("b", 4, 4)]
    held = [resident("one", a=1), resident("two", a=1)]
    result = advise(waiting(nodes, 2, 3, quorum=2, running_gangs=held))
    assert AdviceKind.SUSPEND_GANGS not in kinds(result)


def test_two_gangs_that_make_a_place_only_together() -> None:
    held = [resident("one", a=2), resident("two", a=2)]
    result = advise(waiting([node("a", 4, 4)], 1, 4, quorum=1, running_gangs=held))
    assert len(advice_of_kind(result, AdviceKind.SUSPEND_GANGS).gangs) == 2


def test_a_gang_of_thousands_is_not_listed_by_node() -> None:
    nodes = [node(f"n{index}", 8, 8) for index in range(2_100)]
    result = kinds(advise(waiting(nodes, 2_100, 8, quorum=2_100)))
    assert AdviceKind.WAIT_FOR_ROOM not in result


def test_gangs_of_higher_priority_or_without_a_lever_are_not_suspended() -> None:
    nodes = [node("a", 4, 4)]
    held = [resident("vip", 5, a=4), resident("alone", kind="Pod", a=4)]
    result = advise(waiting(nodes, 1, 4, quorum=1, running_gangs=held))
    assert AdviceKind.SUSPEND_GANGS not in kinds(result)
    mine = advise(waiting(nodes, 1, 4, quorum=1, running_gangs=held, priority=5))
    assert [ref.name for ref in advice_of_kind(mine, AdviceKind.SUSPEND_GANGS).gangs] == ["vip"]


def test_the_lowest_priority_precedes_the_shortest_run() -> None:
    started = datetime(2026, 1, 1, tzinfo=UTC)
    old, young, vital = (
        replace(resident(name, priority, a=4), oldest_pod_at=started + timedelta(hours=hours))
        for name, priority, hours in (("old", 1, 0), ("young", 1, 9), ("vital", 3, 99))
    )
    nodes = [node("a", 12, 12)]

    def first_of(*held: RunningGang) -> str:
        result = advise(waiting(nodes, 1, 4, quorum=1, running_gangs=held, priority=5))
        (ref,) = advice_of_kind(result, AdviceKind.SUSPEND_GANGS).gangs
        return ref.name

    assert first_of(old, young, vital) == first_of(vital, young, old) == "young"
    assert first_of(vital, old) == "old"
    broken = replace(vital, is_whole=False)
    result = advise(waiting(nodes, 1, 4, quorum=1, running_gangs=[young, broken], priority=5))
    assert [ref.name for ref in advice_of_kind(result, AdviceKind.SUSPEND_BROKEN).gangs] == [
        "vital"
    ]


def test_a_gang_with_another_manager_is_not_suspended() -> None:
    """Its owner or its queue would revert it, and its pods would only start again."""
    held = [
        replace(resident("run", kind="JobSet", a=4), suspendable=False),
        resident("free", 0, a=2, b=2),
    ]
    nodes = [node("a", 8, 6), node("b", 4, 2)]
    result = advise(waiting(nodes, 1, 4, quorum=1, running_gangs=held))
    assert [ref.name for ref in advice_of_kind(result, AdviceKind.SUSPEND_GANGS).gangs] == ["free"]
    advice_ = advise(waiting([node("a", 4, 4)], 1, 4, quorum=1, running_gangs=held[:1]))
    assert AdviceKind.SUSPEND_GANGS not in kinds(advice_)


def test_a_gang_that_never_fits_gets_no_capacity_advice() -> None:
    result = kinds(advise(waiting([node("a", 4), node("b", 4)], 3, 4, quorum=3)))
    assert AdviceKind.WAIT_FOR_ROOM not in result
    assert AdviceKind.SUSPEND_GANGS not in result


def test_unknown_placement_gets_no_advice() -> None:
    unclear = PodConstraints(unsupported=("volumes",))
    assert advise(waiting([node("a", 4, 4), node("b", 4)], 2, 4, quorum=2, needs=unclear)) == ()
    blind = waiting([], 2, 4, quorum=2)
    blind = replace(
        blind, gang=with_cluster(blind.gang, room=ClusterCapacity(why="nodes: forbidden"))
    )
    assert advise(replace(blind, placing=placing_of(blind))) == ()


def test_a_gang_that_fits_gets_no_advice() -> None:
    assert advise(waiting([node("a", 4)], 1, 4, quorum=1)) == ()
