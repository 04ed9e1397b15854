"""The control plane itself: what scenario tests take for granted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import get_args

import pytest

from tests.controlplane.clearing import clear_nodes
from tests.controlplane.client import ApiError, Json, wait
from tests.controlplane.cluster import ControlPlane, StartError
from tests.controlplane.conditions import is_true, status_of
from tests.controlplane.fixtures import Fleets, Namespaces
from tests.controlplane.nodes import (
    delete_nodes,
    make_node,
    make_nodes,
    node,
    silence_node,
    wake_node,
)
from tests.controlplane.objects import JOBSET, NeverReady, job, jobset, pod, podgroup

pytestmark = pytest.mark.controlplane


def test_the_plane_serves_the_resources_of_its_profile(controlplane: ControlPlane) -> None:
    served = controlplane.client.request("GET", "/apis/scheduling.k8s.io")["versions"]
    expected = {"v1", *controlplane.profile.scheduling_versions}
    assert {version["version"] for version in served} == expected
    version = controlplane.client.request("GET", "/version")
    assert version["minor"] == str(controlplane.minor)
    assert version["gitVersion"].startswith(f"v1.{controlplane.minor}.")


def test_a_jobset_runs(controlplane: ControlPlane, namespace: Namespaces, no_nodes: Fleets) -> None:
    client, nodes = no_nodes(controlplane), namespace(controlplane)
    make_nodes(client, [node(f"n{i}", gpus=4) for i in range(2)])
    client.create(jobset("run", nodes, jobs={"workers": {"replicas": 2, "pods": 2, "gpu": 2}}))
    result = client.wait_for(JOBSET, "JobSet", "run", nodes, until=lambda o: _ready_jobs(o) == 2)
    assert result["spec"]["network"]["enableDNSHostnames"] is True  # its webhook was called
    pods = client.list("v1", "Pod", nodes)
    assert [_is_ready(item) for item in pods] == [True] * 4
    assert {item["spec"]["nodeName"] for item in pods} == {"n0", "n1"}


def test_a_gang_is_all_or_nothing(
    controlplane: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    """The scheduler is the real one: no pod of a gang is placed, and two of three pods without a gang are."""
    client, nodes = no_nodes(controlplane), namespace(controlplane)
    make_nodes(client, [node(f"n{i}", gpus=4) for i in range(2)])
    client.create(job("train", nodes, parallelism=3, gpu=4, gang=3))

    def refused() -> list[Json]:
        return [item for item in client.list("v1", "Pod", nodes) if _refused(item)]

    expected = 3 if controlplane.profile.gang_version else 1
    wait(lambda: len(refused()) == expected, what=f"{expected} refused pods", seen=refused)
    placed = [item for item in client.list("v1", "Pod", nodes) if item["spec"].get("nodeName")]
    assert len(placed) == 3 - expected


def test_pods_end_as_scripted(
    controlplane: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    client, nodes = no_nodes(controlplane), namespace(controlplane)
    make_node(client, "n0")
    client.create(job("done", nodes, parallelism=2, complete_after="100ms"))
    client.create(job("broken", nodes, backoff_limit=0, fail_after="100ms"))
    client.create(job("stays", nodes))
    client.wait_for("batch/v1", "Job", "done", nodes, until=lambda o: is_true(o, "Complete"))
    client.wait_for("batch/v1", "Job", "broken", nodes, until=lambda o: is_true(o, "Failed"))
    client.wait_for("batch/v1", "Job", "stays", nodes, until=lambda o: o["status"].get("ready"))
    # On request, while it runs:
    (stays,) = client.list("v1", "Pod", nodes, labels="job-name=stays")
    note = {"metadata": {"annotations": {"test.gangboard.dev/complete-after": "0s"}}}
    client.patch("v1", "Pod", stays["metadata"]["name"], note, nodes)
    client.wait_for("batch/v1", "Job", "stays", nodes, until=lambda o: is_true(o, "Complete"))


def test_jobset_reverts_the_suspension_of_a_child(
    controlplane: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    client, nodes = no_nodes(controlplane), namespace(controlplane)
    make_node(client, "n0")
    client.create(jobset("run", nodes, jobs={"workers": {"pods": 2}}))
    client.wait_for(JOBSET, "JobSet", "run", nodes, until=lambda o: _ready_jobs(o) == 1)
    before = client.get("batch/v1", "Job", "run-workers-0", nodes)["metadata"]["generation"]
    client.patch("batch/v1", "Job", "run-workers-0", {"spec": {"suspend": True}}, nodes)
    after = client.wait_for(
        "batch/v1",
        "Job",
        "run-workers-0",
        nodes,
        until=lambda o: o["metadata"]["generation"] >= before + 2,
    )
    assert after["spec"]["suspend"] is False
    managers = {
        entry["manager"]
        for entry in after["metadata"]["managedFields"]
        if "f:suspend" in entry["fieldsV1"].get("f:spec", {})
    }
    assert managers == {"jobset"}


@pytest.fixture(scope="module")
def silent_and_late(controlplane_136: ControlPlane) -> Iterator[Future[None]]:
    """Begin `_silent_nodes_and_late_kubelets` on a plane that the tests from here on do not use."""
    with controlplane_136.awake(), ThreadPoolExecutor(1) as pool:
        yield pool.submit(_silent_nodes_and_late_kubelets, controlplane_136)


def _silent_nodes_and_late_kubelets(plane: ControlPlane) -> None:
    """Play a node without a lease, and a machine that is too busy for any lease, side by side.

    The controller manager sets Ready of both to Unknown after the same grace of 40 s, and permanently for a
    pod whose kubelet does not report it again.

    """
    client, nodes = plane.client, Namespaces()
    clear_nodes(client)
    name = nodes(plane)
    for machine in ("silent", "late"):
        make_node(client, machine, gpus=4)
        selector = {"kubernetes.io/hostname": machine}
        client.create(pod(f"on-{machine}", name, node_selector=selector))
    for machine in ("silent", "late"):
        client.wait_for("v1", "Pod", f"on-{machine}", name, until=_is_ready)
    silence_node(client, "silent")
    plane.pause_process("kwok")
    try:
        for machine in ("silent", "late"):
            client.wait_for(
                "v1", "Pod", f"on-{machine}", name, until=lambda o: not _is_ready(o), timeout=120
            )
    finally:
        plane.continue_process("kwok")
    client.wait_for("v1", "Pod", "on-late", name, until=_is_ready)
    client.wait_for("v1", "Node", "late", until=lambda o: status_of(o, "Ready") == "True")
    assert status_of(client.get("v1", "Node", "silent"), "Ready") == "Unknown"
    wake_node(client, "silent")
    client.wait_for("v1", "Pod", "on-silent", name, until=_is_ready)
    assert client.get("v1", "Node", "silent")["status"]["allocatable"]["nvidia.com/gpu"] == "4"
    nodes.delete()
    clear_nodes(client)


_WAITING = {
    "pending": ("Pending", "ContainerCreating"),
    "image-pull": ("Pending", "ImagePullBackOff"),
    "container-config": ("Pending", "CreateContainerConfigError"),
    "crash-loop": ("Running", "CrashLoopBackOff"),
    "init-crash-loop": ("Pending", "CrashLoopBackOff"),
    "unready": ("Running", None),
}


@pytest.mark.usefixtures("silent_and_late")
@pytest.mark.parametrize("never_ready", get_args(NeverReady))
def test_pods_that_never_get_ready(
    controlplane_137: ControlPlane,
    namespace: Namespaces,
    no_nodes: Fleets,
    never_ready: NeverReady,
) -> None:
    client, nodes = no_nodes(controlplane_137), namespace(controlplane_137)
    make_node(client, "n0")
    init = never_ready == "init-crash-loop"
    client.create(pod("p", nodes, never_ready=never_ready, init=init, restart_policy="Always"))
    phase, reason = _WAITING[never_ready]
    kind = "initContainerStatuses" if init else "containerStatuses"

    def arrived(result: Json) -> bool:
        statuses = result["status"].get(kind, [])
        return bool(statuses) and (statuses[0]["state"].get("waiting", {}).get("reason") == reason)

    status = client.wait_for("v1", "Pod", "p", nodes, until=arrived)["status"]
    assert status["phase"] == phase
    assert not _is_ready({"status": status})
    if reason == "CrashLoopBackOff":
        assert status[kind][0]["restartCount"] == 2
        assert status[kind][0]["lastState"]["terminated"]["exitCode"] == 1
    time.sleep(1.0)
    assert client.get("v1", "Pod", "p", nodes)["status"] == status


def test_status_patched_by_hand_stays(
    controlplane_137: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    client, nodes = no_nodes(controlplane_137), namespace(controlplane_137)
    make_node(client, "n0")
    client.create(pod("p", nodes))
    client.create(pod("untouched", nodes, hands_off=True))
    client.wait_for("v1", "Pod", "p", nodes, until=_is_ready)
    gated = {"type": "Ready", "status": "False", "reason": "ReadinessGatesNotReady"}
    unready = {"conditions": [gated]}
    client.patch_status("v1", "Pod", "p", unready, nodes, type="strategic")
    time.sleep(1.0)
    assert not _is_ready(client.get("v1", "Pod", "p", nodes))
    status = client.get("v1", "Pod", "untouched", nodes)["status"]
    assert "containerStatuses" not in status
    client.delete("v1", "Pod", "untouched", nodes)
    client.wait_gone("v1", "Pod", "untouched", nodes)


def test_a_new_node_of_an_old_name_has_a_lease_of_its_own(
    controlplane_137: ControlPlane, no_nodes: Fleets
) -> None:
    client = no_nodes(controlplane_137)
    leases = "coordination.k8s.io/v1", "Lease", "n0", "kube-node-lease"
    for _ in range(3):
        created = make_node(client, "n0")
        owners = client.get(*leases)["metadata"]["ownerReferences"]
        assert [owner["uid"] for owner in owners] == [created["metadata"]["uid"]]
        delete_nodes(client)
        assert client.find(*leases) is None


def test_processes_stop_pause_and_come_back(
    controlplane_137: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    client, nodes = no_nodes(controlplane_137), namespace(controlplane_137)
    make_node(client, "n0")
    controlplane_137.pause_process("kube-scheduler")
    client.create(podgroup("g", nodes, gang=1))
    client.create(pod("p", nodes, pod_group="g"))
    time.sleep(1.0)
    assert "nodeName" not in client.get("v1", "Pod", "p", nodes)["spec"]
    controlplane_137.continue_process("kube-scheduler")
    client.wait_for("v1", "Pod", "p", nodes, until=_is_ready)
    controlplane_137.restart_process("kube-apiserver")
    assert client.get("v1", "Pod", "p", nodes)["metadata"]["name"] == "p"
    with pytest.raises(StartError, match="nobody"):
        controlplane_137.stop_process("nobody")


def test_service_account_token(controlplane_137: ControlPlane, namespace: Namespaces) -> None:
    nodes = namespace(controlplane_137)
    admin = controlplane_137.client
    admin.wait_for("v1", "ServiceAccount", "default", nodes, until=bool)
    token = controlplane_137.service_account_token(nodes, "default")
    assert token in controlplane_137.kubeconfig_for(token).read_text()
    user = controlplane_137.client_for(token)
    with pytest.raises(ApiError, match=f"system:serviceaccount:{nodes}:default") as refused:
        user.list("v1", "Pod", nodes)
    user.close()
    assert (refused.value.status, refused.value.reason) == (403, "Forbidden")


_PARENT = """
import sys, time
from tests.controlplane.cluster import ControlPlane
with ControlPlane.start("plain") as plane:
    print(plane.folder, flush=True)
    time.sleep(600)
"""


def test_an_event_names_any_object_of_any_namespace(
    controlplane_137: ControlPlane, namespace: Namespaces
) -> None:
    """Why gangboard compares the namespaces of the event and of the object with the uid."""
    client, nodes = controlplane_137.client, namespace(controlplane_137)
    regarding = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "namespace": "kube-system",
        "name": "of-another",
        "uid": "00000000-0000-0000-0000-000000000000",
    }
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "forged", "namespace": nodes},
        "type": "Warning",
        "reason": "FailedCreate",
        "action": "Create",
        "regarding": regarding,
        "eventTime": "2026-11-27T03:00:00.000000Z",
        "reportingController": "example.com/forger",
        "reportingInstance": "forger-0",
    }
    assert client.create(event, dry_run=True)["regarding"] == regarding


def test_a_killed_test_leaves_no_processes(controlplane_137: ControlPlane) -> None:
    """`controlplane_137` is a fixture here only to skip this test without built programs."""
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert parent.stdout is not None
    with parent.stdout:
        folder = Path(parent.stdout.readline().strip())
    try:
        assert folder.is_dir()
        assert len(_processes_with(str(folder))) == 6
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    wait(lambda: not folder.exists(), timeout=60, what=f"{folder} to be gone")
    assert _processes_with(str(folder)) == []


@pytest.mark.slow
def test_silent_nodes_and_late_kubelets(silent_and_late: Future[None]) -> None:
    """It began in the middle of this file, because it waits for most of its time."""
    silent_and_late.result(timeout=300)


def _processes_with(text: str) -> list[str]:
    """Return the command lines of all processes that name it."""
    result = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:  # it ended while we looked
                continue
            if text in line:
                result.append(line)
    return result


def _ready_jobs(result: Json) -> int:
    entries = result.get("status", {}).get("replicatedJobsStatus", [])
    return sum(entry["ready"] for entry in entries)


def _is_ready(result: Json) -> bool:
    return is_true(result, "Ready")


def _refused(result: Json) -> bool:
    return status_of(result, "PodScheduled") == "False"
