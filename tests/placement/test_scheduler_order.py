"""Which placements the scheduler comes upon, pod after pod: what 1.37 did with these gangs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from random import Random

import pytest

from gangboard.domain.capacity import NodeInfo, PlacementRequest, PodSet, Requested, Shape
from gangboard.domain.pod_constraints import HOSTNAME
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.plan_nodes import with_pods
from gangboard.placement.scheduler_order import (
    is_found_in_scheduler_order,
    scheduler_placement,
    scoring_cost,
)
from tests.placement.making import S, port

GIB = 1024**3


def host(name: str, cpu: int = 4000, used: int = 0, rack: str = "r") -> NodeInfo:
    """A node of 32 GiB; some of its CPU is taken."""
    return NodeInfo(
        name,
        {HOSTNAME: name, "rack": rack},
        allocatable={"cpu": cpu, "memory": 32 * GIB, "pods": 110},
        now=Requested({"cpu": used}, 1 if used else 0),
    )


def cpus(name: str, cores: str, **options: object) -> Shape:
    return Shape(name, {"cpu": Decimal(cores)}, **options)  # type: ignore[arg-type]


def finds_placement(
    nodes: Sequence[NodeInfo], *pod_sets: tuple[Shape, int], keys: tuple[str, ...] = ()
) -> bool:
    request = PlacementRequest(tuple(PodSet(*pod_set) for pod_set in pod_sets), topology_keys=keys)
    return is_found_in_scheduler_order(request, NodeSnapshot(nodes), request.size)


def test_spread_small_pods_block_a_large_pod() -> None:
    """The real scheduler refuses it when the small are made first (tests/agreement)."""
    small, large = (cpus("small", "1"), 2), (cpus("large", "4"), 1)
    assert not finds_placement([host("a"), host("b")], small, large)
    assert finds_placement([host("a"), host("b"), host("c", 8000)], small, large)


def test_a_small_pod_goes_to_the_freest_node() -> None:
    small, large = (cpus("small", "1"), 1), (cpus("large", "4"), 1)
    # 3 of 16 are free on b: the small pod prefers a, where all is free, and the large one is out.
    assert not finds_placement([host("a"), host("b", 16000, 13000)], small, large)
    # On b nearly everything is free, and a is half full: the small pod leaves the half alone.
    assert finds_placement([host("a", 8000, 4000), host("b", 16000, 1000)], small, large)


def test_an_impossible_placement_is_not_found() -> None:
    assert not finds_placement([host("a")], (cpus("x", "3"), 1), (cpus("y", "2"), 1))


def test_ports_separate_shapes() -> None:
    ports = frozenset({port(80)})
    first, second = cpus("x", "1", host_ports=ports), cpus("y", "1", host_ports=ports)
    assert not finds_placement([host("a")], (first, 1), (second, 1))
    assert finds_placement([host("a"), host("b")], (first, 1), (second, 1))


def test_anti_affinity_between_shapes_separates_them() -> None:
    first, second = (
        cpus("x", "1", anti_affinity=frozenset({S})),
        cpus("y", "1", matched_terms=frozenset({S})),
    )
    assert finds_placement([host("a")], (first, 2))
    assert not finds_placement([host("a")], (first, 1), (second, 1))
    assert finds_placement([host("a"), host("b")], (first, 1), (second, 1))


def test_any_domain_will_do() -> None:
    nodes = [host("a", rack="1"), host("b", rack="2"), host("c", rack="2")]
    pod_sets = (cpus("x", "4"), 1), (cpus("y", "3"), 1)
    assert finds_placement(nodes, *pod_sets, keys=("rack",))
    assert not finds_placement(nodes[:2], *pod_sets, keys=("rack",))


def test_the_number_of_orders_is_bounded() -> None:
    def played(*counts: int) -> int:
        """All orders of pods together. Without nodes there is no other work."""
        pod_sets = tuple(
            PodSet(cpus(f"s{index}", "1"), count) for index, count in enumerate(counts)
        )
        return scoring_cost(PlacementRequest(pod_sets), NodeSnapshot(()))

    assert played(1, 1) == 3 * 2
    assert played(1, 64) == 2 * 65
    assert played(1, 2, 3) == 7 * 6
    assert played(*[10] * 6) == 2 * 60


def test_equal_nodes_are_drawn_also_for_the_first_pod() -> None:
    """A driver of 1 GPU may go on any of three nodes that look alike to scores; two workers need two."""

    def gpus(name: str, amount: int) -> NodeInfo:
        room = {"cpu": 4000, "memory": 32 * GIB, "pods": 110, "nvidia.com/gpu": amount}
        return NodeInfo(name, {HOSTNAME: name}, allocatable=room, now=Requested({}, 0))

    driver = (Shape("driver", {"nvidia.com/gpu": Decimal(1)}), 1)
    workers = (Shape("workers", {"nvidia.com/gpu": Decimal(4)}), 2)
    for nodes in (
        [gpus("a", 1), gpus("b", 4), gpus("c", 4)],
        [gpus("b", 4), gpus("c", 4), gpus("z", 1)],
    ):
        assert not finds_placement(nodes, driver, workers)
        assert finds_placement([*nodes, gpus("d", 4)], driver, workers)


@pytest.mark.parametrize("seed", range(30))
def test_pods_go_to_the_best_of_all_nodes_one_by_one(seed: int) -> None:
    """Each pod is placed alone, on nodes that have the earlier pods: the same nodes as all at once."""
    dice = Random(seed)
    nodes = [
        host(f"n{number:02}", dice.choice((2000, 4000, 16000)), dice.randrange(0, 2000, 250))
        for number in range(dice.randint(1, 30))
    ]
    if dice.random() < 0.3:
        # No score counts an amount of zero.
        nodes.append(NodeInfo("zero", {}, allocatable={"cpu": 4000, "pods": 110}))
    item, count = cpus("x", dice.choice(("0.5", "1", "2"))), dice.randint(1, 40)
    request = PlacementRequest((PodSet(item, count),))
    together = scheduler_placement(request, NodeSnapshot(nodes))
    by_name = {entry.name: entry for entry in nodes}
    alone = Counter[str]()
    for _ in range(count):
        one = replace(request, pod_sets=(PodSet(item, 1),))
        placement = scheduler_placement(one, NodeSnapshot(by_name.values()))
        if placement is None:
            assert together is None
            return
        (name,) = placement
        alone[name] += 1
        by_name[name] = with_pods(by_name[name], [(item, 1)])
    assert together is not None
    assert {name: pods["x"] for name, pods in together.items()} == alone
