"""Devices that a node has and pods cannot get: told with their node, and the first thing to mend."""

from __future__ import annotations

from typing import Any

import pytest

from gangboard.decode.nodes import NODE
from gangboard.domain.advice import AdviceKind
from gangboard.domain.capacity import ClusterCapacity
from gangboard.domain.node import Node
from gangboard.placement.advice.ranking import advise
from gangboard.placement.sentences.cause import placement_reason
from gangboard.placement.usage import Usage
from tests.decode.reading import model, read, with_identity
from tests.placement.making import GPU
from tests.placement.test_advice import waiting

HUGE, RDMA = "hugepages-2Mi", "rdma/hca"


def a_served_node(name: str, capacity: dict[str, str], allocatable: dict[str, str]) -> Node:
    basic = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    less = {"cpu": "62", "memory": "500Gi", "pods": "110"}
    status = {"capacity": {**basic, **capacity}, "allocatable": {**less, **allocatable}}
    created: Node = model(NODE, with_identity({"status": status}, namespace="", name=name))
    return created


def room_of(*nodes: Node) -> ClusterCapacity:
    usage = Usage()
    for node in nodes:
        usage.put_node(node)
    return usage.capacity()


def summarize_reason(
    pods: int, gpu: int, *nodes: Node, **options: Any
) -> tuple[str, str, list[AdviceKind], str]:
    """Return code, sentence, kinds of advice and the first piece of it."""
    text = f"0/{len(nodes)} nodes are available: {len(nodes)} Insufficient {GPU}."
    unit = waiting(room_of(*nodes).nodes, pods, gpu, quorum=pods, text=text, **options)
    reason = placement_reason(unit)
    assert reason is not None
    advice = advise(unit)
    first = advice[0].text if advice else ""
    return reason.code, reason.text, [item.change for item in advice], first


@pytest.mark.parametrize(
    ("capacity", "allocatable", "withheld"),
    [
        ({GPU: "8"}, {GPU: "0"}, {GPU: 8}),
        ({GPU: "8"}, {GPU: "7"}, {GPU: 1}),
        ({GPU: "8"}, {}, {GPU: 8}),
        ({GPU: "8"}, {GPU: "8"}, {}),
        ({HUGE: "1Gi"}, {HUGE: "0"}, {HUGE: 2**30}),
        ({RDMA: "4"}, {RDMA: "3"}, {RDMA: 1}),
        ({GPU: "8"}, {GPU: "many"}, {}),
    ],
)
def test_withheld_devices_are_computed(
    capacity: dict[str, str], allocatable: dict[str, str], withheld: dict[str, int]
) -> None:
    """CPU and memory that a kubelet keeps for itself are no devices that are lost."""
    basic = {"cpu": "64", "memory": "512Gi"}
    less = {"cpu": "62", "memory": "500Gi", **allocatable}
    status = {"capacity": {**basic, **capacity}, "allocatable": less}
    obj = with_identity({"status": status}, namespace="", name="b")
    node, _ = read(NODE, obj)
    assert node.withheld == withheld


def test_a_node_without_any_allocatable_device() -> None:
    good, bad = (
        a_served_node("a", {GPU: "8"}, {GPU: "8"}),
        a_served_node("b", {GPU: "8"}, {GPU: "0"}),
    )
    code, text, kinds, first = summarize_reason(2, 8, good, bad)
    assert code == "exceeds-capacity"
    assert text.endswith("; 8 GPUs of node b are not allocatable (0 of 8)")
    assert kinds[0] is AdviceKind.RESTORE
    assert kinds[-1] is AdviceKind.SIZE
    assert first == (
        "Make 8 GPUs of node b allocatable again: then both pods fit. Check the device "
        "plugin and the health of the devices."
    )


def test_no_node_has_any() -> None:
    code, text, kinds, _ = summarize_reason(1, 8, a_served_node("b", {GPU: "8"}, {}))
    assert code == "no-matching-node"
    assert text.endswith(f"; 8 {GPU} of node b are not allocatable (0 of 8)")
    assert "GPUs" not in text, "one word in a sentence"
    assert kinds == [AdviceKind.RESTORE]


def test_a_part_is_not_allocatable() -> None:
    nodes = [a_served_node(name, {GPU: "8"}, {GPU: "7"}) for name in "ab"]
    code, text, kinds, _ = summarize_reason(2, 8, *nodes)
    assert code == "no-matching-node"
    assert text.endswith(
        "; 1 GPU of node a is not allocatable (7 of 8) and "
        "1 GPU of node b is not allocatable (7 of 8)"
    )
    assert kinds == [AdviceKind.RESTORE]


def test_a_withheld_part_that_does_not_help_is_not_reported() -> None:
    """Seven of eight take one pod of four, and eight would take two; five of six make no difference."""
    _, text, kinds, _ = summarize_reason(2, 4, a_served_node("a", {GPU: "8"}, {GPU: "7"}))
    assert "not allocatable" in text
    assert kinds[0] is AdviceKind.RESTORE
    _, text, kinds, _ = summarize_reason(2, 4, a_served_node("a", {GPU: "6"}, {GPU: "5"}))
    assert "not allocatable" not in text
    assert AdviceKind.RESTORE not in kinds


def test_another_node_is_not_to_blame() -> None:
    """Losses on an unusable node are not reported."""
    good = a_served_node("a", {GPU: "8"}, {GPU: "8"})
    other = a_served_node("b", {RDMA: "8", GPU: "0"}, {RDMA: "0"})
    _, text, kinds, _ = summarize_reason(2, 8, good, other)
    assert "not allocatable" not in text
    assert AdviceKind.RESTORE not in kinds
