"""Vectorised checks equal checks node by node, for every cluster, shape and gang."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import permutations
from random import Random
from typing import TypeVar

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from gangboard.domain.capacity import NodeInfo, PlacementRequest, PodSet, Requested, Shape
from gangboard.domain.placement_result import Fit, FitAnswer, PlacementCause, ResourceTotal, When
from gangboard.domain.pod_constraints import (
    HOSTNAME,
    HostPort,
    Requirement,
    Spread,
    Taint,
    Term,
    Toleration,
)
from gangboard.placement.assess import assess
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.gang_fit import check_fit
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.totals import totals
from tests.placement import node_assessment, node_by_node
from tests.placement.making import CORDON, GPU, R, S, T, gang, node, shape
from tests.placement.node_by_node import eligibility, lifted
from tests.placement.reference import shape_room
from tests.placement.single_node import is_eligible

Thing = TypeVar("Thing")
HUGE = 2**70
PORTS = [HostPort(80), HostPort(80, address="10.0.0.1"), HostPort(81)]
TAINTS = [
    CORDON,
    Taint("node.kubernetes.io/not-ready", "NoExecute"),
    Taint("gpu", "NoSchedule", "true"),
    Taint("spot", "PreferNoSchedule"),
]
TOLERATIONS = [
    Toleration("gpu", "Exists"),
    Toleration("gpu", "Equal", "true", "NoSchedule"),
    Toleration(operator="Exists", effect="NoExecute"),
    Toleration("node.kubernetes.io/unschedulable", "Exists"),
]
ENTRIES = [
    Requirement("pool", "In", ("x", "z")),
    Requirement("pool", "NotIn", ("x",)),
    Requirement("rack", "Exists"),
    Requirement("rack", "DoesNotExist"),
    Requirement("size", "Gt", ("3",)),
    Requirement("size", "Lt", ("3",)),
]
FIELDS = [
    Requirement("metadata.name", "In", ("n0", "n1")),
    Requirement("metadata.name", "NotIn", ("n0",)),
]
ABSURD = [HUGE, 2**62, 2**62 + 1, -3]
seeds = st.integers(0, 2**32).map(Random)
"""Drawing each of hundreds of small things by itself would take most of the time."""


def random_items(random: Random, items: Sequence[Thing], often: float) -> list[Thing]:
    """One or two of the things, so often; else none."""
    return random.sample(list(items), random.randint(1, 2)) if random.random() < often else []


def amount(random: Random, most: int) -> int:
    return random.choice(ABSURD) if random.random() < 0.03 else random.randint(0, most)


def odd_load(random: Random, odd: float) -> Requested:
    return Requested(
        {name: amount(random, 3) for name in ("cpu", GPU) if random.random() < 0.6},
        random.randint(0, 2),
        frozenset(random_items(random, PORTS, odd)),
        dict.fromkeys(random_items(random, [S, T, R], odd), 1),
        dict.fromkeys(random_items(random, [S, T, R], odd), 1),
    )


def merged(requested: Requested, other: Requested) -> Requested:
    amounts = {
        key: requested.amounts.get(key, 0) + other.amounts.get(key, 0)
        for key in {**requested.amounts, **other.amounts}
    }
    pods = requested.pods + other.pods
    ports = requested.host_ports | other.host_ports
    return Requested(
        amounts,
        pods,
        ports,
        {**requested.anti_affinity, **other.anti_affinity},
        {**requested.matched_terms, **other.matched_terms},
    )


def odd_nodes(random: Random) -> list[NodeInfo]:
    odd = random.choice([0.0, 0.1, 0.4])
    result = []
    for index in range(random.choice([0, 1, 2, 3, 4, 6, 9])):
        labels = {"pool": random.choice("xxyz"), "rack": random.choice("ab")}
        labels |= {"size": random.choice(["2", "4", "four"]), HOSTNAME: f"n{index}"}
        for key in random_items(random, sorted(labels), odd / 2):
            labels[key] = "n0"
            if random.random() < 0.5:
                del labels[key]
        pinned = odd_load(random, odd / 2) if random.random() < 0.5 else Requested()
        existing = {"cpu": amount(random, 12), GPU: amount(random, 8), "pods": random.randint(2, 9)}
        for name in random_items(random, sorted(existing), odd / 2):
            del existing[name]
        result.append(
            NodeInfo(
                f"n{index}",
                labels,
                tuple(random_items(random, TAINTS, odd)),
                random.random() < odd / 2,
                allocatable=existing,
                now=merged(pinned, odd_load(random, odd)),
                pinned=pinned,
                unreadable=frozenset(random_items(random, ["cpu", GPU], odd / 3)),
            )
        )
    return result


def odd_spreads(random: Random) -> tuple[Spread, ...]:
    keys = random.sample(["rack", "size", HOSTNAME], random.choice([1, 1, 2, 3]))
    return tuple(odd_spread(random, key) for key in keys)


def odd_spread(random: Random, key: str) -> Spread:
    return Spread(
        key,
        random.choice([S, T]),
        random.randint(1, 2),
        random.choice([1, 1, 2, 3]),
        random.random() < 0.7,
        random.random() < 0.3,
        random.random() < 0.7,
    )


def odd_shape(random: Random, name: str = "s") -> Shape:
    odd = random.choice([0.0, 0.1, 0.3])
    terms = [
        Term(tuple(random_items(random, ENTRIES, 0.7)), tuple(random_items(random, FIELDS, 0.3)))
        for _ in range(random.randint(0, 2))
    ]
    requested = {"cpu": Decimal(random.randint(0, 4)) / 1000, GPU: Decimal(random.randint(0, 3))}
    if random.random() < 0.03:
        requested[random.choice(["cpu", GPU])] = Decimal(HUGE)
    return Shape(
        name,
        dict(random.sample(list(requested.items()), 2)),
        {"pool": "x", **({"rack": "a"} if random.random() < 0.3 else {})}
        if random.random() < odd
        else {},
        tuple(terms) if random.random() < odd else None,
        tuple(random_items(random, TOLERATIONS, 0.3)),
        frozenset(random_items(random, PORTS, odd / 2)),
        frozenset(random_items(random, [S, T, R], odd / 2)),
        frozenset(random_items(random, [S, T, R], odd / 2)),
        random.choice([S, R]) if random.random() < odd / 2 else None,
        odd_spreads(random) if random.random() < odd else (),
        ("volumes",) if random.random() < 0.1 else (),
    )


KEYS: list[tuple[str, ...]] = [(), (), ("rack",), ("rack", "pool")]


def odd_gang(random: Random) -> PlacementRequest:
    counts = [random.choice([0, 1, 2, 3, 5, 8]) for _ in range(random.choice([1, 1, 2, 3]))]
    pod_sets = tuple(
        PodSet(odd_shape(random, f"s{index}"), count) for index, count in enumerate(counts)
    )
    keys = random.choice(KEYS)
    chosen = tuple("ax"[: len(keys)]) if random.random() < 0.2 and keys else None
    quorum = random.randint(0, sum(counts) + 1) if random.random() < 0.4 else None
    return PlacementRequest(pod_sets, quorum, keys, chosen)


@given(seeds)
def test_vectorised_node_checks_equal_single_checks(random: Random) -> None:
    nodes, item, keys = odd_nodes(random), odd_shape(random), random.choice(KEYS)
    feasible = feasible_nodes_of(NodeSnapshot(nodes), item)
    nodes = list(lifted(nodes))
    event(f"eligible: {bool(feasible.eligible(keys).any())}")
    assert feasible.eligibility(keys) == eligibility(nodes, item, keys)
    assert feasible.eligible(keys).tolist() == [is_eligible(node, item, keys) for node in nodes]
    for when in When:
        room = shape_room(nodes, item, when)
        max_pods = feasible.max_pods(when).tolist()
        assert max_pods == [room.per_node.get(node.name, 0) for node in nodes]
    hosted = [node for node in nodes if is_eligible(node, item, keys)]
    room = shape_room(hosted, item, When.CURRENT)
    now, empty, open_nodes, saturated = feasible.summary(keys)
    assert now == room.total
    assert empty == shape_room(hosted, item, When.DRAINED).total
    full = [str(room.limits[name]) for name, count in room.per_node.items() if not count]
    assert open_nodes == len(hosted) - len(full)
    assert {limit: count for limit, count, _ in saturated} == {
        limit: full.count(limit) for limit in full
    }


def is_right(
    result: Fit, expected: Fit, request: PlacementRequest, nodes: Sequence[NodeInfo]
) -> None:
    """The same answer. A placement is checked with a request for exactly these nodes."""
    assert (result.answer, result.why, result.but_for) == (
        expected.answer,
        expected.why,
        expected.but_for,
    )
    if result.answer is not FitAnswer.YES:
        return
    placed = {name: sum(item.values()) for name, item in result.placement.items()}
    assert sum(placed.values()) >= request.needed
    for name, counts in result.placement.items():
        single_node = [node for node in nodes if node.name == name]
        pod_sets = tuple(
            # Pod affinity and spread depend on other nodes.
            PodSet(
                replace(pod_set.shape, pod_affinity=None, spreads=()), counts[pod_set.shape.name]
            )
            for pod_set in request.pod_sets
            if pod_set.shape.name in counts
        )
        when = When.CURRENT
        requested = PlacementRequest(pod_sets)
        if node_by_node.fits(requested, single_node, when, placed[name]).answer is FitAnswer.NO:
            when = When.DRAINED
        again = node_by_node.fits(requested, single_node, when, placed[name])
        assert again.answer is FitAnswer.YES


@given(seeds)
def test_a_gang_is_judged_as_node_by_node(random: Random) -> None:
    request, nodes = odd_gang(random), odd_nodes(random)
    result, other = assess(request, nodes), node_assessment.assess(request, nodes)
    event(result.cause)
    for item in ("cause", "deciding", "constraints", "why", "totals"):
        assert getattr(result, item) == getattr(other, item), item
    if PlacementCause.CANNOT_TELL is not result.cause:
        is_right(result.now, other.now, request, nodes)
        is_right(result.empty, other.empty, request, nodes)


@given(seeds)
def test_a_changed_snapshot_is_a_snapshot_of_the_changed_nodes(random: Random) -> None:
    nodes, rest = odd_nodes(random), odd_nodes(random)
    item, keys = odd_shape(random), random.choice(KEYS)
    snapshot = NodeSnapshot(nodes)
    feasible_nodes_of(snapshot, item).summary(
        keys
    )  # its columns exist and must not be reused unchanged
    instead = {node.name: node for node in rest[1:]}
    changed = [instead.get(node.name, node) for node in nodes]
    patched = feasible_nodes_of(snapshot.changed(instead), item)
    assert patched.eligibility(keys) == eligibility(lifted(changed), item, keys)
    assert patched.summary(keys) == feasible_nodes_of(NodeSnapshot(changed), item).summary(keys)
    assert feasible_nodes_of(snapshot, item).eligibility(keys) == eligibility(
        lifted(nodes), item, keys
    )


def crowd(random: Random) -> tuple[PlacementRequest, list[NodeInfo]]:
    """Several members of two or three shapes that stand in each other's way on many nodes."""
    requested = random.sample(
        [(cpu, gpu) for cpu in (1, 2, 3) for gpu in range(5)], random.choice([2, 3])
    )
    pod_sets = tuple(
        PodSet(
            Shape(
                f"s{index}",
                {"cpu": Decimal(cpu), GPU: Decimal(gpu)},
                anti_affinity=frozenset({S}) if random.random() < 0.2 else frozenset(),
                matched_terms=frozenset({S}) if random.random() < 0.2 else frozenset(),
            ),
            random.randint(1, 9),
        )
        for index, (cpu, gpu) in enumerate(requested)
    )
    sizes = [(random.randint(2, 8), random.randint(0, 8)) for _ in range(random.randint(1, 4))]
    nodes = [
        NodeInfo(
            f"n{index}",
            {HOSTNAME: f"n{index}"},
            allocatable={"cpu": 1000 * cpu, GPU: gpu, "pods": 9},
        )
        for index, (cpu, gpu) in enumerate(sizes * random.randint(1, 3))
    ]
    return PlacementRequest(pod_sets), nodes


@given(seeds)
def test_members_in_each_others_way_are_placed_when_they_can_be(random: Random) -> None:
    request, nodes = crowd(random)
    answers = []
    for target in range(1, request.size + 1):
        result = check_fit(request, nodes, When.CURRENT, target)
        answers.append(result.answer)
        if target in (request.size // 2, request.size):
            plain = node_by_node.fits(request, nodes, When.CURRENT, target, steps=3_000_000)
            assert result.answer is plain.answer
        if result.answer is FitAnswer.YES:
            assert sum(sum(item.values()) for item in result.placement.values()) >= target
            for name, counts in result.placement.items():
                shapes = {pod_set.shape.name: pod_set for pod_set in request.pod_sets}
                on_it = next(item for item in nodes if item.name == name)
                for resource, unit in (("cpu", 1000), (GPU, 1)):
                    used = sum(
                        int(shapes[item].shape.requests[resource] * unit) * count
                        for item, count in counts.items()
                    )
                    assert used <= on_it.allocatable[resource]
                here = [shapes[item].shape for item, count in counts.items() for _ in range(count)]
                assert not any(
                    item.anti_affinity & other.matched_terms
                    for item, other in permutations(here, 2)
                )
            placed = [
                sum(item.get(index, 0) for item in result.placement.values()) for index in shapes
            ]
            counted = [pod_set.count for pod_set in request.pod_sets]
            assert all(item <= count for item, count in zip(placed, counted, strict=True))
    # Once it is NO it stays NO.
    assert answers == sorted(answers, key=[FitAnswer.YES, FitAnswer.NO].index)


def test_a_snapshot_is_its_nodes_in_order() -> None:
    snapshot = NodeSnapshot([node("b"), node("a")])
    assert [item.name for item in snapshot] == ["a", "b"]
    assert (len(snapshot), snapshot[1].name, [item.name for item in snapshot[:1]]) == (
        2,
        "b",
        ["a"],
    )
    assert snapshot.changed({"c": node("c")}) is snapshot


@pytest.mark.parametrize(
    ("fit", "sums"), [(check_fit, totals), (node_by_node.fits, node_by_node.totals)]
)
def test_amounts_beyond_64_bits_stay_exact(
    fit: Callable[..., Fit], sums: Callable[..., tuple[ResourceTotal, ...]]
) -> None:
    # 2^70 bytes and one more are free on each node: each takes one pod of 2^70, not two.
    bytes_ = {"memory": 2**70 + 1, "pods": 9}
    nodes = [NodeInfo(f"n{index}", allocatable=bytes_) for index in range(3)]
    item = Shape("s", {"memory": Decimal(2**70)})
    assert fit(gang(3, item), nodes, When.CURRENT, 3).answer is FitAnswer.YES
    assert fit(gang(4, item), nodes, When.CURRENT, 4).answer is FitAnswer.NO
    assert sums(gang(4, item).pod_sets, 4, nodes)[0].free == 3 * 2**70 + 3
    small = Shape("s", {"memory": Decimal(1)})
    assert fit(gang(27, small), nodes, When.CURRENT, 27).answer is FitAnswer.YES


def test_sums_beyond_64_bits_stay_exact() -> None:
    nodes = [NodeInfo(f"n{index}", allocatable={"memory": 2**62, "pods": 9}) for index in range(4)]
    item = Shape("s", {"memory": Decimal(2**60)})
    assert totals(gang(9, item).pod_sets, 9, nodes)[0].free == 2**64
    assert check_fit(gang(16, item), nodes, When.CURRENT, 16).answer is FitAnswer.YES
    assert check_fit(gang(17, item), nodes, When.CURRENT, 17).answer is FitAnswer.NO


def test_drivers_and_workers_on_a_thousand_different_nodes() -> None:
    # A node takes one driver or two workers, for any amount of memory. 400 drivers and 1200 workers
    # need all 1000 nodes, and one pod more does not fit.
    nodes = [
        replace(item, allocatable={**item.allocatable, "memory": 10**9 + position})
        for position, item in enumerate(node(f"n{index:04}") for index in range(1000))
    ]
    driver = Shape("driver", {"cpu": Decimal(6), "memory": Decimal(1000)})
    worker = Shape("worker", {"cpu": Decimal(3), GPU: Decimal(2), "memory": Decimal(1000)})

    def answer_for(drivers: int, workers: int) -> FitAnswer:
        request = PlacementRequest((PodSet(driver, drivers), PodSet(worker, workers)))
        return check_fit(request, nodes, When.CURRENT, request.size).answer

    assert answer_for(400, 1200) is FitAnswer.YES
    assert answer_for(401, 1200) is FitAnswer.NO
    assert answer_for(400, 1201) is FitAnswer.NO


def test_topology_restricts_the_nodes_to_a_rack() -> None:
    # Rack b has room for four pods of two devices, a and c for two each.
    nodes = [node(f"{rack}{index}", labels={"rack": rack}) for rack in "abc" for index in range(2)]
    nodes = [
        replace(item, now=Requested({GPU: 2})) if item.name[0] in "ac" else item for item in nodes
    ]
    two = shape(gpu=2)
    result = check_fit(gang(4, two, topology_keys=("rack",)), nodes, When.CURRENT, 4)
    assert result.placement == {"b0": {"worker": 2}, "b1": {"worker": 2}}
    assert (
        check_fit(gang(5, two, topology_keys=("rack",)), nodes, When.CURRENT, 5).answer
        is FitAnswer.NO
    )
    other = gang(3, two, topology_keys=("rack",), domain=("c",))
    assert check_fit(other, nodes, When.CURRENT, 3).answer is FitAnswer.NO
