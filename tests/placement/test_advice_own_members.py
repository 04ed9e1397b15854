"""Advice for a partly placed gang: placed members stay."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np

from gangboard.domain.advice import AdviceKind
from gangboard.domain.capacity import ClusterCapacity, NodeInfo, Requested
from gangboard.domain.pod_constraints import Taint
from gangboard.facts.unit import Unit
from gangboard.placement.advice.ranking import advise
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.gang_nodes import nodes_to_free
from gangboard.placement.members import placement_request_of
from gangboard.placement.node_snapshot import snapshot_of
from gangboard.placement.running_gangs import running_gangs_of
from gangboard.placement.unit_placement import placing_of
from tests.domain_objects import (
    a_group,
    a_job,
    a_jobset,
    a_pod,
    a_role,
    child_jobs,
    pods_of,
    requests,
)
from tests.placement.making import GPU, node
from tests.placement.test_advice import advice_of_kind, kinds
from tests.rules.evaluation import unit_of

GPUS = requests(gpu="4")
INFRA = Taint("dedicated", "NoSchedule", "infra")


def holding(name: str, gpus: int) -> NodeInfo:
    """A node of 8 GPUs, of which so many are taken by pods of four."""
    return replace(node(name, gpu=8), now=Requested({GPU: gpus}, gpus // 4))


def work_list(*nodes: NodeInfo) -> Unit:
    """Two tasks at a time, of which one runs on node a."""
    job = a_job("train", parallelism=2, completions=10, pods=2, requests=GPUS)
    runs = a_pod("train-0", of=job, on="a", requests=GPUS)
    waits = a_pod("train-1", of=job, requests=GPUS)
    facts = {"room": ClusterCapacity(nodes), "kubernetes": (1, 37)}
    unit = unit_of(job, runs, waits, facts=facts)
    return replace(unit, placing=placing_of(unit))


def test_own_pods_are_never_to_be_removed() -> None:
    full_with_own = replace(node("a", gpu=4), now=Requested({GPU: 4}, 1))
    assert kinds(advise(work_list(full_with_own))) == [AdviceKind.SIZE]


def test_capacity_is_freed_next_to_an_own_pod() -> None:
    unit = work_list(holding("a", 8))
    assert advice_of_kind(advise(unit), AdviceKind.WAIT_FOR_ROOM).free == {"a": {GPU: 4}}


def test_capacity_is_freed_on_another_node() -> None:
    """Node a has room for one only, and that is taken by the pod that runs."""
    own = replace(node("a", gpu=4), now=Requested({GPU: 4}, 1))
    unit = work_list(own, holding("b", 8))
    assert advice_of_kind(advise(unit), AdviceKind.WAIT_FOR_ROOM).free == {"b": {GPU: 4}}


def jobset(*, others_wait: bool) -> Unit:
    """Two Jobs of one pod; one node is full, one has a taint and room for one pod."""
    owner = a_jobset("run", a_role("w", jobs=2, pods=1))
    first, second = child_jobs(owner, requests=GPUS)
    nodes = (
        replace(node("a", gpu=4), now=Requested({GPU: 4}, 1)),
        replace(node("b", gpu=4), taints=(INFRA,)),
    )
    facts = {"room": ClusterCapacity(nodes), "kubernetes": (1, 37)}
    unit = unit_of(
        owner,
        first,
        second,
        a_pod("run-w-0-0", of=first, requests=GPUS),
        a_pod("run-w-1-0", of=second, on="" if others_wait else "a", requests=GPUS),
        facts=facts,
        name="run-w-0",
        jobs=(first,),
        pods=(a_pod("run-w-0-0", of=first, requests=GPUS),),
    )
    return replace(unit, placing=placing_of(unit))


def test_a_recreated_jobset_gets_tolerations_for_all_waiting_pods() -> None:
    """For the pod of one Job there is room then; the other would wait as before."""
    assert advice_of_kind(advise(jobset(others_wait=False)), AdviceKind.TOLERATE).taint == INFRA
    assert AdviceKind.TOLERATE not in kinds(advise(jobset(others_wait=True)))


# A group that has its quorum: the scheduler takes the others as they come


def at_quorum(*, others: int = 0, unasked: bool = False) -> Unit:
    """Three of seven pods wait, the quorum is four, and one waiting pod fits on a node.

    Of the four running pods, `others` belong to another gang that names the group.

    """
    job = a_job("train", pods=7, requests=GPUS, group_name="" if unasked else "ring")
    group = a_group("ring", quorum=4, of=job if unasked else None)
    full = [replace(node(name, gpu=4), now=Requested({GPU: 4}, 1)) for name in "abcd"]
    own = pods_of(job, 7 - others, group="ring")
    run = [replace(pod, node=name) for pod, name in zip(own, "abcd"[others:], strict=False)]
    foreign_pods = tuple(
        a_pod(f"x-{name}", group="ring", on=name, requests=GPUS) for name in "abcd"[:others]
    )
    facts = {
        "room": ClusterCapacity((*full, node("e", gpu=4))),
        "kubernetes": (1, 36) if unasked else (1, 37),
        "foreign_pods": foreign_pods,
    }
    unit = unit_of(job, group, *run, *own[len(run) :], facts=facts, foreign_pods=foreign_pods)
    return replace(unit, placing=placing_of(unit))


def test_a_quorum_that_is_met_is_not_lowered() -> None:
    for rest in (0, 2, 4):
        unit = at_quorum(others=rest)
        assert unit.placing is not None
        assert unit.placing.request.needed == 3
        assert AdviceKind.QUORUM not in kinds(advise(unit))


def test_a_gang_at_its_quorum_is_not_evicted() -> None:
    """As without the gang, its other pods are placed one by one."""
    assert AdviceKind.OPT_OUT not in kinds(advise(at_quorum(unasked=True)))


def test_a_quorum_that_is_not_met_counts_those_with_a_node() -> None:
    unit = at_quorum(others=2)
    assert unit.group is not None
    unit = replace(unit, quorum=6, group=replace(unit.group, quorum=6))
    unit = replace(unit, placing=placing_of(unit))
    result = advice_of_kind(advise(unit), AdviceKind.QUORUM)
    assert (
        result.text == "Lower the quorum of PodGroup ring from 6 to 5: 1 pod fits now (no restart)."
    )


def test_the_nodes_of_a_gang_that_keeps_some_are_forgotten_with_its_advice() -> None:
    """They are its own, and tens of megabytes for some gangs of a large cluster."""
    unit = work_list(holding("a", 8), holding("b", 8))
    room, request = unit.gang.cluster.room, placement_request_of(unit)
    snapshot, shape = nodes_to_free(unit), request.pod_sets[0].shape
    assert snapshot is not snapshot_of(room)
    stored = weakref.ref(snapshot)
    running_gangs_of(room, snapshot).gains(
        snapshot, feasible_nodes_of(snapshot, shape), shape, np.zeros(2, dtype=np.int64)
    )
    del snapshot
    gc.collect()
    assert stored() is None
