"""Lists and watches that come too late."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.controlplane.client import ApiError
from tests.simulator.conftest import Start, Wire, client_of

PODS = "/api/v1/pods"


def test_a_compaction_ends_pages_and_watches(start: Start, tmp_path: Path) -> None:
    simulator = start("east")
    client = client_of(simulator, tmp_path)
    first = client.request("GET", PODS, query={"limit": 50})
    simulator.objects.delete("v1", "Pod", "debug-shell", "team-infra")
    simulator.compact()
    query = {"limit": 50, "continue": first["metadata"]["continue"]}
    with pytest.raises(ApiError) as caught:
        client.request("GET", PODS, query=query)
    assert (caught.value.status, caught.value.reason) == (410, "Expired")
    wire = Wire(simulator)
    old = first["metadata"]["resourceVersion"]
    line = wire.get(f"{PODS}?watch=1&resourceVersion={old}&timeoutSeconds=3").readline()
    event = json.loads(line)
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    wire.close()


def test_the_token_in_a_410_goes_on_without_consistency(start: Start, tmp_path: Path) -> None:
    simulator = start("east")
    client = client_of(simulator, tmp_path)
    first = client.request("GET", PODS, query={"limit": 50})
    simulator.compact()
    wire = Wire(simulator)
    deleted = wire.json(f"{PODS}?limit=500&continue={first['metadata']['continue']}")
    assert deleted["code"] == 410
    token = deleted["metadata"]["continue"]
    rest = client.request("GET", PODS, query={"limit": 500, "continue": token})
    assert len(first["items"]) + len(rest["items"]) == len(client.list("v1", "Pod"))
    wire.close()


def test_a_watch_too_slow_for_a_short_history_gets_a_410(start: Start, tmp_path: Path) -> None:
    simulator = start("east", history=20)
    version = client_of(simulator, tmp_path).request("GET", PODS)["metadata"]["resourceVersion"]
    for number in range(30):
        pod = simulator.objects.get("v1", "Pod", "debug-shell", "team-infra")
        assert pod is not None
        pod["metadata"]["labels"] = {"n": str(number)}
        simulator.objects.put(pod)
    wire = Wire(simulator)
    response = wire.get(f"{PODS}?watch=1&resourceVersion={version}&timeoutSeconds=3")
    assert json.loads(response.readline())["type"] == "ERROR"
    assert response.read() == b""
    wire.close()


def test_a_change_reaches_a_watch_at_once(start: Start) -> None:
    simulator = start("east", bookmark_seconds=60)
    wire = Wire(simulator)
    version = simulator.store.version
    response = wire.get(f"{PODS}?watch=1&resourceVersion={version}&allowWatchBookmarks=true")
    simulator.objects.delete("v1", "Pod", "debug-shell", "team-infra")
    event = json.loads(response.readline())
    assert (event["type"], event["object"]["metadata"]["name"]) == ("DELETED", "debug-shell")
    assert int(event["object"]["metadata"]["resourceVersion"]) > version
    wire.close()


def test_both_versions_of_a_group_show_the_same_objects(start: Start, tmp_path: Path) -> None:
    client = client_of(start("east"), tmp_path)
    new = client.request("GET", "/apis/scheduling.k8s.io/v1beta1/podgroups")
    old = client.request("GET", "/apis/scheduling.k8s.io/v1alpha3/podgroups")
    assert new["items"] == old["items"]
    assert (new["apiVersion"], old["apiVersion"]) == (
        "scheduling.k8s.io/v1beta1",
        "scheduling.k8s.io/v1alpha3",
    )


def test_each_minor_serves_its_own_versions(start: Start, tmp_path: Path) -> None:
    served = {}
    for minor in ("1.37", "1.36", "plain"):
        folder = tmp_path / minor
        folder.mkdir()
        client = client_of(start("empty", minor=minor), folder)
        group = client.request("GET", "/apis/scheduling.k8s.io")
        served[minor] = [entry["version"] for entry in group["versions"]]
    assert served == {
        "1.37": ["v1", "v1beta1", "v1alpha3"],
        "1.36": ["v1", "v1alpha2"],
        "plain": ["v1"],
    }


def test_a_cluster_without_the_hold_serves_no_hold_kinds(start: Start, tmp_path: Path) -> None:
    client = client_of(start("west", hold=False), tmp_path)
    with pytest.raises(ApiError) as caught:
        client.request("GET", "/apis/gangboard.dev/v1alpha1/holds")
    assert caught.value.status == 404
    policies = client.list("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy")
    assert policies == []
