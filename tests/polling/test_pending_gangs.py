"""Pending gangs are assessed again when nodes change, and the capacity is stored."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from gangboard.polling import assessment_index, assessor, poll
from gangboard.store.gangs import unpack_detail
from gangboard.store.models import ClusterCapacity, Gang, NodeCapacity
from simulator import Simulator
from tests.polling.conftest import Watching

Watch = Callable[..., Watching]
DEVICE = "example.com/device"


def put_waiting_job(simulator: Simulator, name: str = "waits") -> None:
    """A Job with one pod that asks for 16 devices, of which no node has any."""
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {
            "completions": 1,
            "parallelism": 1,
            "template": {"spec": {"containers": [_container()]}},
        },
        "status": {"active": 1},
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{name}-0",
            "namespace": "default",
            "uid": f"uid-{name}-0",
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": name,
                    "uid": f"uid-{name}",
                    "controller": True,
                }
            ],
        },
        "spec": {"schedulerName": "default-scheduler", "containers": [_container()]},
        "status": {
            "phase": "Pending",
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": f"0/1 nodes are available: 1 Insufficient {DEVICE}.",
                }
            ],
        },
    }
    simulator.objects.put(job)
    simulator.objects.put(pod)


def _container() -> dict[str, Any]:
    return {"name": "main", "resources": {"requests": {DEVICE: "16"}}}


def node_names(simulator: Simulator) -> list[str]:
    return sorted(node["metadata"]["name"] for node in simulator.objects.list("v1", "Node"))


def give_devices(simulator: Simulator, name: str) -> None:
    def give(node: dict[str, Any]) -> None:
        node["status"]["allocatable"][DEVICE] = "16"
        node["spec"].pop("taints", None)
        node["spec"].pop("unschedulable", None)

    simulator.objects.update("v1", "Node", name, give)


def window_until(watching: Watching, condition: Callable[[], bool]) -> None:
    """Hold the cluster for window after window until it is true. Raises AssertionError."""
    for _ in range(10):
        watching.settle()
        if condition():
            return
    raise AssertionError("did not come true")


def fits_now(watching: Watching) -> int:
    (row,) = unpack_detail(bytes(watching.gang("waits").detail)).fit
    assert row.why == ""
    return row.fits_now


def test_free_capacity_on_a_node_updates_pending_gangs(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assessment_index, "ROUND_PAUSE", 0.2)
    watching = watch()
    put_waiting_job(watching.simulator)
    window_until(watching, lambda: Gang.objects.filter(name="waits").exists())
    assert fits_now(watching) == 0
    name = node_names(watching.simulator)[0]
    threading.Timer(0.3, give_devices, (watching.simulator, name)).start()
    window_until(watching, lambda: fits_now(watching) == 1)


def test_a_change_of_a_node_assesses_nothing_without_pending_gangs(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching = watch()
    window_until(watching, Gang.objects.exists)
    cache = poll._caches[watching.cluster.pk]
    for root in list(cache.assessments._pending):
        cache.assessments.remove(root)
    judged: list[object] = []
    monkeypatch.setattr(assessor, "assess", judged.append)
    monkeypatch.setattr(assessment_index, "ROUND_PAUSE", 0.0)
    give_devices(watching.simulator, node_names(watching.simulator)[0])
    before = cache.node_usage.version
    window_until(watching, lambda: cache.node_usage.version > before)
    watching.settle()
    assert judged == []


def test_the_capacity_is_stored_as_the_nodes_are(watch: Watch) -> None:
    watching = watch()
    put_waiting_job(watching.simulator)
    watching.once()
    names = node_names(watching.simulator)
    assert sorted(NodeCapacity.objects.values_list("name", flat=True)) == names
    give_devices(watching.simulator, names[0])
    watching.simulator.objects.delete("v1", "Node", names[1])
    version = watching.fresh().data_version
    watching.once()
    assert watching.fresh().data_version > version
    rows = {row.name: row for row in NodeCapacity.objects.all()}
    assert sorted(rows) == [names[0], *names[2:]]
    assert rows[names[0]].allocatable[DEVICE] == "16"
    capacity = ClusterCapacity.objects.get()
    assert capacity.why == ""
    (shape,) = [candidate for candidate in capacity.shapes if DEVICE in candidate["requests"]]
    assert shape["requests"] == {DEVICE: "16"}
    assert (shape["waiting"], shape["fits_now"], shape["fits_empty"]) == (1, 1, 1)


def test_forbidden_nodes_are_no_empty_cluster(watch: Watch) -> None:
    watching = watch()
    put_waiting_job(watching.simulator)
    watching.once()
    rows = NodeCapacity.objects.count()
    watching.simulator.faults.forbidden(resource="nodes")
    watching.once()
    capacity = ClusterCapacity.objects.get()
    assert (capacity.why, capacity.shapes) == ("nodes: forbidden", [])
    assert NodeCapacity.objects.count() == rows
    (row,) = unpack_detail(bytes(watching.gang("waits").detail)).fit
    assert row.why == "nodes: forbidden"
    watching.simulator.faults.clear()
    watching.once()
    assert fits_now(watching) == 0
    assert ClusterCapacity.objects.get().why == ""


def test_a_recreated_node_stays_when_the_deletion_of_the_old_one_arrives(watch: Watch) -> None:
    watching = watch()
    window_until(watching, NodeCapacity.objects.exists)
    cache = poll._caches[watching.cluster.pk]
    name = node_names(watching.simulator)[0]
    (old,) = [candidate for candidate in cache.nodes.values() if candidate.meta.ref.name == name]
    node = watching.simulator.objects.list("v1", "Node")
    new_node = next(candidate for candidate in node if candidate["metadata"]["name"] == name)
    watching.simulator.objects.delete("v1", "Node", name)
    new_node["metadata"].pop("uid")
    watching.simulator.objects.put(new_node)
    watching.simulator.compact()
    window_until(watching, lambda: cache.nodes[name].meta.ref.uid != old.meta.ref.uid)
    watching.settle()
    assert name in {candidate.name for candidate in cache.node_usage.capacity("").nodes}
    assert NodeCapacity.objects.filter(name=name).exists()
