"""Synthetic floods: many pods in few bytes, and changes at a rate."""

from __future__ import annotations

import json
import time
from pathlib import Path

from simulator.load import CompactPod, synthetic
from simulator.resources import PODS
from tests.controlplane.client import wait
from tests.simulator.conftest import Start, Wire, client_of


def test_a_flood_is_made_of_ordinary_gangs(start: Start, tmp_path: Path) -> None:
    simulator = start("empty")
    synthetic(simulator, pods=300, gangs=20, namespaces=3)
    client = client_of(simulator, tmp_path)
    pods = client.list("v1", "Pod")
    jobs = {item["metadata"]["uid"]: item for item in client.list("batch/v1", "Job")}
    assert len(pods) == 300
    assert len({pod["metadata"]["uid"] for pod in pods}) == 300
    assert len(jobs) == 20
    groups = {
        (item["metadata"]["namespace"], item["metadata"]["name"])
        for item in client.list("scheduling.k8s.io/v1beta1", "PodGroup")
    }
    nodes = {item["metadata"]["name"] for item in client.list("v1", "Node")}
    for pod in pods:
        meta, spec = pod["metadata"], pod["spec"]
        owner = jobs[meta["ownerReferences"][0]["uid"]]
        assert owner["metadata"]["name"] == meta["ownerReferences"][0]["name"]
        assert owner["metadata"]["namespace"] == meta["namespace"]
        assert (meta["namespace"], spec["schedulingGroup"]["podGroupName"]) in groups
        assert spec["nodeName"] in nodes
        assert pod["status"]["phase"] == "Running"
    assert simulator.store.table(PODS).objects[("load-0", pods[0]["metadata"]["name"])]
    assert all(isinstance(o, CompactPod) for o in simulator.store.table(PODS).objects.values())


def test_churn_keeps_its_rate_and_is_seen_by_watches(start: Start) -> None:
    simulator = start("empty")
    flood = synthetic(simulator, pods=200, gangs=10)
    wire = Wire(simulator)
    version = simulator.store.version
    response = wire.get(f"/api/v1/pods?watch=1&resourceVersion={version}&timeoutSeconds=10")
    started = time.monotonic()
    with flood.churn(per_second=100):
        wait(lambda: flood.changes >= 50, timeout=20, what="50 changes")
    assert flood.changes <= 1 + 150 * (time.monotonic() - started)
    event = json.loads(response.readline())
    assert event["type"] == "MODIFIED"
    ready = [c["status"] for c in event["object"]["status"]["conditions"] if c["type"] == "Ready"]
    assert ready == ["False"]
    wire.close()


def test_a_compact_pod_can_be_patched_like_any_other(start: Start, tmp_path: Path) -> None:
    simulator = start("empty")
    synthetic(simulator, pods=10, gangs=2, namespaces=1)
    client = client_of(simulator, tmp_path)
    name = client.list("v1", "Pod", "load-0")[0]["metadata"]["name"]
    body = {"metadata": {"labels": {"touched": "yes"}}}
    client.patch("v1", "Pod", name, body, "load-0")
    result = client.list("v1", "Pod", "load-0", labels="touched=yes")
    assert [item["metadata"]["name"] for item in result] == [name]
