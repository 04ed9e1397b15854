"""Eligible nodes and room per shape."""

from __future__ import annotations

from decimal import Decimal

import pytest

from gangboard.domain.capacity import NodeInfo, Requested, Shape
from gangboard.domain.placement_result import ExcludedNodes, Filter, When
from gangboard.domain.pod_constraints import Requirement, Taint, Term
from gangboard.domain.resources import base_units, scheduler_units
from gangboard.placement.amounts import pod_amounts, requested_amounts
from tests.placement.making import CORDON, GPU, S, node, port, shape
from tests.placement.node_by_node import eligibility
from tests.placement.reference import shape_room


@pytest.mark.parametrize(
    ("resource", "amount", "expected"),
    [
        ("cpu", "0.5", 500),
        ("cpu", "0.0001", 1),
        ("cpu", "1.0001", 1001),
        ("memory", "1610612736", 1610612736),
        ("memory", "0.1", 1),
        (GPU, "8", 8),
        ("memory", "9223372036854775807.5", 9223372036854775808),
    ],
)
def test_units_round_up(resource: str, amount: str, expected: int) -> None:
    assert scheduler_units(resource, Decimal(amount)) == expected


def test_units_and_back() -> None:
    assert base_units("cpu", 1500) == Decimal("1.5")
    assert base_units("memory", 128974848) == 128974848
    assert pod_amounts({"cpu": Decimal("0.1"), GPU: Decimal(2)}) == {"cpu": 100, GPU: 2}
    assert requested_amounts(Shape("a", {"cpu": Decimal(0), GPU: Decimal(2)})) == {
        "pods": 1,
        GPU: 2,
    }


def five_nodes() -> list[NodeInfo]:
    """The cluster of the observed row: one tainted, one cordoned, three that do not match."""
    return [
        node("n1"),
        node("n2"),
        node("n3"),
        node("n4", unschedulable=True, taints=(CORDON,)),
        node("n5", taints=(Taint("gpu", "NoSchedule", "yes"),)),
    ]


def test_the_owner_comes_first_for_people() -> None:
    result = eligibility(five_nodes(), shape(node_selector={"no": "body"}))
    assert result.excluded == {Filter.SELECTOR: ExcludedNodes(5, ("n1", "n2", "n3"))}


def test_the_first_matching_filter_excludes_a_node() -> None:
    nodes = [
        node("bare", gpu=0, taints=(Taint("gpu", "NoSchedule"),)),
        node("small", gpu=1, unschedulable=True),
        node("staying", pinned=3),
        node("used", used=4),
        node("cordon", unschedulable=True, taints=(Taint("gpu", "NoSchedule"),)),
        node("silent", taints=(Taint("node.kubernetes.io/unreachable", "NoSchedule"),)),
        node("taint", taints=(Taint("gpu", "NoExecute"),)),
        node("soft", taints=(Taint("gpu", "PreferNoSchedule"),)),
        node("malformed", unreadable=frozenset({GPU})),
        NodeInfo("blank"),
    ]
    result = eligibility(nodes, shape(gpu=2))
    assert result.eligible == ("soft", "used")
    assert {item: excluded.examples for item, excluded in result.excluded.items()} == {
        Filter.MISSING_RESOURCE: ("bare",),
        Filter.TOO_SMALL: ("small", "staying"),
        Filter.UNSAID: ("blank",),
        Filter.CORDON: ("cordon",),
        Filter.NOT_READY: ("silent",),
        Filter.TAINT: ("taint",),
        Filter.UNREADABLE: ("malformed",),
    }
    assert list(result.excluded) == [item for item in Filter if item in result.excluded]


def test_a_resource_absent_on_all_nodes() -> None:
    result = eligibility([node("n1")], Shape("a", {"amd.com/gpu": Decimal(1)}))
    assert result.excluded == {
        Filter.MISSING_RESOURCE: ExcludedNodes(1, ("n1",), (("amd.com/gpu", 1),))
    }


def test_the_label_of_the_topology() -> None:
    nodes = [node("n1", labels={"rack": "a"}), node("n2")]
    result = eligibility(nodes, shape(gpu=1), ("rack",))
    assert result.eligible == ("n1",)
    assert result.excluded == {Filter.TOPOLOGY_LABEL: ExcludedNodes(1, ("n2",), (("rack", 1),))}


def test_order_of_nodes_does_not_matter() -> None:
    nodes = five_nodes()
    affinity = (Term((Requirement("kubernetes.io/hostname", "NotIn", ("n2",)),)),)
    assert eligibility(nodes, shape(affinity=affinity)) == eligibility(
        nodes[::-1], shape(affinity=affinity)
    )


def test_current_and_empty_capacity() -> None:
    nodes = [node("n1", used=3), node("n2", pinned=2), node("n3", unschedulable=True)]
    now = shape_room(nodes, shape(gpu=1), When.CURRENT)
    assert (now.total, now.per_node) == (3, {"n1": 1, "n2": 2})
    assert now.limits == {"n1": GPU, "n2": GPU}
    assert shape_room(nodes, shape(gpu=1), When.DRAINED).per_node == {"n1": 4, "n2": 2}


def test_an_overcommitted_node_accepts_only_pods_without_requests() -> None:
    full = NodeInfo("n1", allocatable={"cpu": 1000, "pods": 3}, now=Requested({"cpu": 1200}, 1))
    assert shape_room([full], Shape("a", {"cpu": Decimal("0.1")}), When.CURRENT).total == 0
    assert shape_room([full], Shape("a"), When.CURRENT).total == 2
    assert shape_room([full], Shape("a"), When.CURRENT).limits == {"n1": "pods"}


def test_ports_and_anti_affinity_allow_one_pod_per_node() -> None:
    nodes = [
        node("n1"),
        NodeInfo(
            "n2",
            allocatable={"pods": 110},
            now=Requested({}, 1, frozenset({port(80)}), matched_terms={S: 1}),
        ),
    ]
    web = Shape("a", host_ports=frozenset({port(80)}))
    assert shape_room(nodes, web, When.CURRENT).per_node == {"n1": 1, "n2": 0}
    assert shape_room(nodes, web, When.DRAINED).per_node == {"n1": 1, "n2": 1}
    lone = Shape("a", anti_affinity=frozenset({S}), matched_terms=frozenset({S}))
    assert shape_room(nodes, lone, When.CURRENT).limits == {
        "n1": "required anti-affinity",
        "n2": "required anti-affinity",
    }
