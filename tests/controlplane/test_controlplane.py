"""The control plane itself: what scenario tests take for granted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import get_args

import pytest

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
    client, where = no_nodes(controlplane), namespace(controlplane)
    make_nodes(client, [node(f"n{i}", gpus=4) for i in range(2)])
    client.create(jobset("run", where, jobs={"workers": {"replicas": 2, "pods": 2, "gpu": 2}}))
    found = client.wait_for(JOBSET, "JobSet", "run", where, until=lambda o: _ready_jobs(o) == 2)
    assert found["spec"]["network"]["enableDNSHostnames"] is True  # its webhook was called
    pods = client.list("v1", "Pod", where)
    assert [_is_ready(item) for item in pods] == [True] * 4
    assert {item["spec"]["nodeName"] for item in pods} == {"n0", "n1"}


def test_a_gang_is_all_or_nothing(
    controlplane: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    """The scheduler is the real one: no pod of a gang is placed, and two of three pods without a gang are."""
    client, where = no_nodes(controlplane), namespace(controlplane)
    make_nodes(client, [node(f"n{i}", gpus=4) for i in range(2)])
    client.create(job("train", where, parallelism=3, gpu=4, gang=3))

    def refused() -> list[Json]:
        return [item for item in client.list("v1", "Pod", where) if _refused(item)]

    expected = 3 if controlplane.profile.gang_version else 1
    wait(lambda: len(refused()) == expected, what=f"{expected} refused pods", seen=refused)
    placed = [item for item in client.list("v1", "Pod", where) if item["spec"].get("nodeName")]
    assert len(placed) == 3 - expected


def test_pods_end_as_scripted(
    controlplane: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    client, where = no_nodes(controlplane), namespace(controlplane)
    make_node(client, "n0")
    client.create(job("done", where, parallelism=2, complete_after="100ms"))
    client.create(job("broken", where, backoff_limit=0, fail_after="100ms"))
    client.create(job("stays", where))
    client.wait_for("batch/v1", "Job", "done", where, until=lambda o: is_true(o, "Complete"))
    client.wait_for("batch/v1", "Job", "broken", where, until=lambda o: is_true(o, "Failed"))
    client.wait_for("batch/v1", "Job", "stays", where, until=lambda o: o["status"].get("ready"))
    # On request, while it runs:
    (stays,) = client.list("v1", "Pod", where, labels="job-name=stays")
    note = {"metadata": {"annotations": {"test.gangboard.dev/complete-after": "0s"}}}
    client.patch("v1", "Pod", stays["metadata"]["name"], note, where)
    client.wait_for("batch/v1", "Job", "stays", where, until=lambda o: is_true(o, "Complete"))


def test_jobset_reverts_the_suspension_of_a_child(
    controlplane: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    client, where = no_nodes(controlplane), namespace(controlplane)
    make_node(client, "n0")
    client.create(jobset("run", where, jobs={"workers": {"pods": 2}}))
    client.wait_for(JOBSET, "JobSet", "run", where, until=lambda o: _ready_jobs(o) == 1)
    before = client.get("batch/v1", "Job", "run-workers-0", where)["metadata"]["generation"]
    client.patch("batch/v1", "Job", "run-workers-0", {"spec": {"suspend": True}}, where)
    after = client.wait_for(
        "batch/v1",
        "Job",
        "run-workers-0",
        where,
        until=lambda o: o["metadata"]["generation"] >= before + 2,
    )
    assert after["spec"]["suspend"] is False
    managers = {
        entry["manager"]
        for entry in after["metadata"]["managedFields"]
        if "f:suspend" in entry["fieldsV1"].get("f:spec", {})
    }
    assert managers == {"jobset"}


_WAITING = {
    "pending": ("Pending", "ContainerCreating"),
    "image-pull": ("Pending", "ImagePullBackOff"),
    "container-config": ("Pending", "CreateContainerConfigError"),
    "crash-loop": ("Running", "CrashLoopBackOff"),
    "init-crash-loop": ("Pending", "CrashLoopBackOff"),
    "unready": ("Running", None),
}


@pytest.mark.parametrize("never_ready", get_args(NeverReady))
def test_pods_that_never_get_ready(
    controlplane_137: ControlPlane,
    namespace: Namespaces,
    no_nodes: Fleets,
    never_ready: NeverReady,
) -> None:
    client, where = no_nodes(controlplane_137), namespace(controlplane_137)
    make_node(client, "n0")
    init = never_ready == "init-crash-loop"
    client.create(pod("p", where, never_ready=never_ready, init=init, restart_policy="Always"))
    phase, reason = _WAITING[never_ready]
    kind = "initContainerStatuses" if init else "containerStatuses"

    def arrived(found: Json) -> bool:
        statuses = found["status"].get(kind, [])
        return bool(statuses) and (statuses[0]["state"].get("waiting", {}).get("reason") == reason)

    status = client.wait_for("v1", "Pod", "p", where, until=arrived)["status"]
    assert status["phase"] == phase
    assert not _is_ready({"status": status})
    if reason == "CrashLoopBackOff":
        assert status[kind][0]["restartCount"] == 2
        assert status[kind][0]["lastState"]["terminated"]["exitCode"] == 1
    time.sleep(1.0)
    assert client.get("v1", "Pod", "p", where)["status"] == status


def test_status_patched_by_hand_stays(
    controlplane_137: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    client, where = no_nodes(controlplane_137), namespace(controlplane_137)
    make_node(client, "n0")
    client.create(pod("p", where))
    client.create(pod("untouched", where, hands_off=True))
    client.wait_for("v1", "Pod", "p", where, until=_is_ready)
    gated = {"type": "Ready", "status": "False", "reason": "ReadinessGatesNotReady"}
    unready = {"conditions": [gated]}
    client.patch_status("v1", "Pod", "p", unready, where, type="strategic")
    time.sleep(1.0)
    assert not _is_ready(client.get("v1", "Pod", "p", where))
    status = client.get("v1", "Pod", "untouched", where)["status"]
    assert "containerStatuses" not in status
    client.delete("v1", "Pod", "untouched", where)
    client.wait_gone("v1", "Pod", "untouched", where)


@pytest.mark.slow
def test_silent_nodes_and_late_kubelets(
    controlplane_137: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    """A node without a lease, and a machine that is too busy for any lease, side by side.

    The controller manager sets Ready of both to Unknown after the same grace of 40 s, and permanently for a
    pod whose kubelet does not report it again.

    """
    client, where = no_nodes(controlplane_137), namespace(controlplane_137)
    for name in ("silent", "late"):
        make_node(client, name, gpus=4)
        selector = {"kubernetes.io/hostname": name}
        client.create(pod(f"on-{name}", where, node_selector=selector))
    for name in ("silent", "late"):
        client.wait_for("v1", "Pod", f"on-{name}", where, until=_is_ready)
    silence_node(client, "silent")
    controlplane_137.pause_process("kwok")
    try:
        for name in ("silent", "late"):
            client.wait_for(
                "v1", "Pod", f"on-{name}", where, until=lambda o: not _is_ready(o), timeout=120
            )
    finally:
        controlplane_137.continue_process("kwok")
    client.wait_for("v1", "Pod", "on-late", where, until=_is_ready)
    client.wait_for("v1", "Node", "late", until=lambda o: status_of(o, "Ready") == "True")
    assert status_of(client.get("v1", "Node", "silent"), "Ready") == "Unknown"
    wake_node(client, "silent")
    client.wait_for("v1", "Pod", "on-silent", where, until=_is_ready)
    assert client.get("v1", "Node", "silent")["status"]["allocatable"]["nvidia.com/gpu"] == "4"


def test_a_new_node_of_an_old_name_has_a_lease_of_its_own(
    controlplane_137: ControlPlane, no_nodes: Fleets
) -> None:
    client = no_nodes(controlplane_137)
    leases = "coordination.k8s.io/v1", "Lease", "n0", "kube-node-lease"
    for _ in range(3):
        made = make_node(client, "n0")
        owners = client.get(*leases)["metadata"]["ownerReferences"]
        assert [owner["uid"] for owner in owners] == [made["metadata"]["uid"]]
        delete_nodes(client)
        assert client.find(*leases) is None


def test_processes_stop_pause_and_come_back(
    controlplane_137: ControlPlane, namespace: Namespaces, no_nodes: Fleets
) -> None:
    client, where = no_nodes(controlplane_137), namespace(controlplane_137)
    make_node(client, "n0")
    controlplane_137.pause_process("kube-scheduler")
    client.create(podgroup("g", where, gang=1))
    client.create(pod("p", where, pod_group="g"))
    time.sleep(1.0)
    assert "nodeName" not in client.get("v1", "Pod", "p", where)["spec"]
    controlplane_137.continue_process("kube-scheduler")
    client.wait_for("v1", "Pod", "p", where, until=_is_ready)
    controlplane_137.restart_process("kube-apiserver")
    assert client.get("v1", "Pod", "p", where)["metadata"]["name"] == "p"
    with pytest.raises(StartError, match="nobody"):
        controlplane_137.stop_process("nobody")


def test_service_account_token(controlplane_137: ControlPlane, namespace: Namespaces) -> None:
    where = namespace(controlplane_137)
    admin = controlplane_137.client
    admin.wait_for("v1", "ServiceAccount", "default", where, until=bool)
    token = controlplane_137.service_account_token(where, "default")
    assert token in controlplane_137.kubeconfig_for(token).read_text()
    user = controlplane_137.client_for(token)
    with pytest.raises(ApiError, match=f"system:serviceaccount:{where}:default") as refused:
        user.list("v1", "Pod", where)
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
    client, where = controlplane_137.client, namespace(controlplane_137)
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
        "metadata": {"name": "forged", "namespace": where},
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


def _processes_with(text: str) -> list[str]:
    """Return the command lines of all processes that name it."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:  # it ended while we looked
                continue
            if text in line:
                found.append(line)
    return found


def _ready_jobs(found: Json) -> int:
    entries = found.get("status", {}).get("replicatedJobsStatus", [])
    return sum(entry["ready"] for entry in entries)


def _is_ready(found: Json) -> bool:
    return is_true(found, "Ready")


def _refused(found: Json) -> bool:
    return status_of(found, "PodScheduled") == "False"
