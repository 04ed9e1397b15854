"""TrainJobs as real-owners.md §1 saw them (Trainer v2.2.0), and the gang that one is with its JobSet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gangboard.decode.pods import POD
from gangboard.diagnosis.engine import assess
from gangboard.diagnosis.ownership_graph import OwnershipGraph
from gangboard.domain.action import ClusterLevers, PolicyState
from gangboard.domain.group import Group
from gangboard.domain.health import Health
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Outcome, Owner
from gangboard.domain.queue import AssignedNodes
from gangboard.domain.verdict import Verdict
from gangboard.facts.gang import Gang
from gangboard.owners.job import Job
from gangboard.owners.jobset import JobSet
from gangboard.owners.trainjob import TrainJob
from gangboard.policy.plan import offers
from tests.decode.reading import Json, model, with_identity
from tests.domain_objects import NOW, a_group, a_workload, an_entry
from tests.gangs import a_gang, assemble
from tests.kinds import registered

JOB = registered(Job)
JOBSET = registered(JobSet)
OWNER = registered(TrainJob)

NODES = 5
TRAINJOB: Json = {
    "metadata": {
        "name": "run",
        "namespace": "team-a",
        "uid": "t1",
        "generation": 1,
        "resourceVersion": "5",
        "creationTimestamp": "2026-11-20T09:00:00Z",
    },
    "spec": {
        "managedBy": "trainer.kubeflow.org/trainjob-controller",
        "runtimeRef": {
            "apiGroup": "trainer.kubeflow.org",
            "kind": "ClusterTrainingRuntime",
            "name": "plain",
        },
        "trainer": {"numNodes": NODES, "resourcesPerNode": {"requests": {"cpu": "1"}}},
        "suspend": False,
    },
    "status": {"jobsStatus": [{"name": "node", "active": 1, "ready": 0}]},
}


def trainjob(**changes: Any) -> Owner:
    spec = {**TRAINJOB["spec"], **changes.pop("spec", {})}
    owner: Owner = model(OWNER.resource, {**TRAINJOB, "spec": spec, **changes})
    return owner


def below(kind: str, uid: str, of: tuple[str, str, str], **fields: Any) -> Json:
    """Return an object that this owner has made."""
    api, name, owner = of
    meta = {
        "uid": uid,
        "generation": 1,
        "creationTimestamp": "2026-11-20T09:00:01Z",
        "ownerReferences": [
            {"apiVersion": api, "kind": kind, "name": name, "uid": owner, "controller": True}
        ],
        **fields.pop("metadata", {}),
    }
    return with_identity({"metadata": meta, **fields}, name=fields.pop("name", uid))


POD_SPEC = {"containers": [{"name": "node", "resources": {"requests": {"cpu": "1"}}}]}
TEMPLATE = {"spec": POD_SPEC}


def jobset(**spec: Any) -> Owner:
    job = {
        "parallelism": NODES,
        "completions": NODES,
        "completionMode": "Indexed",
        "template": TEMPLATE,
    }
    owner: Owner = model(
        JOBSET.resource,
        below(
            "TrainJob",
            "js1",
            ("trainer.kubeflow.org/v1alpha1", "run", "t1"),
            metadata={"name": "run"},
            spec={
                "replicatedJobs": [{"name": "node", "replicas": 1, "template": {"spec": job}}],
                **spec,
            },
        ),
    )
    return owner


def job(**spec: Any) -> Owner:
    owner: Owner = model(
        JOB.resource,
        below(
            "JobSet",
            "j1",
            ("jobset.x-k8s.io/v1alpha2", "run", "js1"),
            metadata={
                "name": "run-node-0",
                "labels": {
                    "jobset.sigs.k8s.io/replicatedjob-name": "node",
                    "jobset.sigs.k8s.io/restart-attempt": "0",
                },
            },
            spec={
                "parallelism": NODES,
                "completions": NODES,
                "completionMode": "Indexed",
                "template": TEMPLATE,
                **spec,
            },
            status={"active": 1, "ready": 1},
        ),
    )
    return owner


def pod(index: int, *, ready: bool) -> Any:
    status: Json = {"phase": "Running" if ready else "Pending", "conditions": []}
    if ready:
        status["conditions"] = [
            {"type": kind, "status": "True"} for kind in ("PodScheduled", "Ready")
        ]
    return model(
        POD,
        below(
            "Job",
            f"p{index}",
            ("batch/v1", "run-node-0", "j1"),
            metadata={
                "name": f"run-node-0-{index}-abcde",
                "labels": {"batch.kubernetes.io/job-completion-index": str(index)},
            },
            spec={**POD_SPEC, **({"nodeName": "n0"} if ready else {})},
            status=status,
        ),
    )


def verdict(*objects: Any, root: Owner | None = None) -> Verdict:
    return assess(assemble(root or trainjob(), objects, now=NOW, gang_api_version="v1beta1"))


def test_fields_of_a_trainjob_are_decoded() -> None:
    owner = trainjob()
    assert (owner.meta.ref.kind, owner.meta.ref.group) == ("TrainJob", "trainer.kubeflow.org")
    assert (owner.desired, owner.suspended, owner.managed_by) == (NODES, False, "")
    assert owner.finish is None


@pytest.mark.parametrize(
    ("condition", "outcome"),
    [
        ({"type": "Complete", "reason": "AllJobsCompleted"}, Outcome.SUCCEEDED),
        ({"type": "Failed", "reason": "FailedJobs"}, Outcome.FAILED),
    ],
)
def test_its_end_is_its_own_condition(condition: Json, outcome: Outcome) -> None:
    status = {"conditions": [{"status": "True", "message": "as told", **condition}]}
    finish = trainjob(status=status).finish
    assert finish is not None
    assert (finish.outcome, finish.reason, finish.message) == (
        outcome,
        condition["reason"],
        "as told",
    )


def test_the_column_state_is_not_believed_after_a_resume() -> None:
    """`Suspended=False` stays for ever; it says when it was resumed, and is no end (trainer#3666)."""
    condition = {
        "type": "Suspended",
        "status": "False",
        "reason": "Resumed",
        "lastTransitionTime": "2026-11-20T09:30:00Z",
    }
    owner = trainjob(status={"conditions": [condition]})
    assert (owner.finish, owner.suspended) == (None, False)
    assert owner.resumed_at is not None


def test_a_trainjob_managed_elsewhere_is_not_judged_locally() -> None:
    owner = trainjob(spec={"managedBy": "kueue.x-k8s.io/multikueue"})
    assert owner.managed_by == "kueue.x-k8s.io/multikueue"


def test_a_trainjob_is_one_gang_with_its_jobset_and_jobs() -> None:
    graph = OwnershipGraph()
    for item in (pod(0, ready=True), job(), jobset(), trainjob()):
        graph.put(item)
    assert graph.roots() == {"t1"}
    assert set(graph.members("t1")) == {"t1", "js1", "j1", "p0"}


def test_a_trainjob_with_one_ready_pod_of_five_is_not_running() -> None:
    message = verdict(
        jobset(), job(), pod(0, ready=True), *(pod(n, ready=False) for n in range(1, 5))
    )
    assert message.members.desired == NODES
    assert message.members.ready == 1
    assert message.finding.health is not Health.RUNNING


def test_five_ready_pods_of_five_are_running() -> None:
    message = verdict(jobset(), job(), *(pod(n, ready=True) for n in range(NODES)))
    assert (message.finding.health, message.members.ready) == (Health.RUNNING, NODES)


def test_a_trainjob_without_its_jobset_has_no_objects() -> None:
    message = verdict()
    assert (message.finding.code, message.finding.health) == ("pods-not-created", Health.BLOCKED)
    assert "TrainJob run" in message.finding.message


def test_suspended_by_its_own_field() -> None:
    root = trainjob(spec={"suspend": True})
    message = verdict(jobset(suspend=True), job(suspend=True), root=root)
    assert (message.finding.code, message.finding.health) == ("suspended", Health.SUSPENDED)


READY = ClusterLevers(cluster="c", has_actor=True, hold=PolicyState.INSTALLED)


def context() -> Gang:
    facts = assemble(trainjob(), (jobset(), job()), now=NOW)
    return a_gang(owner=facts.owner, middle=facts.middle, jobs=facts.jobs)


def test_a_trainjob_suspends_itself_and_holds_a_single_job() -> None:
    suspend, _ = offers(context(), READY, "t1", NOW)
    assert (suspend.allowed, suspend.lever) == (True, "suspend")
    held, _, relocated = offers(context(), READY, "j1", NOW)
    assert (held.allowed, held.lever) == (True, "hold")
    assert (relocated.allowed, relocated.lever) == (True, "hold-exclusion")


def test_a_single_job_leaves_a_node_that_kueue_chose_by_a_cordon() -> None:
    gang = context()
    owner = replace(gang.owner, queue="lq")
    assigned = (AssignedNodes("kueue.x-k8s.io/podset", "node", {"n0": 1}),)
    entry = an_entry(owner, admitted=True, has_quota=True, assigned=assigned)
    gang = replace(gang, owner=owner, entries=(entry,))
    *_, relocated = offers(gang, replace(READY, cordon=True), "j1", NOW)
    assert (relocated.allowed, relocated.lever) == (True, "hold-cordon"), relocated.why_not


def test_its_jobset_is_not_suspended_for_the_trainer_undoes_that() -> None:
    suspend, resume = offers(context(), READY, "js1", NOW)
    assert suspend.why_not == resume.why_not
    assert suspend.why_not == (
        "JobSet run belongs to TrainJob run, which would undo this: act on that one."
    )


def test_the_jobset_is_attached_by_its_name() -> None:
    assert list(OWNER.makers(trainjob())) == [("jobset.x-k8s.io", "JobSet", "run")]


def of_both(*, controller: str, **fields: Any) -> dict[str, Any]:
    """Return the metadata of what Trainer and JobSet plan to make together (trainer#3015, jobset KEP-969).

    It has two owners, of which one or none is its controller.
    """
    refs = {"TrainJob": trainjob().meta.ref, "JobSet": jobset().meta.ref}
    item = refs.get(controller)
    of = None if item is None else Controller(item.group, item.kind, item.name, item.uid)
    return {"of": of, "owner_uids": ("t1", "js1"), "namespace": "team-a", **fields}


@pytest.mark.parametrize("controller", ["TrainJob", "JobSet", ""])
@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_a_workload_and_a_podgroup_of_two_owners_are_in_one_gang(
    controller: str, first: int
) -> None:
    workload = a_workload("run", quorum=NODES, **of_both(controller=controller))
    words = of_both(controller=controller, workload_name="run", template_name="run-pgt-0")
    group = a_group("run-trainer-x", quorum=NODES, **words)
    objects: list[Owner | Group] = [workload, group, trainjob(), jobset(), job()]
    graph = OwnershipGraph()
    for obj in (*objects[first:], *objects[:first]):
        graph.put(obj)
    assert graph.roots() == {"t1"}
    uids = {obj.meta.ref.uid for obj in objects}
    assert set(graph.members("t1")) == uids
    assert [graph.gangs_of(uid) for uid in sorted(uids)] == [{"t1"}] * len(uids)


def test_a_podgroup_of_two_owners_is_counted_once() -> None:
    group = a_group("ring", quorum=NODES, **of_both(controller="TrainJob"))
    pods = [replace(pod(n, ready=True), group_name="ring") for n in range(NODES)]
    message = verdict(jobset(), job(), group, *pods)
    assert (message.finding.code, message.members.quorum, message.members.desired) == (
        "running",
        NODES,
        NODES,
    )
    assert [ref.name for ref in message.groups] == ["ring"]
