"""RayClusters, RayJobs and RayServices as KubeRay 1.6.2 writes them: their gangs and their verdicts."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.gang_units import units_of
from gangboard.diagnosis.merged_units import merge_units
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.action import Plan
from gangboard.domain.advice import AdviceKind
from gangboard.domain.health import Health
from gangboard.domain.owner import Outcome, Owner
from gangboard.domain.pod import Container, Pod
from gangboard.domain.verdict import Verdict
from gangboard.facts.gang import Linked
from gangboard.owners.ray.raycluster import RayCluster
from gangboard.owners.ray.rayjob import RayJob
from gangboard.owners.ray.rayservice import RayService
from gangboard.placement.unit_placement import placing_of
from gangboard.policy.plan import offers
from tests.decode.reading import Json, model
from tests.domain_objects import NOW, a_job, a_pod, ago, an_event
from tests.gangs import a_gang, assemble
from tests.kinds import registered
from tests.policy.builders import READY

RAYCLUSTER = registered(RayCluster)
RAYJOB = registered(RayJob)
RAYSERVICE = registered(RayService)

MADE = "2026-11-21T09:00:00Z"
NO_ROOM = "0/1 nodes are available: 1 Insufficient cpu."


def template(cpu: str = "1", **spec: Any) -> Json:
    container = {"name": "ray", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    return {"spec": {"containers": [container], **spec}}


def workers(name: str = "gpu", replicas: int = 3, *, cpu: str = "2", **fields: Any) -> Json:
    sizes = {"minReplicas": replicas, "maxReplicas": max(replicas, 1)}
    return {"groupName": name, "replicas": replicas, **sizes, "template": template(cpu), **fields}


def cluster_spec(*groups: Json, **fields: Any) -> Json:
    head = {"rayStartParams": {}, "template": template()}
    return {"headGroupSpec": head, "workerGroupSpecs": list(groups or (workers(),)), **fields}


def _object(kind: str, name: str, spec: Json, status: Json, **metadata: Any) -> Json:
    meta = {
        "name": name,
        "namespace": "team-a",
        "uid": f"uid-{name}",
        "generation": 2,
        "resourceVersion": "7",
        "creationTimestamp": MADE,
        **metadata,
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": kind,
        "metadata": meta,
        "spec": spec,
        "status": status,
    }


def condition(type_: str, status: str, reason: str, message: str = "") -> Json:
    result = {"type": type_, "status": status, "reason": reason, "message": message}
    return {**result, "lastTransitionTime": "2026-11-21T09:55:00Z"}


def raycluster(
    name: str = "run",
    *groups: Json,
    conditions: tuple[Json, ...] = (),
    of: Owner | None = None,
    kuberay: str = "",
    **spec: Any,
) -> Owner:
    metadata: Json = {"annotations": {"ray.io/kuberay-version": kuberay}} if kuberay else {}
    if of is not None:
        ref = of.meta.ref
        reference = {"apiVersion": "ray.io/v1", "kind": ref.kind, "name": ref.name, "uid": ref.uid}
        metadata["ownerReferences"] = [{**reference, "controller": True}]
    obj = _object(
        "RayCluster",
        name,
        cluster_spec(*groups, **spec),
        {"conditions": list(conditions)},
        **metadata,
    )
    result: Owner = model(RAYCLUSTER.resource, obj)
    return result


def rayjob(status: Json | None = None, metadata: Json | None = None, **spec: Any) -> Owner:
    fields = {
        "entrypoint": "python train.py",
        "shutdownAfterJobFinishes": True,
        "submissionMode": "K8sJobMode",
        "rayClusterSpec": cluster_spec(),
        **spec,
    }
    running = {"jobDeploymentStatus": "Running", "rayClusterName": "tune-x2b7q", "jobId": "tune-1"}
    obj = _object(
        "RayJob", "tune", fields, running if status is None else status, **(metadata or {})
    )
    result: Owner = model(RAYJOB.resource, obj)
    return result


def rayservice(status: Json | None = None, **spec: Any) -> Owner:
    fields = {"rayClusterConfig": cluster_spec(), **spec}
    serving = {"activeServiceStatus": {"rayClusterName": "llm-a"}}
    obj = _object("RayService", "llm", fields, serving if status is None else status)
    result: Owner = model(RAYSERVICE.resource, obj)
    return result


def ray_pod(of: Owner, group: str, index: int = 0, **fields: Any) -> Pod:
    """A pod as KubeRay labels it (labelPod in pod.go)."""
    cluster = of.meta.ref.name
    labels = {
        "ray.io/cluster": cluster,
        "ray.io/group": group,
        "ray.io/node-type": "head" if group == "headgroup" else "worker",
    }
    return a_pod(f"{cluster}-{group}-{index}", of=of, labels=labels, **fields)


def pods_of(cluster: Owner, *, on: str = "n0", number: int = 3, **of_head: Any) -> list[Pod]:
    head = ray_pod(cluster, "headgroup", **{"on": on, **of_head})
    return [head, *(ray_pod(cluster, "gpu", index, on=on) for index in range(number))]


def waiting_for_head(cluster: Owner, index: int, state: str = "running") -> Pod:
    container = Container("wait-gcs-ready", init=True, ready=False, restarts=0, state=state)
    pod = ray_pod(cluster, "gpu", index, on="n0", ready=False)
    return replace(pod, phase="Pending", containers=(container,))


def verdict_of(owner: Owner, *objects: Linked, **facts: Any) -> Verdict:
    return assess(assemble(owner, objects, now=NOW, **facts))


def finding_summary(verdict: Verdict) -> tuple[str, str, str]:
    return verdict.finding.code, verdict.finding.health.value, verdict.finding.message


def offered(owner: Owner, *middle: Owner, jobs: tuple[Owner, ...] = ()) -> tuple[Plan, ...]:
    return offers(a_gang(owner, middle=middle, jobs=jobs), READY, owner.meta.ref.uid, ago(0))


# Decoded fields


def test_head_and_workers_are_roles() -> None:
    result = raycluster("run", workers("gpu", 4, numOfHosts=2), workers("cpu", 1))
    assert [(role.name, role.replicas, role.pods, role.quorum) for role in result.roles] == [
        ("headgroup", 1, 1, None),
        ("gpu", 4, 2, None),
        ("cpu", 1, 1, None),
    ]
    assert result.desired == 10


@pytest.mark.parametrize(
    ("fields", "pods", "quorum"),
    [
        # GetWorkerGroupDesiredReplicas: always within minReplicas and maxReplicas.
        ({"replicas": 9, "minReplicas": 1, "maxReplicas": 4}, 4, None),
        ({"replicas": 0, "minReplicas": 2, "maxReplicas": 4}, 2, None),
        ({"replicas": None, "minReplicas": 2, "maxReplicas": 4}, 2, None),
        ({"replicas": 3, "minReplicas": None, "maxReplicas": None}, 3, None),
        ({"replicas": 3, "minReplicas": 1, "maxReplicas": 4, "suspend": True}, 0, None),
    ],
)
def test_desired_workers_follow_the_worker_groups(
    fields: Json, pods: int, quorum: int | None
) -> None:
    (role,) = raycluster("run", workers("gpu", 3) | fields).roles[1:]
    assert (role.replicas * role.pods, role.quorum) == (pods, quorum)


@pytest.mark.parametrize(
    ("lowest", "hosts", "quorum"), [(2, 1, 2), (0, 1, 1), (0, 2, 2), (1, 2, 2), (4, 1, None)]
)
def test_the_autoscaler_minimum_is_the_quorum(lowest: int, hosts: int, quorum: int | None) -> None:
    group = workers("gpu", 4) | {"minReplicas": lowest, "maxReplicas": 8, "numOfHosts": hosts}
    (role,) = raycluster("run", group, enableInTreeAutoscaling=True).roles[1:]
    assert role.quorum == quorum
    (without,) = raycluster("run", group).roles[1:]
    assert without.quorum is None


def test_the_manager_and_the_queue_are_decoded() -> None:
    labels = {"kueue.x-k8s.io/queue-name": "gpu", "ray.io/gang-scheduling-enabled": ""}
    result = rayjob(metadata={"labels": labels}, managedBy="kueue.x-k8s.io/multikueue")
    assert (result.queue, result.managed_by) == ("gpu", "kueue.x-k8s.io/multikueue")
    assert result.gang_request is not None
    assert result.gang_request.api == "ray.io/gang-scheduling-enabled"
    assert rayjob(managedBy="ray.io/kuberay-operator").managed_by == ""
    assert rayjob().gang_request is None


@pytest.mark.parametrize(
    ("status", "outcome", "reason"),
    [
        (
            {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED"},
            Outcome.SUCCEEDED,
            "SUCCEEDED",
        ),
        ({"jobDeploymentStatus": "Complete", "jobStatus": "STOPPED"}, Outcome.FAILED, "STOPPED"),
        ({"jobDeploymentStatus": "Failed", "reason": "AppFailed"}, Outcome.FAILED, "AppFailed"),
        ({"jobDeploymentStatus": "ValidationFailed"}, Outcome.FAILED, "ValidationFailed"),
    ],
)
def test_a_rayjob_has_an_outcome(status: Json, outcome: Outcome, reason: str) -> None:
    finish = rayjob(status).finish
    assert finish is not None
    assert (finish.outcome, finish.reason) == (outcome, reason)


@pytest.mark.parametrize(
    "state", ["", "Initializing", "Running", "Waiting", "Retrying", "Suspended"]
)
def test_an_unfinished_rayjob_has_no_outcome(state: str) -> None:
    assert rayjob({"jobDeploymentStatus": state, "jobStatus": "RUNNING"}).finish is None


# One gang


def test_a_rayjob_is_one_gang_with_its_cluster_pods_and_submitter() -> None:
    job = rayjob()
    cluster = raycluster("tune-x2b7q", of=job)
    submitter = a_job("tune", uid="uid-job", desired=1, parallelism=1, completions=1, of=job)
    pods = [*pods_of(cluster), a_pod("tune-abcde", of=submitter, on="n0")]
    graph = OwnershipGraph()
    created: list[Linked] = [*pods, cluster, submitter, job]
    for item in created:
        graph.put(item)
    assert graph.roots() == {"uid-tune"}
    result = verdict_of(job, cluster, submitter, *pods)
    assert finding_summary(result) == ("running", "running", "All 5 pods are ready.")
    assert (result.members.desired, result.members.ready) == (5, 5)


def test_its_size_is_that_of_its_cluster_which_an_autoscaler_changes() -> None:
    job = rayjob()
    cluster = raycluster("tune-x2b7q", workers("gpu", 5), of=job)
    result = verdict_of(job, cluster, *pods_of(cluster))
    assert result.members.desired == 6
    assert verdict_of(job).members.desired == 4


def test_objects_of_an_earlier_attempt_do_not_count() -> None:
    job = rayjob()
    old, new = (raycluster(name, of=job) for name in ("tune-old", "tune-x2b7q"))
    result = verdict_of(job, old, new, *pods_of(old), *pods_of(new))
    assert (result.members.desired, result.members.created) == (4, 4)


def test_a_rayjob_on_a_foreign_cluster_is_its_submitter() -> None:
    job = rayjob(
        {"jobDeploymentStatus": "Running", "rayClusterName": "shared"},
        rayClusterSpec=None,
        clusterSelector={"ray.io/cluster": "shared"},
    )
    submitter = a_job("tune", uid="uid-job", desired=1, parallelism=1, completions=1, of=job)
    result = verdict_of(job, submitter, a_pod("tune-abcde", of=submitter, on="n0"))
    assert (result.finding.code, result.members.desired) == ("running", 1)
    alone = verdict_of(job, events=[_event(job, "RayClusterNotFound", _NOT_FOUND)])
    assert finding_summary(alone)[:2] == ("objects-not-made", "blocked")
    assert finding_summary(alone)[2] == f"An object of RayJob tune cannot be created: {_NOT_FOUND}."


_NOT_FOUND = (
    "RayCluster team-a/shared set in the clusterSelector is not found. It must be created manually"
)


def _event(about: Owner, reason: str, note: str) -> Any:
    return an_event(about, reason, note)


def test_a_rayservice_upgrade_is_one_gang_of_two_clusters() -> None:
    service = rayservice(
        {
            "activeServiceStatus": {"rayClusterName": "llm-a"},
            "pendingServiceStatus": {"rayClusterName": "llm-b"},
        }
    )
    active, pending = (raycluster(name, of=service) for name in ("llm-a", "llm-b"))
    refused = [ray_pod(pending, "gpu", index, text=NO_ROOM) for index in range(3)]
    head = ray_pod(pending, "headgroup", on="n0")
    result = verdict_of(service, active, pending, *pods_of(active), head, *refused)
    assert (result.members.desired, result.members.ready) == (8, 5)
    assert result.finding.unit == "llm-b-gpu"
    assert {pod.part for pod in result.pods} == {
        "llm-a-headgroup", "llm-a-gpu", "llm-b-headgroup", "llm-b-gpu",
    }  # fmt: skip
    replaced = rayservice({"activeServiceStatus": {"rayClusterName": "llm-b"}})
    assert verdict_of(replaced, active, pending, *pods_of(active)).members.created == 0


# Reasons


def test_all_pods_ready_is_running() -> None:
    cluster = raycluster()
    assert finding_summary(verdict_of(cluster, *pods_of(cluster))) == (
        "running", "running", "All 4 pods are ready.",
    )  # fmt: skip


def test_a_group_that_an_autoscaler_has_at_zero_is_not_missed() -> None:
    cluster = raycluster("run", workers("gpu", 0), enableInTreeAutoscaling=True)
    result = verdict_of(cluster, ray_pod(cluster, "headgroup", on="n0"))
    assert finding_summary(result) == ("running", "running", "Its pod is ready.")


def test_workers_that_wait_for_the_head_are_a_symptom() -> None:
    """The head has no node; its workers have, and wait in their init container."""
    cluster = raycluster()
    head = ray_pod(cluster, "headgroup", text=NO_ROOM)
    result = verdict_of(cluster, head, *(waiting_for_head(cluster, index) for index in range(3)))
    assert result.finding.unit == "headgroup"
    waits = next(finding for finding in result.findings if finding.code == "dependency-waiting")
    assert waits.symptom
    assert waits.health.value == "waiting"
    assert waits.message == "Ray group gpu: 3 of 3 pods wait for the head, which has no node."


def test_a_starting_head_precedes_its_waiting_workers() -> None:
    cluster = raycluster(
        conditions=(
            condition("HeadPodReady", "False", "ContainersNotReady", "containers with unready"),
        )
    )
    head = ray_pod(cluster, "headgroup", on="n0", ready=False)
    result = verdict_of(cluster, head, *(waiting_for_head(cluster, index) for index in range(3)))
    assert finding_summary(result) == (
        "starting", "starting", "Ray group headgroup: The pod is placed; 1 is not ready yet.",
    )  # fmt: skip
    message = {item.label: item.value for item in result.finding.evidence}
    assert message["HeadPodReady"] == "ContainersNotReady: containers with unready"
    waits = next(finding for finding in result.findings if finding.code == "dependency-waiting")
    assert waits.message == "Ray group gpu: 3 of 3 pods wait for the head, which is not ready."


def test_workers_do_not_wait_for_a_ready_head() -> None:
    cluster = raycluster()
    head = ray_pod(cluster, "headgroup", on="n0")
    result = verdict_of(cluster, head, *(waiting_for_head(cluster, index) for index in range(3)))
    assert "dependency-waiting" not in {finding.code for finding in result.findings}
    # Pods that passed the check do not have it either.
    done = [waiting_for_head(cluster, index, "terminated") for index in range(3)]
    unready = ray_pod(cluster, "headgroup", on="n0", ready=False)
    result = verdict_of(cluster, unready, *done)
    assert "dependency-waiting" not in {finding.code for finding in result.findings}


def test_workers_without_a_head_are_reported() -> None:
    cluster = raycluster()
    result = verdict_of(cluster, *(waiting_for_head(cluster, index) for index in range(3)))
    waits = next(finding for finding in result.findings if finding.code == "dependency-waiting")
    assert waits.message == "Ray group gpu: 3 of 3 pods wait for the head, which does not exist."


def test_pods_with_different_requests_are_named_by_their_groups() -> None:
    """Head and workers have the same owner and no nodes."""
    cluster = raycluster()
    requested = {"headgroup": "1", "gpu": "2"}
    pods = [
        replace(
            ray_pod(cluster, group, index, text=NO_ROOM),
            requests={"cpu": Decimal(requested[group])},
        )
        for group, index in (("headgroup", 0), ("gpu", 0), ("gpu", 1))
    ]
    placing = placing_of(merge_units(facts := assemble(cluster, pods, now=NOW), units_of(facts)))
    assert placing is not None
    names = [pod_set.shape.name for pod_set in placing.request.pod_sets]
    assert names == ["gpu", "headgroup"]


def refused(reason: str, pod: str) -> Json:
    text = (
        f'{reason}\npods "{pod}" is forbidden: exceeded quota: team, requested: pods=1, used: pods=2, '
        "limited: pods=2"
    )
    return condition("ReplicaFailure", "True", reason, text)


def test_pods_kuberay_cannot_create_are_explained_by_the_quota() -> None:
    cluster = raycluster(conditions=(refused("FailedCreateWorkerPod", "run-gpu-worker-x"),))
    result = verdict_of(cluster, *pods_of(cluster, number=1))
    assert finding_summary(result) == (
        "pod-creation-refused",
        "blocked",
        "Ray group gpu: 1 of 3 pods exists. ResourceQuota “team” refuses the rest: pods 2 of 2 used.",
    )
    assert result.finding.advice_texts == (
        "Raise pods by at least 2 in ResourceQuota “team”, or free as much.",
    )
    # KubeRay takes the condition away when it has made them all.
    whole = verdict_of(raycluster(), *pods_of(cluster, number=1))
    assert whole.finding.code == "pods-not-created"


def test_no_worker_is_created_before_the_head() -> None:
    cluster = raycluster(conditions=(refused("FailedCreateHeadPod", "run-head-x"),))
    result = verdict_of(cluster)
    assert finding_summary(result)[:2] == ("pod-creation-refused", "blocked")
    assert result.finding.unit == "headgroup"
    rest = [finding for finding in result.findings if finding.unit == "gpu"]
    assert [(item.symptom, item.health.value, item.message) for item in rest] == [
        (True, "waiting",
         ("Ray group gpu: 0 of 3 pods exist. KubeRay creates them after the head, which it "
"cannot create.")),
    ]  # fmt: skip


def test_an_invalid_spec_is_quoted() -> None:
    cluster = raycluster()
    note = "The RayCluster spec is invalid team-a/run: worker group gpu has negative minReplicas -1"
    result = verdict_of(cluster, events=[_event(cluster, "InvalidRayClusterSpec", note)])
    assert finding_summary(result)[0] == "objects-not-made"
    assert result.finding.message.endswith(": worker group gpu has negative minReplicas -1.")


def test_below_the_lowest_size_of_an_autoscaled_group_and_above_it() -> None:
    group = workers("gpu", 4) | {"minReplicas": 2, "maxReplicas": 8}
    cluster = raycluster("run", group, enableInTreeAutoscaling=True)
    rest = [ray_pod(cluster, "gpu", index, text=NO_ROOM) for index in (2, 3)]
    above = verdict_of(cluster, *pods_of(cluster, number=2), *rest)
    assert finding_summary(above)[:2] == ("below-size", "degraded")
    below = verdict_of(
        cluster, *pods_of(cluster, number=1), *rest, ray_pod(cluster, "gpu", 1, text=NO_ROOM)
    )
    assert finding_summary(below)[:2] == ("partly-placed", "degraded")


SERVING: Json = {
    "activeServiceStatus": {"rayClusterName": "llm-a"},
    "conditions": [condition("Ready", "True", "NonZeroServeEndpoints")],
}


def _served(status: Json) -> Verdict:
    service = rayservice(status)
    cluster = raycluster("llm-a", of=service)
    return verdict_of(service, cluster, *pods_of(cluster))


def test_a_rayservice_whose_pods_are_ready_may_not_answer() -> None:
    assert finding_summary(_served(SERVING))[0] == "running"
    young = deepcopy(SERVING)
    young["conditions"] = [
        condition("Ready", "False", "Initializing", "RayService is initializing")
    ]
    assert finding_summary(_served(young)) == (
        "not-serving", "starting",
        "All 4 pods are ready, and its applications are not deployed yet: RayService is initializing.",
    )  # fmt: skip
    broken = deepcopy(young)
    broken["activeServiceStatus"]["applicationStatuses"] = {
        "chat": {
            "status": "DEPLOY_FAILED",
            "message": "ModuleNotFoundError: no module named model",
        },
        "ok": {"status": "RUNNING"},
    }
    assert finding_summary(_served(broken))[1] == "degraded"
    assert "chat DEPLOY_FAILED: ModuleNotFoundError" in finding_summary(_served(broken))[2]
    steps = [step for finding in _served(broken).findings for step in finding.advice]
    assert [step.command for step in steps] == [
        ("kubectl", "describe", "rayservices.ray.io", "llm", "-n", "team-a")
    ]
    gone = deepcopy(SERVING)
    message = "Number of serve endpoints dropped to 0"
    gone["conditions"] = [condition("Ready", "False", "ZeroServeEndpoints", message)]
    assert finding_summary(_served(gone)) == (
        "not-serving", "degraded",
        "All 4 pods are ready, and nothing answers: Number of serve endpoints dropped to 0.",
    )  # fmt: skip


def test_a_rayservice_that_is_invalid_or_was_too_slow() -> None:
    status = {
        "conditions": [condition("Ready", "False", "ValidationFailed", "bad rayClusterConfig")]
    }
    assert finding_summary(verdict_of(rayservice(status))) == (
        "objects-not-made", "blocked", "KubeRay finds RayService llm invalid: bad rayClusterConfig.",
    )  # fmt: skip
    slow = {"conditions": [condition("Ready", "False", "InitializingTimeout", "not ready in 5m")]}
    assert finding_summary(verdict_of(rayservice(slow))) == (
        "failed", "failed", "The RayService failed (InitializingTimeout): not ready in 5m.",
    )  # fmt: skip


# Suspended below its owner


def test_a_raycluster_suspended_below_its_rayjob_shows_how_to_resume_it() -> None:
    """KubeRay leaves it so, and the RayJob has no Resume button: it is not suspended."""
    job = rayjob()
    cluster = replace(raycluster("tune-x2b7q", of=job, suspend=True), suspend_set_by="night-saver")
    result = verdict_of(job, cluster)
    assert finding_summary(result) == (
        "suspended", "suspended",
        "RayJob tune is not, but RayCluster tune-x2b7q is suspended by night-saver.",
    )  # fmt: skip
    (step,) = result.finding.advice
    assert (step.kind, step.objects) == (AdviceKind.RESUME, ())
    assert step.command == (
        "kubectl", "patch", "rayclusters.ray.io", "tune-x2b7q", "-n", "team-a", "--type=merge",
        "-p", '{"spec":{"suspend":false}}',
    )  # fmt: skip


def test_a_suspended_rayjob_has_no_next_step() -> None:
    """Near miss: a user suspended the RayJob itself, and its page has the button."""
    job = rayjob(suspend=True)
    cluster = replace(raycluster("tune-x2b7q", of=job, suspend=True), suspend_set_by="night-saver")
    result = verdict_of(job, cluster)
    assert result.finding.code == "suspended"
    assert result.finding.advice == ()


# Reasons that this release does not know


JAMMED = "the frobnicator is jammed"


@pytest.mark.parametrize("reason", ["FailedDeleteWorkerPod", "FrobnicatorJammed"])
def test_a_replica_failure_of_another_reason_is_an_error_with_its_text(reason: str) -> None:
    cluster = raycluster(
        conditions=(condition("ReplicaFailure", "True", reason, f"{reason}\n{JAMMED}"),)
    )
    result = verdict_of(cluster, *pods_of(cluster, number=1))
    assert finding_summary(result)[:2] == ("pods-not-created", "blocked")
    assert reason in finding_summary(result)[2]
    assert JAMMED in finding_summary(result)[2]
    assert verdict_of(cluster, *pods_of(cluster)).finding.code == "running"


def _unready_cluster(reason: str, *, pods: bool = True) -> Verdict:
    cluster = raycluster(conditions=(condition("RayClusterProvisioned", "False", reason, JAMMED),))
    return verdict_of(cluster, *(pods_of(cluster, ready=False) if pods else ()))


def _unready_service(reason: str, *, pods: bool = True) -> Verdict:
    status = {**SERVING, "conditions": [condition("Ready", "False", reason, JAMMED)]}
    service = rayservice(status)
    cluster = raycluster("llm-a", of=service)
    return verdict_of(service, cluster, *(pods_of(cluster, ready=False) if pods else ()))


@pytest.mark.parametrize("pods", [True, False])
@pytest.mark.parametrize("unready", [_unready_cluster, _unready_service])
def test_an_unknown_reason_of_an_unready_cluster_is_an_error_with_its_text(
    unready: Callable[..., Verdict], pods: bool
) -> None:
    result = unready("FrobnicatorJammed", pods=pods)
    assert result.finding.code == "objects-not-made"
    assert result.finding.health is not Health.STARTING
    assert JAMMED in result.finding.message


@pytest.mark.parametrize(
    ("unready", "reason"),
    [
        (_unready_cluster, "RayClusterPodsProvisioning"),
        (_unready_service, "Initializing"),
        (_unready_service, "ZeroServeEndpoints"),
    ],
)
def test_a_known_reason_is_a_start(unready: Callable[..., Verdict], reason: str) -> None:
    assert unready(reason).finding.code == "starting"


def test_an_unknown_reason_follows_a_shortage() -> None:
    cluster = raycluster(
        conditions=(condition("RayClusterProvisioned", "False", "FrobnicatorJammed", JAMMED),)
    )
    head = ray_pod(cluster, "headgroup", text=NO_ROOM)
    workers = [ray_pod(cluster, "gpu", index, text=NO_ROOM) for index in range(3)]
    assert verdict_of(cluster, head, *workers).finding.code != "objects-not-made"


# Acting


def test_each_kind_is_suspended_by_its_field_with_its_consequences() -> None:
    job = rayjob()
    suspend, resume = offered(job, raycluster("tune-x2b7q", of=job))
    assert suspend.allowed
    assert suspend.lever == "suspend"
    assert suspend.reactions == (
        "KubeRay deletes RayCluster tune-x2b7q with its 4 pods and the Job that submitted its work: what "
        "Ray keeps in memory is lost.",
        "Once begun that runs to its end, whatever is asked for meanwhile.",
    )
    assert not resume.allowed
    again = rayjob({"jobDeploymentStatus": "Suspended"}, suspend=True)
    _, resume = offered(again)
    assert resume.allowed
    assert resume.reactions == (
        (
            "KubeRay makes another RayCluster. Its 4 pods are created: they need capacity, may "
            "have to wait, and may get other nodes."
        ),
        "Its work is submitted again and starts from its beginning.",
    )
    assert offered(raycluster())[0].reactions[0] == (
        "KubeRay deletes its 4 pods, the head too: what Ray keeps in memory is lost, and the work that runs "
        "on it fails."
    )
    assert offered(rayservice())[0].reactions[0] == (
        "KubeRay deletes its 1 RayCluster with 4 pods, and its Services: nothing answers until it is "
        "resumed."
    )


@pytest.mark.parametrize(
    ("spec", "status", "why"),
    [
        ({"shutdownAfterJobFinishes": False}, None, "spec.shutdownAfterJobFinishes false"),
        ({"shutdownAfterJobFinishes": None}, None, "spec.shutdownAfterJobFinishes false"),
        ({"clusterSelector": {"ray.io/cluster": "shared"}, "rayClusterSpec": None}, None, "shared"),
        (
            {"submissionMode": "InteractiveMode"},
            {"jobDeploymentStatus": "Waiting", "rayClusterName": "tune-x2b7q"},
            "heeds no suspension",
        ),
    ],
)
def test_owners_kuberay_would_not_suspend_have_no_lever(
    spec: Json, status: Json | None, why: str
) -> None:
    suspend, _ = offered(rayjob(status, **spec))
    assert not suspend.allowed
    assert why in suspend.why_not


@pytest.mark.parametrize(
    ("version", "allowed"), [("v1.6.2", False), ("v1.7.0", True), ("nightly", True), ("", True)]
)
def test_a_rayservice_is_suspended_since_1_7(version: str, allowed: bool) -> None:
    service = rayservice()
    cluster = raycluster("llm-a", of=service, kuberay=version)
    assert RAYSERVICE.complete is not None
    suspend, _ = offered(RAYSERVICE.complete(service, [cluster], ()), cluster)
    assert suspend.allowed is allowed
    if not allowed:
        assert suspend.why_not == (
            "KubeRay v1.6.2 looks after RayService llm: RayServices can be suspended since v1.7."
        )


def test_the_cluster_of_a_rayjob_is_not_suspended_by_itself() -> None:
    job = rayjob()
    cluster = raycluster("tune-x2b7q", of=job)
    context = a_gang(job, middle=(cluster,))
    suspend, _ = offers(context, READY, cluster.meta.ref.uid, ago(0))
    assert suspend.why_not == (
        "RayCluster tune-x2b7q belongs to RayJob tune, which would undo this: act on that one."
    )


def test_a_settled_suspension_is_recognised() -> None:
    assert RAYJOB.has_acted is not None
    assert RAYJOB.has_acted({"jobDeploymentStatus": "Suspended"})
    assert not RAYJOB.has_acted({"jobDeploymentStatus": "Suspending"})
    assert (RAYCLUSTER.suspended_condition, RAYSERVICE.suspended_condition) == (
        "RayClusterSuspended", "Suspended",
    )  # fmt: skip
    assert RAYJOB.makers is not None
    assert list(RAYJOB.makers(rayjob())) == [("ray.io", "RayCluster", "tune-x2b7q")]


def test_a_suspended_owner_is_reported_as_suspended() -> None:
    cluster = raycluster(suspend=True)
    assert finding_summary(verdict_of(cluster))[:2] == ("suspended", "suspended")
    job = rayjob({"jobDeploymentStatus": "Suspended"}, suspend=True)
    assert finding_summary(verdict_of(job)) == (
        "suspended",
        "suspended",
        "The RayJob is suspended.",
    )


def test_the_page_shows_facts_of_a_rayjob() -> None:
    assert RAYJOB.facts is not None
    stored = rayjob(
        {"jobDeploymentStatus": "Complete", "jobStatus": "SUCCEEDED", "rayClusterName": "tune-a"},
        shutdownAfterJobFinishes=False,
    )
    assert RAYJOB.facts(stored) == {
        "Deployment": "Complete",
        "Ray job": "SUCCEEDED",
        "RayCluster": "tune-a, kept after the end (shutdownAfterJobFinishes is false)",
    }
