from datetime import UTC, datetime
from typing import Any

import pytest

from gangboard.decode.nodes import NODE
from gangboard.domain.node import Node
from gangboard.domain.pod_constraints import Taint
from gangboard.domain.suspension import FieldWriter
from tests.decode.reading import Json, model, read, with_identity


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


def test_node_without_a_status() -> None:
    assert node(None).ready is None
    assert node({"conditions": None}).ready is None


def test_nodes_are_optional() -> None:
    assert not NODE.needed
    assert NODE.key == "nodes"


def offer(**allocatable: Any) -> Node:
    named = {key.replace("gpu", "nvidia.com/gpu"): value for key, value in allocatable.items()}
    return node({"allocatable": named})


def test_allocatable_amounts_are_in_scheduler_units() -> None:
    # Thousandths of a core, whole bytes and devices: Resource.Add of kube-scheduler.
    built = offer(cpu="7910m", memory="128974848", pods="110", gpu="8")
    assert built.allocatable == {
        "cpu": 7910,
        "memory": 128974848,
        "pods": 110,
        "nvidia.com/gpu": 8,
    }
    assert built.unreadable == frozenset()


@pytest.mark.parametrize(
    ("resource", "text", "expected"),
    [
        ("cpu", "100m", 100),
        ("cpu", "1e3", 1_000_000),
        ("cpu", "0.0001", 1),  # MilliValue rounds up
        ("memory", "1.5Gi", 1610612736),
        ("memory", "1e3", 1000),
        ("memory", "100m", 1),  # a tenth of a byte: Value rounds up
        ("memory", "-1Gi", -1073741824),
        ("memory", "-100m", -1),  # away from zero
        ("memory", "9223372036854775807", 2**63 - 1),
        ("gpu", "0", 0),
        ("gpu", 8, 8),
    ],
)
def test_quantities_of_every_form(resource: str, text: Any, expected: int) -> None:
    name = resource.replace("gpu", "nvidia.com/gpu")
    assert offer(**{resource: text}).allocatable == {name: expected}


@pytest.mark.parametrize("text", ["", "eight", "8 Gi", "0x8", "9" * 65, "1e100", "1e30", "9Ei"])
def test_malformed_quantity_is_reported_and_the_node_is_stored(text: str) -> None:
    status = {"allocatable": {"cpu": "4", "memory": text}}
    built, problem = read(NODE, with_identity({"status": status}, "n1", ""))
    assert built.allocatable == {"cpu": 4000}
    assert built.unreadable == {"memory"}
    assert problem is not None
    assert not problem.lost
    assert problem.sentence.startswith(
        "Node n1 is read only in part: its allocatable memory is left out: "
    )


@pytest.mark.parametrize("status", [None, {}, {"allocatable": None}, {"allocatable": {}}])
def test_node_without_allocatable(status: Json | None) -> None:
    built = node(status)
    assert built.allocatable == {}
    assert built.unreadable == frozenset()


def test_labels_and_taints() -> None:
    obj = {
        "metadata": {"labels": {"kubernetes.io/hostname": "n1", "spot": ""}},
        "spec": {
            "taints": [
                {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
                {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute",
                 "timeAdded": "2026-10-02T08:00:00Z"},
                {"key": "soft", "effect": "PreferNoSchedule"},
            ]
        },
    }  # fmt: skip
    built: Node = model(NODE, with_identity(obj, "n1", ""))
    assert built.labels == {"kubernetes.io/hostname": "n1", "spot": ""}
    assert built.taints == (
        Taint("nvidia.com/gpu", "NoSchedule", "present"),
        Taint("node.kubernetes.io/unreachable", "NoExecute"),
        Taint("soft", "PreferNoSchedule"),
    )


def test_null_fields_are_empty() -> None:
    bare = {"metadata": {"labels": None}, "spec": {"taints": None, "unschedulable": None}}
    built: Node = model(NODE, with_identity(bare, "n1", ""))
    assert (built.labels, built.taints, built.unschedulable) == ({}, (), False)


def test_all_labels_are_stored() -> None:
    # The API server sets no limit to their number, and pods can ask for any of them.
    labels = {f"l{number}": "x" for number in range(2_500)}
    built, problem = read(NODE, with_identity({"metadata": {"labels": labels}}, "n1", ""))
    assert built.labels == labels
    assert problem is None


def test_true_lifecycle_conditions_are_stored() -> None:
    """KEP-5683 (1.37). Other values are for the kubelet and for repair tools."""
    result = node(
        {
            "conditions": [
                {"type": "DrainInProgress", "status": "True", "reason": "Upgrade"},
                {"type": "MaintenancePlanned", "status": "False"},
                {"type": "MaintenanceInProgress", "status": "Unknown"},
                {"type": "MemoryPressure", "status": "True"},
                {"type": "Ready", "status": "True"},
            ]
        }
    )
    assert [(item.type, item.reason) for item in result.lifecycle] == [
        ("DrainInProgress", "Upgrade")
    ]
    assert node(ready("True")).lifecycle == ()


def written(manager: str, time: str, field: str) -> Json:
    """Return an entry of `managedFields` as 1.37.2 serves it: a list of taints is owned whole."""
    fields: Json = {"f:spec": {f"f:{field}": {}}}
    return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": fields}


CORDONED = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def changed(entries: list[Json], **spec: Any) -> Node:
    obj = {"metadata": {"managedFields": entries}, "spec": spec, "status": ready("True")}
    built: Node = model(NODE, with_identity(obj, namespace=""))
    return built


def test_writer_of_a_cordon() -> None:
    """A later write of the same manager moves its time, not that of the taint (both observed on 1.37.2)."""
    entries = [
        written("kubectl", "2026-11-27T10:24:10Z", "unschedulable"),
        written("kube-controller-manager", "2026-11-27T10:24:07Z", "taints"),
    ]
    taints = [
        {"key": "gpu", "value": "reserved", "effect": "NoSchedule"},
        {**CORDONED, "timeAdded": "2026-11-27T10:24:07Z"},
    ]
    result = changed(entries, unschedulable=True, taints=taints)
    written_at = datetime(2026, 11, 27, 10, 24, 7, tzinfo=UTC)
    assert result.cordoned_by == FieldWriter("kubectl", written_at, is_exact=True)
    assert result.tainted_by == FieldWriter("kube-controller-manager", written_at)
    untimed = changed(entries, unschedulable=True, taints=[CORDONED]).cordoned_by
    assert untimed == FieldWriter("kubectl", written_at.replace(second=10))
    free = changed(entries)
    assert (free.cordoned_by, free.tainted_by) == (None, None)
    assert changed([], unschedulable=True, taints=taints).cordoned_by is None
