"""Kinds whose controllers make Jobs, played as they were seen on real clusters (Trainer 2.2.0, Kubernetes 1.37.0)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from simulator import Fleet, Gang, NodePool, PodTemplate, Role
from simulator.clock import SteppedClock
from simulator.control_plane import SimulatedControlPlane
from simulator.requests import parse

TRAINJOB = ("trainer.kubeflow.org/v1alpha1", "TrainJob", "run")
JOBSET = ("jobset.x-k8s.io/v1alpha2", "JobSet", "run")
TRAINJOBS = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/run"
JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team/jobsets/run"
CRONJOBS = "/apis/batch/v1/namespaces/team/cronjobs/nightly"
MERGE = {"Content-Type": "application/merge-patch+json", "User-Agent": "kubectl/v1.37.0"}


def a_plane(gang: Gang) -> SimulatedControlPlane:
    fleet = Fleet("small", (NodePool("cpu", 2),), (gang,))
    return SimulatedControlPlane(
        fleet, "1.37", SteppedClock(datetime(2026, 1, 5, 8, 0, tzinfo=UTC))
    )


def a_trainjob() -> SimulatedControlPlane:
    return a_plane(
        Gang("team", "TrainJob", "run", "running", roles=(Role("node", PodTemplate(), pods=2),))
    )


def suspend(plane: SimulatedControlPlane, path: str, *, wanted: bool = True) -> None:
    body = json.dumps({"spec": {"suspend": wanted}}).encode()
    assert plane.api.answer(parse("PATCH", path, MERGE, body)).code == 200


def advance(plane: SimulatedControlPlane, seconds: float) -> None:
    assert isinstance(plane.clock, SteppedClock)
    plane.clock.advance(seconds)


def find_object(plane: SimulatedControlPlane, of: tuple[str, str, str]) -> dict[str, Any]:
    version, kind, name = of
    obj = plane.objects.get(version, kind, name, "team")
    assert obj is not None
    return obj


def live_pods(plane: SimulatedControlPlane) -> list[dict[str, Any]]:
    return plane.objects.list("v1", "Pod", "team")


def condition(obj: dict[str, Any]) -> tuple[str, str] | None:
    rows = obj["status"].get("conditions", [])
    return next(
        ((row["status"], row["reason"]) for row in rows if row["type"] == "Suspended"), None
    )


def test_a_trainjob_is_suspended_and_resumed_with_its_children() -> None:
    plane = a_trainjob()
    assert len(live_pods(plane)) == 2
    suspend(plane, TRAINJOBS)
    advance(plane, 60)
    assert find_object(plane, JOBSET)["spec"]["suspend"] is True
    assert live_pods(plane) == []
    assert condition(find_object(plane, TRAINJOB)) == ("True", "Suspended")
    assert [row["suspended"] for row in find_object(plane, TRAINJOB)["status"]["jobsStatus"]] == [1]

    suspend(plane, TRAINJOBS, wanted=False)
    advance(plane, 60)
    assert len(live_pods(plane)) == 2
    assert condition(find_object(plane, TRAINJOB)) == ("False", "Resumed")


def test_the_trainer_reverts_changes_to_its_jobset() -> None:
    plane = a_trainjob()
    suspend(plane, JOBSETS)
    assert find_object(plane, JOBSET)["spec"]["suspend"] is True
    advance(plane, 0.5)
    jobset = find_object(plane, JOBSET)
    assert jobset["spec"]["suspend"] is False
    assert "trainer" in {entry["manager"] for entry in jobset["metadata"]["managedFields"]}


def test_a_suspended_cronjob_does_not_stop_its_job() -> None:
    made_by = {
        "kind": "CronJob",
        "metadata": {"name": "nightly"},
        "spec": {"schedule": "0 2 * * *", "suspend": False},
    }
    run = Gang(
        "team",
        "Job",
        "nightly-1",
        "running",
        roles=(Role("", PodTemplate(), pods=2),),
        made_by=made_by,
    )
    plane = a_plane(run)
    suspend(plane, CRONJOBS)
    advance(plane, 60)
    assert len(live_pods(plane)) == 2
    assert find_object(plane, ("batch/v1", "CronJob", "nightly"))["spec"]["suspend"] is True


PYTORCHJOB = ("kubeflow.org/v1", "PyTorchJob", "run")
PYTORCHJOBS = "/apis/kubeflow.org/v1/namespaces/team/pytorchjobs/run"
MPIJOB = ("kubeflow.org/v2beta1", "MPIJob", "run")
MPIJOBS = "/apis/kubeflow.org/v2beta1/namespaces/team/mpijobs/run"


def suspend_policy(plane: SimulatedControlPlane, path: str, *, wanted: bool) -> None:
    body = json.dumps({"spec": {"runPolicy": {"suspend": wanted}}}).encode()
    assert plane.api.answer(parse("PATCH", path, MERGE, body)).code == 200


def test_a_pytorchjob_loses_its_pods_and_gets_them_back_by_its_run_policy() -> None:
    roles = (Role("Master", PodTemplate()), Role("Worker", PodTemplate(), pods=2))
    plane = a_plane(Gang("team", "PyTorchJob", "run", "running", roles=roles))
    names = {"run-master-0", "run-worker-0", "run-worker-1"}
    assert {pod["metadata"]["name"] for pod in live_pods(plane)} == names
    suspend_policy(plane, PYTORCHJOBS, wanted=True)
    advance(plane, 60)
    assert live_pods(plane) == []
    assert condition(find_object(plane, PYTORCHJOB)) == ("True", "PyTorchJobSuspended")
    suspend_policy(plane, PYTORCHJOBS, wanted=False)
    advance(plane, 60)
    assert {pod["metadata"]["name"] for pod in live_pods(plane)} == names
    assert condition(find_object(plane, PYTORCHJOB)) == ("False", "PyTorchJobResumed")


def test_an_mpijob_keeps_the_job_of_its_launcher_and_puts_it_back() -> None:
    """Seen: suspended alone it runs again after 27 ms."""
    roles = (Role("Launcher", PodTemplate()), Role("Worker", PodTemplate(), pods=2))
    plane = a_plane(Gang("team", "MPIJob", "run", "running", roles=roles))
    launcher = ("batch/v1", "Job", "run-launcher")
    uid = find_object(plane, launcher)["metadata"]["uid"]
    assert len(live_pods(plane)) == 3
    suspend(plane, "/apis/batch/v1/namespaces/team/jobs/run-launcher")
    advance(plane, 60)
    assert find_object(plane, launcher)["spec"]["suspend"] is False
    suspend_policy(plane, MPIJOBS, wanted=True)
    advance(plane, 60)
    assert live_pods(plane) == []
    assert condition(find_object(plane, MPIJOB)) == ("True", "MPIJobSuspended")
    suspend_policy(plane, MPIJOBS, wanted=False)
    advance(plane, 60)
    assert len(live_pods(plane)) == 3
    assert find_object(plane, launcher)["metadata"]["uid"] == uid


RAYJOB = ("ray.io/v1", "RayJob", "run")
RAYJOBS = "/apis/ray.io/v1/namespaces/team/rayjobs/run"


def test_a_rayjob_is_suspended_without_its_cluster_and_resumed_with_another() -> None:
    roles = (Role("head", PodTemplate()), Role("gpu", PodTemplate(), pods=2))
    plane = a_plane(Gang("team", "RayJob", "run", "running", roles=roles))
    (before,) = plane.objects.list("ray.io/v1", "RayCluster", "team")
    assert len(live_pods(plane)) == 3
    suspend(plane, RAYJOBS)
    advance(plane, 60)
    assert find_object(plane, RAYJOB)["status"]["jobDeploymentStatus"] == "Suspended"
    assert (plane.objects.list("ray.io/v1", "RayCluster", "team"), live_pods(plane)) == ([], [])

    suspend(plane, RAYJOBS, wanted=False)
    advance(plane, 60)
    (after,) = plane.objects.list("ray.io/v1", "RayCluster", "team")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert len(live_pods(plane)) == 3
    assert find_object(plane, RAYJOB)["status"]["jobDeploymentStatus"] == "Running"


def test_a_raycluster_keeps_its_object_while_it_is_suspended() -> None:
    roles = (Role("head", PodTemplate()), Role("gpu", PodTemplate(), pods=2))
    plane = a_plane(Gang("team", "RayCluster", "run", "running", roles=roles))
    path = "/apis/ray.io/v1/namespaces/team/rayclusters/run"

    def said() -> dict[str, str]:
        status = find_object(plane, ("ray.io/v1", "RayCluster", "run"))["status"]
        return {condition["type"]: condition["status"] for condition in status["conditions"]}

    suspend(plane, path)
    advance(plane, 60)
    assert (live_pods(plane), said()["RayClusterSuspended"]) == ([], "True")
    suspend(plane, path, wanted=False)
    advance(plane, 60)
    assert (len(live_pods(plane)), said()["RayClusterSuspended"]) == (3, "False")


VCJOB = ("batch.volcano.sh/v1alpha1", "Job", "run")
COMMANDS = "/apis/bus.volcano.sh/v1alpha1/namespaces/team/commands"


def command(plane: SimulatedControlPlane, action: str) -> None:
    """Send a Command as vcctl does (gang-owners.md §5.4)."""
    target = {"apiVersion": VCJOB[0], "kind": "Job", "name": "run"}
    target["uid"] = find_object(plane, VCJOB)["metadata"]["uid"]
    meta = {"generateName": "run-", "namespace": "team", "ownerReferences": [target]}
    body = {"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "metadata": meta}
    text = json.dumps({**body, "target": target, "action": action}).encode()
    headers = {"Content-Type": "application/json"}
    assert plane.api.answer(parse("POST", COMMANDS, headers, text)).code == 201


def test_a_job_of_volcano_is_aborted_and_resumed_by_commands_until_its_retries_are_used() -> None:
    """As a real Volcano 1.14 did (tests/groups/test_real_volcano_job.py); maxRetry is 3."""
    roles = (Role("driver", PodTemplate()), Role("worker", PodTemplate(), pods=2))
    plane = a_plane(Gang("team", "Job", "run", "running", api="batch.volcano.sh", roles=roles))
    uid = find_object(plane, VCJOB)["metadata"]["uid"]
    phases = []
    for action in ("AbortJob", "ResumeJob") * 3:
        command(plane, action)
        advance(plane, 10)
        status = find_object(plane, VCJOB)["status"]
        groups = plane.objects.list("scheduling.volcano.sh/v1beta1", "PodGroup", "team")
        retries = status.get("retryCount", 0)
        phases.append((status["state"]["phase"], len(live_pods(plane)), len(groups), retries))
        # The controller deletes each Command before it acts.
        assert plane.objects.list("bus.volcano.sh/v1alpha1", "Command", "team") == []
    assert find_object(plane, VCJOB)["metadata"]["uid"] == uid
    assert phases == [
        ("Aborted", 0, 0, 0),
        ("Running", 3, 1, 1),
        ("Aborted", 0, 0, 1),
        ("Running", 3, 1, 2),
        ("Aborted", 0, 0, 2),
        ("Failed", 0, 0, 3),
    ]


def test_a_suspended_rayservice_gets_a_new_cluster_on_resume() -> None:
    """gang-owners.md §10, KubeRay 1.7."""
    roles = (Role("head", PodTemplate()), Role("worker", PodTemplate(), pods=2))
    plane = a_plane(Gang("team", "RayService", "run", "running", roles=roles))
    service = ("ray.io/v1", "RayService", "run")
    path = "/apis/ray.io/v1/namespaces/team/rayservices/run"
    (before,) = plane.objects.list("ray.io/v1", "RayCluster", "team")
    suspend(plane, path)
    advance(plane, 10)
    assert plane.objects.list("ray.io/v1", "RayCluster", "team") == live_pods(plane) == []
    assert condition(find_object(plane, service)) == ("True", "SuspendComplete")
    suspend(plane, path, wanted=False)
    advance(plane, 10)
    (after,) = plane.objects.list("ray.io/v1", "RayCluster", "team")
    assert after["metadata"]["name"] != before["metadata"]["name"]
    assert len(live_pods(plane)) == 3
    assert condition(find_object(plane, service)) == ("False", "RayServiceResumed")
