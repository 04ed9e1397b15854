"""Jobs of kubeflow.org as their operators left them (training-operator 1.9.3, mpi-operator 0.8.0).

Statuses are those seen on a real control plane (real-owners-2.md §1 and 2).
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from gangboard.actions import patches
from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.action import Plan, Verb
from gangboard.domain.event import Event
from gangboard.domain.group import Group, Policy
from gangboard.domain.health import Health
from gangboard.domain.node import Node
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner, PodRequests
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import UnitMemory, Verdict
from gangboard.owners.kubeflow import mpijob
from gangboard.plugins import registry
from tests.decode.reading import Json, model
from tests.domain_objects import (
    NOW,
    Made,
    a_container,
    a_hold,
    a_job,
    a_meta,
    a_pod,
    ago,
    an_event,
)
from tests.gangs import a_gang, assemble
from tests.policy.builders import make_plan as ask
from tests.sentence_values import values_in

GROUP, LABEL = "kubeflow.org", "training.kubeflow.org"
OWNERS = [kind for kind in registry.owner_kinds() if kind.group == GROUP]
KINDS = {
    "JAXJob": "jaxReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
}
TOO_FEW = "0/1 nodes are available: 1 Insufficient cpu."


def condition(type_: str, status: str = "True", reason: str = "", message: str = "") -> Json:
    at = {"lastTransitionTime": "2026-11-21T11:59:00Z", "lastUpdateTime": "2026-11-21T11:59:00Z"}
    return {"type": type_, "status": status, "reason": reason, "message": message, **at}


def replicas(number: int | None, cpu: str = "1", **spec: Any) -> Json:
    containers = [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu}}}]
    result: Json = {"template": {"spec": {"containers": containers, **spec}}}
    return result if number is None else {"replicas": number, **result}


def read(
    kind: str,
    roles: Json,
    *conditions: Json,
    policy: Json | None = None,
    version: str = "v1",
    metadata: Json | None = None,
    status: Json | None = None,
    **spec: Any,
) -> Owner:
    """Return a job `run` of these replica specs."""
    field = KINDS.get(kind, "mpiReplicaSpecs")
    run_policy = {} if policy is None else {"runPolicy": policy}
    owner: Owner = model(
        registry_of(kind).resource,
        {
            "apiVersion": f"{GROUP}/{version}",
            "kind": kind,
            "metadata": {
                "name": "run",
                "namespace": "team-a",
                "uid": "uid-run",
                "generation": 1,
                "resourceVersion": "7",
                "creationTimestamp": "2026-11-21T11:50:00Z",
                **(metadata or {}),
            },
            "spec": {field: roles, **run_policy, **spec},
            "status": {"conditions": list(conditions), **(status or {})},
        },
        version,
    )
    return owner


def registry_of(kind: str) -> Any:
    return next(owner for owner in OWNERS if owner.label == kind)


def pytorch(*conditions: Json, workers: int = 2, **options: Any) -> Owner:
    roles = {"Master": replicas(1), "Worker": replicas(workers)}
    return read("PyTorchJob", roles, *conditions, policy=options.pop("policy", {}), **options)


def mpi(*conditions: Json, workers: int | None = 3, **options: Any) -> Owner:
    roles = {"Launcher": replicas(1), "Worker": replicas(workers, "8")}
    return read("MPIJob", roles, *conditions, version="v2beta1", **options)


def member(owner: Owner, role: str, index: int = 0, **fields: Any) -> Pod:
    """Return a pod as the training operator names and labels it."""
    kind = owner.meta.ref.kind.lower()
    labels = {
        f"{LABEL}/job-name": owner.meta.ref.name,
        f"{LABEL}/operator-name": f"{kind}-controller",
        f"{LABEL}/replica-type": role,
        f"{LABEL}/replica-index": str(index),
    }
    return a_pod(f"{owner.meta.ref.name}-{role}-{index}", of=owner, labels=labels, **fields)


def worker(owner: Owner, index: int, **fields: Any) -> Pod:
    """Return a worker as the MPI operator names and labels it."""
    return a_pod(f"run-worker-{index}", of=owner, labels=_labels("worker"), **fields)


def launcher(owner: Owner, **fields: Any) -> Owner:
    """Return the Job of a launcher: its only labels are the name of the MPIJob, as `app`."""
    return a_job("run-launcher", of=owner, pods=1, indexed=False, **fields)


def launched(job: Owner, **fields: Any) -> Pod:
    return a_pod("run-launcher-x7k2p", of=job, labels=_labels("launcher"), **fields)


def _labels(role: str) -> dict[str, str]:
    return {
        f"{LABEL}/job-name": "run",
        f"{LABEL}/operator-name": "mpi-operator",
        f"{LABEL}/job-role": role,
    }


def verdict_of(owner: Owner, *items: Made, whole: tuple[str, ...] = ()) -> Verdict:
    """Judge a gang; units named in `whole` ran whole a minute ago."""
    memory = {name: UnitMemory(whole_at=ago(60), created_since=ago(60)) for name in whole}
    events = tuple(item for item in items if isinstance(item, Event))
    objects = [item for item in items if not isinstance(item, Event | Node)]
    return assess(assemble(owner, objects, now=NOW, memory=memory, events=events))


def finding_summary(verdict: Verdict) -> tuple[str, str, str]:
    return verdict.finding.code, verdict.finding.health.value, verdict.finding.message


def planned(verb: Verb, owner: Owner, *jobs: Owner, name: str = "run") -> Plan:
    return ask(a_gang(owner=owner, jobs=jobs), name, verb)


# What is kept


@pytest.mark.parametrize("kind", KINDS)
def test_roles_sizes_and_requests_of_each_kind(kind: str) -> None:
    result = read(kind, {"Worker": replicas(3, "2")}, policy={})
    assert (result.desired, result.suspended, result.finish) == (3, False, None)
    assert [(role.name, role.pods, role.quorum) for role in result.roles] == [("Worker", 3, None)]
    assert result.pod_requests == (PodRequests(3, {"cpu": Decimal(2)}),)
    assert result.meta.ref.kind == kind


def test_replica_types_in_any_case_and_without_a_number() -> None:
    """The operators accept any case and default to one pod. Pods have the lower-case name."""
    result = read("TFJob", {"ps": replicas(2), "worker": replicas(None), "CHIEF": replicas(1)})
    assert [(role.name, role.pods) for role in result.roles] == [
        ("PS", 2),
        ("Worker", 1),
        ("Chief", 1),
    ]
    of_role = registry_of("TFJob").role_of
    assert [of_role(member(result, role)) for role in ("ps", "worker", "chief")] == [
        "PS",
        "Worker",
        "Chief",
    ]


def test_an_elastic_job_needs_its_minimum_of_workers() -> None:
    """Without `minReplicas` the operator sets it to all of them."""
    elastic = pytorch(workers=4, elasticPolicy={"minReplicas": 2, "maxReplicas": 8})
    assert [role.quorum for role in elastic.roles] == [None, 2]
    assert registry_of("PyTorchJob").facts(elastic) == {"Elastic": "2 to 8 workers"}
    unsaid = pytorch(workers=4, elasticPolicy={"maxReplicas": 8})
    assert [role.quorum for role in unsaid.roles] == [None, None]
    assert registry_of("PyTorchJob").facts(unsaid) == {}


@pytest.mark.parametrize(
    ("policy", "quorum"),
    [
        ({}, None),
        ({"schedulingPolicy": {}}, None),
        ({"schedulingPolicy": {"minAvailable": 2}}, 2),
        ({"schedulingPolicy": {"queue": "research"}}, 3),
    ],
)
def test_the_request_to_a_gang_scheduler_is_decoded(policy: Json, quorum: int | None) -> None:
    request = pytorch(policy=policy).gang_request
    assert (request.quorum if request is not None else None) == quorum


def test_the_queue_the_manager_and_the_suspending_user_are_decoded() -> None:
    metadata = {
        "labels": {"kueue.x-k8s.io/queue-name": "gpu"},
        "managedFields": [
            {
                "manager": "kueue",
                "operation": "Update",
                "time": "2026-11-21T11:59:00Z",
                "fieldsV1": {"f:spec": {"f:runPolicy": {"f:suspend": {}}}},
            }
        ],
    }
    own = {"suspend": True, "managedBy": "kubeflow.org/training-operator"}
    result = pytorch(policy=own, metadata=metadata)
    assert (result.queue, result.suspended, result.suspend_set_by) == ("gpu", True, "kueue")
    assert result.managed_by == ""
    elsewhere = {"managedBy": "kueue.x-k8s.io/multikueue"}
    assert pytorch(policy=elsewhere).managed_by == "kueue.x-k8s.io/multikueue"


def test_an_mpijob_has_its_launcher_as_a_job_from_v2beta1_on() -> None:
    result = mpi(slotsPerWorker=8)
    assert result.desired == 4
    assert [(role.name, role.pods, role.child_names) for role in result.roles] == [
        ("Launcher", 1, ("run-launcher",)),
        ("Worker", 3, ()),
    ]
    assert registry_of("MPIJob").facts(result) == {"Slots per worker": "8"}
    later = read("MPIJob", {"Launcher": replicas(1), "Worker": replicas(3)}, version="v2")
    assert later.roles[0].child_names == ("run-launcher",)
    older = read("MPIJob", {"Launcher": replicas(1), "Worker": replicas(None)})
    assert (older.desired, {role.child_names for role in older.roles}) == (2, {()})
    assert mpi(workers=None).desired == 1


# Whose pods are whose


def test_launcher_and_workers_are_one_gang_separate_from_a_namesake_of_another_kind() -> None:
    owner, other = mpi(), pytorch(metadata={"uid": "uid-other"})
    job = launcher(owner)
    created: list[Made] = [launched(job), *(worker(owner, n) for n in range(3)), job, owner]
    graph = OwnershipGraph()
    for item in (*created, other, member(other, "master")):
        graph.put(item)
    assert graph.roots() == {"uid-run", "uid-other"}
    assert len(graph.members("uid-run")) == len(created)


def test_pods_without_an_owner_reference_are_distinguished_by_their_operator() -> None:
    """All kinds have the label with the name of the job."""
    unknown = Controller("example.com", "Thing", "t", "uid-of-thing")
    owner, other = mpi(), pytorch(metadata={"uid": "uid-other"})
    mine = replace(worker(owner, 0), meta=replace(worker(owner, 0).meta, controller=unknown))
    theirs = replace(
        member(other, "master"), meta=replace(mine.meta, ref=replace(mine.meta.ref, uid="p"))
    )
    graph = OwnershipGraph()
    for item in (owner, other, mine, theirs):
        graph.put(item)
    assert graph.root_of(mine.meta.ref.uid) == "uid-run"
    assert graph.root_of("p") == "uid-other"


# Expected verdicts


def test_the_running_condition_alone_is_not_trusted() -> None:
    """Seen: Running, which means the master, while no worker has a node."""
    owner = pytorch(condition("Running", reason="PyTorchJobRunning"))
    master = member(owner, "master", on="n0")
    workers = [member(owner, "worker", index, text=TOO_FEW) for index in range(2)]
    result = verdict_of(owner, master, *workers)
    assert result.finding.health is not Health.RUNNING
    assert (result.members.desired, result.members.ready) == (3, 1)
    assert result.finding.unit == "Worker"
    assert "1 of 2 roles is whole." in [finding.message for finding in result.findings]


def test_a_gang_with_all_pods_ready_runs() -> None:
    owner = pytorch(condition("Running", reason="PyTorchJobRunning"))
    pods = [
        member(owner, "master", on="n0"),
        *(member(owner, "worker", n, on="n0") for n in (0, 1)),
    ]
    assert finding_summary(verdict_of(owner, *pods)) == (
        "running",
        "running",
        "All 3 pods are ready.",
    )


def test_the_launcher_is_counted_once() -> None:
    owner = mpi()
    job = launcher(owner)
    result = verdict_of(
        owner, job, launched(job, on="n0"), *(worker(owner, n, on="n0") for n in range(3))
    )
    assert finding_summary(result) == ("running", "running", "All 4 pods are ready.")
    assert (result.members.desired, result.members.created) == (4, 4)


def test_a_launcher_that_stays_suspended_is_a_matter_of_its_operator() -> None:
    """A click resumes the launcher of an unsuspended MPIJob (real-owners-2.md §1.4).

    Twin: a user's Hold prevents it.

    """
    owner = mpi(workers=2)
    job = launcher(owner, suspended=True)
    result = verdict_of(owner, job, *(worker(owner, n, on="n0") for n in range(2)))
    assert finding_summary(result) == (
        "suspended",
        "suspended",
        "1 unfinished Job is suspended: run-launcher (no Hold, by whom is not known). 2 pods are still "
        "there.",
    )
    assert result.finding.advice_texts == (
        "The MPI operator resumes it: if it does not, its log says why.",
    )
    held = verdict_of(owner, job, a_hold(job), *(worker(owner, n, on="n0") for n in range(2)))
    assert held.finding.advice_texts == ()


def test_an_elastic_job_above_its_minimum_is_below_its_size() -> None:
    """Twin: below it, it has lost members."""
    owner = read(
        "PyTorchJob",
        {"Worker": replicas(4)},
        policy={},
        elasticPolicy={"minReplicas": 3, "maxReplicas": 4},
    )
    up = [member(owner, "worker", n, on="n0") for n in range(4)]
    three = [*up[:3], member(owner, "worker", 3, text=TOO_FEW)]
    assert finding_summary(verdict_of(owner, *three, whole=("Worker",)))[0] == "below-size"
    two = [*up[:2], *(member(owner, "worker", n, text=TOO_FEW) for n in (2, 3))]
    assert finding_summary(verdict_of(owner, *two, whole=("Worker",)))[:2] == (
        "lost-members",
        "degraded",
    )


def test_a_gang_unknown_to_every_scheduler() -> None:
    """`schedulingPolicy` is ignored, without a word, by an operator that has no gang scheduler."""
    owner = pytorch(policy={"schedulingPolicy": {"minAvailable": 3}})
    pods = [member(owner, "master", on="n0"), member(owner, "worker", 0, text=TOO_FEW)]
    result = verdict_of(owner, *pods, member(owner, "worker", 1, text=TOO_FEW))
    assert finding_summary(result) == (
        "not-ganged",
        "degraded",
        "PyTorchJob run requests a gang (schedulingPolicy), but default-scheduler places its pods "
        "one by one: 1 of 3.",
    )


@pytest.mark.parametrize("api", ["scheduling.volcano.sh", "scheduling.x-k8s.io"])
def test_a_minimum_in_the_job_is_lowered_in_the_job(api: str) -> None:
    """Its operator writes the number into the PodGroup again and again (SyncPodGroup in scheduling.go of 1.9.3)."""
    owner = pytorch(policy={"schedulingPolicy": {"minAvailable": 6}})
    group = Group(
        a_meta(api, "PodGroup", "run", uid="uid-of-group", of=owner),
        Policy.GANG,
        quorum=6,
        detail={"phase": "Inqueue"},
        queue="default",
    )
    pods = [
        replace(
            item,
            group_name="run",
            group_kind=f"PodGroup.{api}",
            scheduler_name="gangs",
            other_scheduler=True,
        )
        for item in (member(owner, "master"), *(member(owner, "worker", n) for n in range(2)))
    ]
    result = verdict_of(owner, group, *pods)
    assert result.finding.code == "below-quorum"
    assert tuple(step.text for step in result.finding.advice) == (
        "Lower schedulingPolicy.minAvailable of PyTorchJob run from 6 to 3 (no restart).",
        "Scale PyTorchJob run up by 3 pods.",
    )


def test_a_restart_lasts_as_long_as_the_operator_reports_it() -> None:
    """Twin: without that word a member was lost."""
    reported = condition(
        "Restarting",
        reason="PyTorchJobRestarting",
        message="PyTorchJob run is restarting because 1 Master replica(s) failed.",
    )
    for conditions, expected in (
        (
            (reported,),
            ("restarting", "degraded", "Role Master: Restarting: 0 of 1 pods are ready."),
        ),
        (
            (),
            (
                "lost-members",
                "degraded",
                "Role Master: 0 of 1 members run, 2 of 3 of PyTorchJob run. 1 pod is not ready.",
            ),
        ),
    ):
        owner = pytorch(*conditions)
        pods = [member(owner, "master", on="n0", ready=False)]
        pods += [member(owner, "worker", n, on="n0") for n in (0, 1)]
        result = verdict_of(owner, *pods, whole=("Master", "Worker"))
        assert finding_summary(result) == expected
        if conditions:
            quoted = {item.label: item.value for item in result.finding.evidence}
            assert quoted["Restarting"] == f"PyTorchJobRestarting: {reported['message']}"


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (
            [
                condition(
                    "Succeeded",
                    reason="PyTorchJobSucceeded",
                    message="PyTorchJob run is successfully completed.",
                )
            ],
            ("succeeded", "succeeded", "The PyTorchJob succeeded. 1 pod is still there."),
        ),
        (
            [
                condition(
                    "Failed",
                    reason="PyTorchJobFailed",
                    message="PyTorchJob run is failed because 1 Worker replica(s) failed.",
                )
            ],
            (
                "failed",
                "failed",
                "The PyTorchJob failed (PyTorchJobFailed): PyTorchJob run is failed because 1 Worker "
                "replica(s) failed. 1 pod is still there.",
            ),
        ),
        (
            [
                condition(
                    "Suspended",
                    reason="PyTorchJobSuspended",
                    message="PyTorchJob run is suspended.",
                )
            ],
            ("suspended", "suspended", "The PyTorchJob is suspended. 1 pod is still there."),
        ),
    ],
)
def test_a_finished_job_has_its_outcome_and_remaining_pods(
    conditions: list[Json], expected: tuple[str, str, str]
) -> None:
    """Pods of a finished job stay with `cleanPodPolicy: None`, the default (seen: workers run on)."""
    suspended = expected[0] == "suspended"
    owner = pytorch(*conditions, policy={"suspend": suspended})
    assert finding_summary(verdict_of(owner, member(owner, "worker", on="n0"))) == expected


def test_refused_pods_are_explained_by_the_message_of_each_operator() -> None:
    """Both have a reason of their own for it (pod_control.go; getOrCreateWorker)."""
    text = (
        'pods "run-worker-1" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, '
        "limited: pods=2"
    )
    trained = pytorch()
    cases: tuple[tuple[Owner, tuple[Made, ...], str, str], ...] = (
        (
            trained,
            (member(trained, "master", on="n0"), member(trained, "worker", on="n0")),
            "FailedCreatePod",
            f"Error creating: {text}",
        ),
    )
    spread = mpi(workers=2)
    job = launcher(spread)
    cases += (
        (
            spread,
            (job, launched(job, on="n0"), worker(spread, 0, on="n0")),
            "MPIJobFailed",
            f"worker pod created failed: {text}",
        ),
    )
    for owner, created, reason, note in cases:
        result = verdict_of(owner, *created, an_event(owner, reason, note))
        assert finding_summary(result) == (
            "pod-creation-refused",
            "blocked",
            "Role Worker: 1 of 2 pods exists. ResourceQuota “q” refuses the rest: pods 2 of 2 used.",
        )


def test_a_spec_that_the_mpi_operator_does_not_take() -> None:
    """Seen: it is accepted by the API server, has no condition, and this event."""
    owner = read("MPIJob", {"Worker": replicas(2)}, version="v2beta1")
    note = (
        "Found validation errors: spec.mpiReplicaSpecs[Launcher]: Required value: must have Launcher "
        "replica spec"
    )
    assert finding_summary(verdict_of(owner, an_event(owner, "ValidationError", note))) == (
        "objects-not-made",
        "blocked",
        (
            "An object of MPIJob run cannot be created: spec.mpiReplicaSpecs[Launcher]: Required "
            "value: must have Launcher replica spec."
        ),
    )


# Launcher and workers


def crashing(job: Owner) -> Pod:
    container = a_container(
        "launcher", running=False, state="waiting", reason="CrashLoopBackOff", restarts=4,
        last_exit_code=1, last_reason="Error",
    )  # fmt: skip
    return replace(launched(job, on="n0", ready=False), containers=(container,))


def test_a_launcher_that_fails_without_workers_is_the_symptom() -> None:
    """Twin: with all workers ready it is the launcher itself that crashes."""
    owner = mpi()
    job = launcher(owner)
    short = [worker(owner, 0, on="n0"), *(worker(owner, n, text=TOO_FEW) for n in (1, 2))]
    result = verdict_of(owner, job, crashing(job), *short)
    assert result.finding.unit == "Worker"
    assert result.finding.code in ("partly-placed", "unschedulable")
    second = next(finding for finding in result.findings if finding.unit == "run-launcher")
    assert (second.code, second.symptom) == ("dependency-waiting", True)
    assert values_in(second.message) == "run-launcher 3 1 4"
    all_up = [worker(owner, n, on="n0") for n in range(3)]
    assert finding_summary(verdict_of(owner, job, crashing(job), *all_up))[:2] == (
        "crash-loop",
        "degraded",
    )


def test_a_launcher_is_created_after_all_workers_are_ready() -> None:
    """Seen: neither the Job nor a word of it. Twin: all are ready, and it is due."""
    owner = mpi(launcherCreationPolicy="WaitForWorkersReady")
    up = [worker(owner, n, on="n0") for n in range(2)]
    result = verdict_of(owner, *up, worker(owner, 2, on="n0", ready=False))
    waits = next(finding for finding in result.findings if finding.code == "dependency-waiting")
    assert waits.symptom
    assert waits.message == "Job run-launcher is not created before all 3 workers are ready: 2 are."
    full = verdict_of(
        mpi(
            launcherCreationPolicy="WaitForWorkersReady",
            status={"replicaStatuses": {"Worker": {"active": 3}}},
        ),
        *up,
        worker(owner, 2, on="n0"),
    )
    assert finding_summary(full)[::2] == (
        "pods-not-created",
        "MPIJob run has not created Job run-launcher.",
    )


def evicted(owner: Owner, index: int) -> Pod:
    pod = worker(owner, index, on="n0", ready=False)
    return replace(pod, phase="Failed", reason="Evicted", message="The node was low on memory.")


def test_a_worker_that_was_evicted_comes_back_only_when_its_pod_is_deleted() -> None:
    """Seen: Failed, and launcher and the other workers run on. It is no end."""
    reported = condition("Failed", reason="MPIJobEvicted", message="1/3 workers are evicted")
    owner = mpi(reported)
    assert owner.finish is None
    job = launcher(owner)
    up = [launched(job, on="n0"), worker(owner, 0, on="n0"), worker(owner, 2, on="n0")]
    result = verdict_of(owner, job, *up, evicted(owner, 1), whole=("Worker", "run-launcher"))
    assert finding_summary(result) == (
        "lost-members",
        "degraded",
        "Role Worker: 2 of 3 members run: run-worker-1 failed (Evicted), and it comes back only when "
        "its pod is deleted.",
    )
    assert result.finding.advice_texts == (
        "Have them re-created: kubectl delete pod -n team-a run-worker-1",
    )
    quoted = {item.label: item.value for item in result.finding.evidence}
    assert quoted["Failed"] == "MPIJobEvicted: 1/3 workers are evicted"


@pytest.mark.parametrize(("pods", "words"), [(50, 5 + 50), (51, 0)])
def test_the_command_names_every_pod_or_is_omitted(pods: int, words: int) -> None:
    owner = mpi()
    step = mpijob._deletion_step([evicted(owner, index) for index in range(pods)])
    assert len(step.command) == words


def test_the_end_of_an_mpijob() -> None:
    """The operator puts the reason of the last failed pod behind a slash."""
    message = condition(
        "Failed",
        reason="BackoffLimitExceeded/",
        message="Job has reached the specified backoff limit: ",
    )
    ended = mpi(message, status={"completionTime": "2026-11-21T11:59:00Z"})
    job = launcher(ended, finish=None)
    assert finding_summary(verdict_of(ended, job)) == (
        "failed",
        "failed",
        "The MPIJob failed (BackoffLimitExceeded): Job has reached the specified backoff limit.",
    )


# Acting


def test_the_run_policy_suspends_a_job_and_consequences_are_shown() -> None:
    plan = planned(Verb.SUSPEND, pytorch())
    assert plan.allowed
    assert plan.after == {"spec.runPolicy.suspend": "true"}
    assert patches.patched_fields(plan.steps[0].patch) == {"/spec/runPolicy/suspend": True}
    assert plan.reactions == (
        "Its pods are deleted, with up to 30 s to end; unsaved work is lost.",
        "Its Services are deleted too, and re-created when it is resumed.",
    )
    resumed = planned(Verb.RESUME, pytorch(policy={"suspend": True}))
    assert resumed.reactions == (
        ("Its 3 pods are created: they need capacity, may have to wait, and may get other nodes."),
    )


def test_a_job_without_a_run_policy_gets_one() -> None:
    """API servers cannot add a key to a missing map (the CRDs have no default for it)."""
    owner = mpi()
    plan = planned(Verb.SUSPEND, owner, launcher(owner))
    assert '{"op":"test","path":"/spec/runPolicy","value":null}' in plan.steps[0].patch
    assert '{"op":"add","path":"/spec/runPolicy","value":{}}' in plan.steps[0].patch
    assert patches.patched_fields(plan.steps[0].patch) == {"/spec/runPolicy/suspend": True}
    fields = planned(Verb.SUSPEND, mpi(policy={"suspend": False}))
    assert '"path":"/spec/runPolicy"' not in fields.steps[0].patch


def test_the_launcher_is_not_suspended_individually() -> None:
    """Seen: the MPI operator undoes it after 27 ms."""
    owner = mpi()
    plan = planned(Verb.SUSPEND, owner, launcher(owner), name="run-launcher")
    assert not plan.allowed
    assert plan.why_not == (
        "Job run-launcher cannot be suspended alone: its launcher starts everything that runs on the "
        "workers."
    )


def test_jobs_of_another_controller_are_not_changed() -> None:
    plan = planned(Verb.SUSPEND, pytorch(policy={"managedBy": "example.com/manager"}))
    assert not plan.allowed
    assert "example.com/manager" in plan.why_not


def test_pods_of_a_suspended_job_are_selected_by_labels() -> None:
    assert {kind.label for kind in OWNERS} == {*KINDS, "MPIJob"}
    for kind in OWNERS:
        assert kind.pod_label == f"{LABEL}/job-name"
        assert kind.suspended_condition == "Suspended"
