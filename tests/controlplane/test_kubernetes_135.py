"""Kubernetes 1.35: its gang API, and mutating policies with and without their gate."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.controlplane.client import ApiError, Client, Json, wait
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.conditions import is_true
from tests.controlplane.fixtures import Fleets, Namespaces
from tests.controlplane.nodes import make_node, make_nodes, node
from tests.controlplane.objects import JOBSET, jobset, pod, workload

pytestmark = pytest.mark.controlplane

HOLD = Path(__file__).parents[1] / "scenarios" / "hold.yaml"
POLICIES = "admissionregistration.k8s.io"
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "holds.gangboard.dev")


def test_serves_workloads_of_v1alpha1_and_no_newer(
    controlplane_135: ControlPlane, controlplane_135_map: ControlPlane
) -> None:
    for plane in (controlplane_135, controlplane_135_map):
        served = plane.client.request("GET", "/apis/scheduling.k8s.io")["versions"]
        assert {version["version"] for version in served} == {"v1", "v1alpha1"}
        kinds = plane.client.request("GET", "/apis/scheduling.k8s.io/v1alpha1")["resources"]
        assert {kind["name"] for kind in kinds} == {"workloads"}
        assert plane.client.request("GET", "/version")["gitVersion"] == "v1.35.4"


def test_gang_waits_at_the_gate(
    controlplane_135: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    """Two of three fit: no pod is bound, and the two hold their places by nomination."""
    client, nodes = no_nodes(controlplane_135), namespace(controlplane_135)
    make_nodes(client, [node(f"n{i}", cpu="4") for i in range(2)])
    client.create(workload("w", nodes, templates={"g": 3}, version="v1alpha1"))
    for index in range(3):
        client.create(pod(f"p{index}", nodes, cpu="3", pod_group=("w", "g")))

    def nominated() -> set[str]:
        pods = client.list("v1", "Pod", nodes)
        return {item["status"].get("nominatedNodeName", "") for item in pods} - {""}

    wait(lambda: nominated() == {"n0", "n1"}, what="two nominated nodes", seen=nominated)
    assert not [p for p in client.list("v1", "Pod", nodes) if "nodeName" in p["spec"]]
    client.create(node("n2", cpu="4"))
    wait(
        lambda: all(is_true(item, "Ready") for item in client.list("v1", "Pod", nodes)),
        what="the gang to run",
    )


def test_no_policy_without_the_gate(controlplane_135: ControlPlane) -> None:
    served = controlplane_135.client.request("GET", f"/apis/{POLICIES}")["versions"]
    assert [version["version"] for version in served] == ["v1"]
    for version in ("v1", "v1beta1"):
        with pytest.raises(ApiError) as refused:
            controlplane_135.client.create_all(_hold_objects(version)[1:])
        assert refused.value.status == 404


def test_hold_policy_of_v1beta1_is_in_force(
    controlplane_135_map: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    client, where = no_nodes(controlplane_135_map), namespace(controlplane_135_map)
    make_node(client, "n0")
    with pytest.raises(ApiError, match="not served in admissionregistration"):
        client.create(_hold_objects("v1")[1])
    owner = client.create(jobset("run", where, jobs={"w": {"replicas": 2, "pods": 2}}))
    client.wait_for(JOBSET, "JobSet", "run", where, until=_both_ready)
    siblings = _uids(client, where, "run-w-1")
    with _hold_installed(client):
        wait(lambda: _is_resume_allowed(client, where), what="the policy to know its parameters")
        hold = _hold(where, owner)
        client.create(hold)
        wait(lambda: _resumed_would_stay_suspended(client, where), what="the Hold to be in force")
        client.patch("batch/v1", "Job", "run-w-0", {"spec": {"suspend": True}}, where)
        wait(lambda: not _uids(client, where, "run-w-0"), what="pods of run-w-0 to be gone")
        before = _spec_of_held(client, where)
        time.sleep(2.0)  # undone without a Hold within a tenth of a second
        assert _spec_of_held(client, where) == before
        assert _uids(client, where, "run-w-1") == siblings
        client.delete(hold["apiVersion"], "Hold", "run-w-0", where)
        wait(lambda: not _resumed_would_stay_suspended(client, where), what="the Hold to be gone")
        client.patch("batch/v1", "Job", "run-w-0", {"spec": {"suspend": False}}, where)
        client.wait_for(JOBSET, "JobSet", "run", where, until=_both_ready)


def _hold_objects(version: str) -> list[Json]:
    """Return the Hold resource, its policy and the binding, the latter two in that version."""
    objects: list[Json] = list(yaml.safe_load_all(HOLD.read_text()))
    for obj in objects:
        if obj["apiVersion"].startswith(POLICIES):
            obj["apiVersion"] = f"{POLICIES}/{version}"
    return objects


@contextmanager
def _hold_installed(client: Client) -> Iterator[None]:
    objects = _hold_objects("v1beta1")
    try:
        client.create_all(objects)
        client.wait_for(*CRD, until=lambda crd: is_true(crd, "Established"))
        yield
    finally:
        for obj in reversed(objects):
            client.delete(obj["apiVersion"], obj["kind"], obj["metadata"]["name"])
        client.wait_gone(*CRD)


def _hold(namespace: str, owner: Json) -> Json:
    spec = {"jobName": "run-w-0", "ownerUID": owner["metadata"]["uid"], "by": "tests"}
    metadata = {"name": "run-w-0", "namespace": namespace}
    version = "gangboard.dev/v1alpha1"
    return {"apiVersion": version, "kind": "Hold", "metadata": metadata, "spec": spec}


def _resumed_would_stay_suspended(client: Client, namespace: str) -> bool:
    """The proof: a dry run shows the effect of an un-suspend."""
    resume = {"spec": {"suspend": False}}
    answer = client.patch("batch/v1", "Job", "run-w-0", resume, namespace, dry_run=True)
    return bool(answer["spec"].get("suspend"))


def _is_resume_allowed(client: Client, namespace: str) -> bool:
    """Return whether a resume is accepted. The API server refuses it until it has read the new Hold resource."""
    try:
        return not _resumed_would_stay_suspended(client, namespace)
    except ApiError as error:
        if "not yet synced" in str(error):
            return False
        raise


def _spec_of_held(client: Client, namespace: str) -> tuple[int, bool]:
    """Every change of the spec is another generation."""
    held = client.get("batch/v1", "Job", "run-w-0", namespace)
    return held["metadata"]["generation"], held["spec"]["suspend"]


def _uids(client: Client, namespace: str, job: str) -> set[str]:
    pods = client.list("v1", "Pod", namespace, labels=f"batch.kubernetes.io/job-name={job}")
    return {item["metadata"]["uid"] for item in pods}


def _both_ready(result: Json) -> bool:
    entries = result.get("status", {}).get("replicatedJobsStatus", [])
    return any(entry["ready"] == 2 for entry in entries)
