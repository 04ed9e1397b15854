"""Nodes that have registered without reporting `status.allocatable` yet."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import compress
from typing import Any

import pytest

from gangboard.decode.nodes import NODE
from gangboard.domain.capacity import PODS, NodeInfo, Shape
from gangboard.domain.node import Node
from gangboard.domain.placement_result import Filter
from gangboard.facts.unit import Unit
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.sentences.cause import placement_reason
from gangboard.placement.unit_placement import fit_rows, placing_of
from gangboard.placement.usage import Usage
from tests.decode.reading import model, read, with_identity
from tests.placement.making import CORDON, GPU, node, shape
from tests.placement.node_by_node import eligibility
from tests.rules import texts
from tests.rules.waiting_gangs import gang, selecting
from tests.rules.waiting_gangs import pod_requests as asks


def registered(name: str, status: Any = None, **spec: Any) -> Node:
    built: Node = model(NODE, with_identity({"spec": spec, "status": status}, name, namespace=""))
    return built


def offering(name: str, **amounts: str) -> Node:
    named = {key.replace("gpu", GPU): value for key, value in amounts.items()}
    return registered(name, {"allocatable": {"cpu": "8", "pods": "110", **named}})


def waiting(*nodes: Node, count: int = 2, **options: Any) -> Unit:
    usage = Usage()
    for item in nodes:
        usage.put_node(item)
    return gang(count, asks(4), usage.capacity(), text=texts.GPU_SHORT, **options)


def blocked_reason(unit: Unit) -> tuple[str, str]:
    result = placement_reason(unit)
    assert result is not None
    assert result.blocked
    return result.code, result.text


STATUSES: list[Any] = [None, {}, {"allocatable": None}, {"allocatable": {}}, {"conditions": []}]


@pytest.mark.parametrize("status", STATUSES)
def test_all_nodes_are_silent(status: Any) -> None:
    unit = waiting(*(registered(f"n{index}", status) for index in range(3)))
    assert blocked_reason(unit) == (
        "nodes-unschedulable",
        "no node is known that could host 2 pods, and 3 nodes have not said what they offer yet",
    )
    (row,) = fit_rows(unit)
    (out,) = row.excluded
    assert (out.label, out.nodes, out.examples) == (Filter.UNSAID, 3, ("n0", "n1", "n2"))
    assert (row.fits_now, row.fits_empty, row.open_nodes, row.nodes) == (0, 0, 0, 3)


def test_the_taint_of_a_node_that_is_not_ready_comes_with_it() -> None:
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert blocked_reason(waiting(registered("n0", None, taints=[taint]), count=1)) == (
        "nodes-unschedulable",
        "no node is known that could host 1 pod, and 1 node has not said what it offers yet",
    )


def test_speaking_nodes_lack_the_resource() -> None:
    """A silent node must not hide a resource that no node has."""
    unit = waiting(offering("n0"), offering("n1"), registered("n2"))
    assert blocked_reason(unit) == (
        "no-matching-node",
        (
            "2 pods request 4 nvidia.com/gpu each, and no node has any; 1 more node has not said "
            "what it offers yet"
        ),
    )


def test_speaking_nodes_are_too_small() -> None:
    unit = waiting(offering("n0", gpu="2"), registered("n1"), registered("n2"))
    assert blocked_reason(unit) == (
        "no-matching-node",
        (
            "2 pods request 4 GPUs each, and the largest node has 2; 2 more nodes have not said "
            "what they offer yet"
        ),
    )


def test_speaking_nodes_are_cordoned() -> None:
    cordoned = offering("n0", gpu="4")
    cordoned = replace(cordoned, unschedulable=True, taints=_cordon())
    unit = waiting(cordoned, registered("n1"), registered("n2"))
    assert blocked_reason(unit) == (
        "nodes-unschedulable",
        "the only node that could host 2 pods is cordoned (n0); 2 more nodes have not said what they "
        "offer yet",
    )


def _cordon() -> Any:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    return registered("any", None, taints=[taint]).taints


def test_all_selected_nodes_are_silent() -> None:
    unit = waiting(offering("n0", gpu="4"), registered("n1"), needs=selecting(pool="a"))
    assert blocked_reason(unit)[0] == "no-matching-node"
    new = replace(registered("n1"), labels={"pool": "a"})
    assert blocked_reason(waiting(offering("n0", gpu="4"), new, needs=selecting(pool="a"))) == (
        "nodes-unschedulable",
        "no node is known that could host 2 pods, and 1 node has not said what it offers yet",
    )


def test_a_silent_node_next_to_a_shortage() -> None:
    unit = waiting(offering("n0", gpu="4"), registered("n1"))
    assert blocked_reason(unit) == (
        "exceeds-capacity",
        "2 pods need 8 GPUs, but the only usable node has 4 even when empty: only 1 of 2 "
        "fits; 1 more node has not said what it offers yet",
    )


def test_a_node_with_unreadable_amounts_is_not_silent() -> None:
    status = {"allocatable": {"cpu": "x", "pods": "y", GPU: "z"}}
    broken, problem = read(NODE, with_identity({"status": status}, "n0", namespace=""))
    assert problem is not None
    unit = waiting(broken)
    answer = placing_of(unit)
    assert answer is not None
    (item,) = answer.shapes
    assert list(item.eligibility.excluded) == [Filter.UNREADABLE]


def test_vectorised_results_equal_results_by_node() -> None:
    silent, speaking = NodeInfo("n1", {"rack": "a"}), node("n1", labels={"rack": "a"})
    rest = (node("n0"), NodeInfo("n2", taints=(CORDON,)), node("n3", gpu=0))
    for item in (shape(gpu=4), shape(), Shape("none", {PODS: Decimal(0)})):
        for was, is_now in ((silent, speaking), (speaking, silent)):
            nodes = (*rest, is_now)
            for snapshot in (
                NodeSnapshot(nodes),
                NodeSnapshot((*rest, was)).changed({"n1": is_now}),
            ):
                feasible = feasible_nodes_of(snapshot, item)
                for keys in ((), ("rack",)):
                    assert feasible.eligibility(keys) == eligibility(nodes, item, keys)
                    verdicts = eligibility(nodes, item, keys).eligible
                    assert tuple(compress(snapshot.names, feasible.eligible(keys))) == verdicts
