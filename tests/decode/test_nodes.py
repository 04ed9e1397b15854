from gangboard.decode.nodes import NODE
from gangboard.domain.node import Node
from tests.decode.reading import Json, model, with_identity


def node(status: Json | None, **spec: bool) -> Node:
    built: Node = model(NODE, with_identity({"spec": spec, "status": status}, namespace=""))
    return built


def ready(status: str) -> Json:
    return {
        "conditions": [
            {"type": "MemoryPressure", "status": "False"},
            {"type": "Ready", "status": status},
        ]
    }


def test_a_ready_node() -> None:
    assert node(ready("True")).is_ready
    assert not node(ready("True")).unschedulable


def test_a_cordoned_node_is_ready_and_unschedulable() -> None:
    cordoned = node(ready("True"), unschedulable=True)
    assert cordoned.is_ready
    assert cordoned.unschedulable


def test_a_silent_kubelet_is_unknown_and_not_ready() -> None:
    silent = node(ready("Unknown"))
    assert silent.ready is not None
    assert silent.ready.status == "Unknown"
    assert not silent.is_ready


def test_a_node_that_never_reported_says_nothing() -> None:
    assert node(None).ready is None
    assert node({"conditions": None}).ready is None


def test_nodes_are_never_needed() -> None:
    assert not NODE.needed
    assert NODE.key == "nodes"
