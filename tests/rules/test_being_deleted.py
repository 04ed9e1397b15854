"""`being-deleted`: deletions in progress, and objects that should be gone."""

from __future__ import annotations

from typing import Any

from gangboard.diagnosis.engine import assess
from gangboard.domain.health import Health, Stage
from gangboard.domain.node import Node
from gangboard.domain.verdict import Finding, Verdict
from tests.domain_objects import (
    NOW,
    Made,
    a_group,
    a_job,
    a_jobset,
    a_node,
    a_pod,
    ago,
    child_jobs,
    pods_of,
    succeeded,
)
from tests.gangs import assemble
from tests.sentence_values import values_in


def judged(root: Any, *objects: Any, **fields: Any) -> Verdict:
    nodes = {obj.meta.ref.name: obj for obj in objects if isinstance(obj, Node)}
    members = [obj for obj in objects if not isinstance(obj, Node)]
    defaults = {"now": NOW, "nodes": nodes, "gang_api_version": "v1beta1", **fields}
    return assess(assemble(root, members, **defaults))


def deletion_finding(root: Any, *objects: Any, **fields: Any) -> Finding:
    finding = judged(root, *objects, **fields).finding
    assert (finding.code, finding.stage) == ("being-deleted", Stage.ADMISSION)
    return finding


def leaving(name: str = "web-5f-abc", *, left: float = 20, grace: int = 30, **fields: Any) -> Made:
    """A pod whose time to end is over in so many seconds."""
    defaults = {"deleting_since": ago(-left), "grace_seconds": grace, "on": "n1", **fields}
    return a_pod(name, **defaults)


def test_pods_of_a_deployment_being_deleted() -> None:
    finding = deletion_finding(leaving())
    assert finding.health is Health.SUSPENDED
    assert finding.message == "Pod web-5f-abc is being deleted."
    assert finding.since == ago(10)
    assert finding.recheck_at == ago(-140)
    assert finding.advice_texts == ()


def test_a_time_to_end_that_no_calendar_has() -> None:
    finding = deletion_finding(leaving(grace=2**62))
    assert finding.message == "Pod web-5f-abc is being deleted."


def test_pods_stopped_by_a_deletion_are_not_failures() -> None:
    """The kubelet calls a pod Failed whose containers it has stopped; a finalizer can keep it then."""
    pod = leaving("solo", left=-300, phase="Failed")
    finding = deletion_finding(pod)
    assert finding.health is Health.BLOCKED
    assert finding.message == "Pod solo is being deleted and should be gone."
    assert "finalizer" in finding.advice_texts[0]
    group = a_group("ring", quorum=2)
    pods = [leaving(f"m-{index}", phase="Failed", group=group) for index in range(2)]
    assert deletion_finding(group, *pods).message == "All pods of PodGroup ring are being deleted."


def test_a_node_that_is_silent_holds_it() -> None:
    finding = deletion_finding(leaving(), a_node("n1", ready=None))
    assert finding.health is Health.SUSPENDED
    assert values_in(finding.message) == "web-5f-abc n1"


def test_deletion_is_stuck_two_minutes_after_the_grace_period() -> None:
    silent = a_node("n1", ready=None)
    assert deletion_finding(leaving(left=-119), silent).health is Health.SUSPENDED
    finding = deletion_finding(leaving(left=-120), silent)
    assert (finding.health, finding.recheck_at) == (Health.BLOCKED, None)
    assert finding.advice_texts[0] == "Bring node n1 back: its kubelet ends its pods."
    assert finding.advice_texts[1].startswith("If node n1 is off, taint it")
    assert "force-delete pod web-5f-abc" in finding.advice_texts[2]
    assert [(item.label, item.value) for item in finding.evidence] == [
        ("metadata.deletionTimestamp", ago(120).isoformat()),
        ("Ready", "Unknown"),
    ]


def test_a_pod_that_stays_on_a_node_that_works() -> None:
    finding = deletion_finding(leaving(left=-300), a_node("n1"))
    assert finding.health is Health.BLOCKED
    assert finding.message == "Pod web-5f-abc is being deleted and should be gone."
    assert finding.advice_texts == (
        "Find what keeps pod web-5f-abc: its kubelet, or a finalizer (metadata.finalizers).",
    )


def test_unobserved_nodes_are_not_blamed() -> None:
    assert (
        "NotReady"
        not in deletion_finding(leaving(), a_node("n1", ready=None), nodes_known=False).message
    )


def test_a_job_is_deleted_with_its_pods() -> None:
    """For ten minutes: its pods have an hour to end."""
    job = a_job("train", deleting_since=ago(600), created_at=ago(9000))
    pods = [leaving(f"train-{n}", of=job, left=3000, grace=3600) for n in range(2)]
    finding = deletion_finding(job, *pods)
    assert finding.health is Health.SUSPENDED
    assert finding.message == "Job train is being deleted; 2 pods still terminate."
    assert (finding.since, finding.advice_texts) == (ago(600), ())


def test_a_jobset_without_jobs_is_being_deleted() -> None:
    jobset = a_jobset("run", deleting_since=ago(30), created_at=ago(9000))
    finding = deletion_finding(jobset)
    assert finding.health is Health.SUSPENDED
    assert finding.message == "JobSet run is being deleted."
    stuck = deletion_finding(a_jobset("run", deleting_since=ago(600), created_at=ago(9000)))
    assert stuck.health is Health.BLOCKED
    assert stuck.message == "JobSet run is being deleted and should be gone."
    assert stuck.advice_texts == (
        "See which finalizer keeps JobSet run (metadata.finalizers): whoever set it has to remove "
        "it.",
    )


def test_a_suspended_jobset_is_being_deleted() -> None:
    jobset = a_jobset("run", suspended=True, deleting_since=ago(30))
    assert deletion_finding(jobset, *child_jobs(jobset, suspended=True)).health is Health.SUSPENDED


def test_pods_run_on_while_their_job_is_deleted() -> None:
    """A foreign finalizer: the garbage collector deletes the pods only after it is removed."""
    job = a_job("train", deleting_since=ago(600), created_at=ago(9000))
    finding = deletion_finding(job, *pods_of(job, 2, on="n0"))
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "Job train is being deleted and should be gone; 2 pods are still there."
    )
    assert finding.advice_texts[0].startswith("See which finalizer keeps Job train")


def test_one_silent_node_of_several_is_named() -> None:
    job = a_job("train", deleting_since=ago(200), created_at=ago(9000))
    pods = [leaving(f"train-{n}", of=job, left=-170, on=f"n{n}") for n in range(2)]
    finding = deletion_finding(job, *pods, a_node("n0"), a_node("n1", ready=None))
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "2 n1"


def test_all_pods_of_a_bare_group() -> None:
    group = a_group("ring", quorum=2)
    pods = [leaving(f"ring-{n}", group=group) for n in range(2)]
    finding = deletion_finding(group, *pods)
    assert finding.health is Health.SUSPENDED
    assert values_in(finding.message) == "2"
    assert finding.since == ago(10)


def test_a_bare_group_of_which_a_member_stays() -> None:
    group = a_group("ring", quorum=2)
    verdict = judged(group, leaving("ring-0", group=group), a_pod("ring-1", group=group, on="n0"))
    assert verdict.finding.code != "being-deleted"


def test_a_terminating_group_has_its_own_reason() -> None:
    """Its finalizer keeps it for as long as they wait."""
    group = a_group("ring", quorum=2, deleting_since=ago(600))
    waiting = [a_pod(f"ring-{n}", group=group) for n in range(2)]
    assert judged(group, *waiting).finding.code == "podgroup-terminating"
    running = [a_pod(f"ring-{n}", group=group, on="n0") for n in range(2)]
    assert judged(group, *running).finding.code == "running"


def test_a_finished_owner_stays_finished() -> None:
    job = a_job("train", deleting_since=ago(5), finish=succeeded())
    assert judged(job).finding.code == "succeeded"


def test_a_pod_that_a_job_replaces_is_no_end_of_the_job() -> None:
    job = a_job("train", created_at=ago(900))
    verdict = judged(job, leaving("train-0", of=job), leaving("train-1", of=job))
    assert verdict.finding.code == "pods-not-created"
