"""The answer of one node to a pod, and accelerators that no pod can use."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from gangboard.domain.placement_result import Filter
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import HostPort, PodConstraints, Taint
from gangboard.placement.node_fit import (
    NodeFit,
    NodeFitCheck,
    StrandedAccelerators,
    find_stranded_accelerators,
)
from tests.domain_objects import a_node, a_pod, requests
from tests.placement.making import R

GPU = "nvidia.com/gpu"
ROOM = {GPU: 8, "cpu": 64_000, "memory": 2**40, "pods": 110}


def answer(pod: Pod, *existing: Pod, **node: Any) -> NodeFit:
    requested = NodeFitCheck(a_node("n0", allocatable=ROOM, **node), existing, (pod,))
    (shape,) = requested.shapes_of((pod,))
    return requested.check(shape)


def wants(gpu: str, cpu: str = "1", **fields: Any) -> Pod:
    return a_pod("waits-0", requests=requests(gpu=gpu, cpu=cpu), **fields)


def runs(gpu: str, cpu: str = "1", **fields: Any) -> Pod:
    return a_pod("runs-0", on="n0", requests=requests(gpu=gpu, cpu=cpu), **fields)


def test_pods_fit_up_to_the_free_amount() -> None:
    assert answer(wants("2"), runs("3")) == NodeFit(pods=2)


def test_the_exhausted_resource_is_named_with_its_remainder() -> None:
    assert answer(wants("4"), runs("5")) == NodeFit(limit=GPU, requested=4, available=3)


def test_pods_that_stay_make_a_node_too_small_for_ever() -> None:
    result = answer(wants("4"), runs("5", stays=True))
    assert result == NodeFit(filter=Filter.TOO_SMALL, detail=GPU, requested=4, available=3)


def test_a_cordon_is_the_only_obstacle() -> None:
    cordon = Taint("node.kubernetes.io/unschedulable", effect="NoSchedule")
    result = answer(wants("8"), unschedulable=True, taints=(cordon,))
    assert result == NodeFit(pods=1, cordoned=True)


def test_a_cordon_is_not_the_cause_if_there_is_another() -> None:
    result = answer(wants("8"), runs("1"), unschedulable=True)
    assert (result.limit, result.available) == (GPU, 7)
    other = answer(
        wants("8", needs=PodConstraints(node_selector=(("pool", "a100"),))), unschedulable=True
    )
    assert (other.filter, other.pods) == (Filter.SELECTOR, 0)


def test_a_taint_that_is_not_tolerated_is_named() -> None:
    result = answer(wants("1"), taints=(Taint("team", value="vision", effect="NoSchedule"),))
    assert (result.filter, result.detail) == (Filter.TAINT, "team=vision:NoSchedule")


def test_a_host_port_that_a_pod_has_is_taken() -> None:
    port = PodConstraints(host_ports=frozenset({HostPort(29500, "TCP", "0.0.0.0")}))
    result = answer(wants("1", needs=port), runs("1", needs=port))
    assert (result.pods, result.limit) == (0, "host ports")


def test_a_pod_on_the_node_keeps_others_out_of_its_zone() -> None:
    away = replace(R, topology_key="zone")
    existing = runs("1", needs=PodConstraints(anti_affinity=(away,)))
    result = answer(
        wants("1", labels={"app": "r"}, namespace="team-a"), existing, labels={"zone": "a"}
    )
    assert (result.pods, result.limit) == (0, "required anti-affinity")


def test_pods_with_equal_requests_are_one_shape() -> None:
    pods = [a_pod(f"w-{number}", requests=requests(gpu="2")) for number in range(3)]
    requested = NodeFitCheck(a_node(allocatable=ROOM), (), pods)
    assert len(requested.shapes_of([*pods, wants("1")])) == 2


def amounts(**parts: str) -> dict[str, Decimal]:
    return requests(**parts)


def test_accelerators_without_free_cpu_are_stranded() -> None:
    remaining = amounts(gpu="4", cpu="2", memory="1000")
    kinds = [amounts(gpu="1", cpu="8"), amounts(gpu="4", cpu="16", memory="2000")]
    assert find_stranded_accelerators(remaining, kinds) == (
        StrandedAccelerators(GPU, Decimal(4), "cpu"),
    )


def test_accelerators_usable_by_one_shape_are_not_stranded() -> None:
    remaining = amounts(gpu="4", cpu="2", memory="1000")
    assert (
        find_stranded_accelerators(
            remaining, [amounts(gpu="1", cpu="8"), amounts(gpu="1", cpu="2")]
        )
        == ()
    )


def test_accelerators_too_few_for_every_shape_are_not_stranded() -> None:
    remaining = amounts(gpu="4", cpu="2")
    assert find_stranded_accelerators(remaining, [amounts(gpu="8", cpu="64")]) == ()
    assert find_stranded_accelerators(remaining, []) == ()
    assert find_stranded_accelerators(amounts(gpu="0", cpu="2"), [amounts(gpu="1", cpu="8")]) == ()
