"""`termination-stuck`: a pod that a silent node keeps, and its near misses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.health import Health, Stage
from gangboard.domain.node import Node
from gangboard.domain.objects import Controller
from gangboard.domain.verdict import Verdict
from tests.domain_objects import (
    NOW,
    Made,
    a_condition,
    a_group,
    a_hold,
    a_job,
    a_jobset,
    a_node,
    a_pod,
    a_role,
    ago,
    an_event,
    child_jobs,
    pods_of,
)
from tests.gangs import assemble
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of, whole_memory
from tests.sentence_values import values_in

SILENT = a_node("n1", ready=None)


def judged(root: Any, *objects: Any, **fields: Any) -> Verdict:
    nodes = {obj.meta.ref.name: obj for obj in objects if isinstance(obj, Node)}
    members = [obj for obj in objects if not isinstance(obj, Node)]
    defaults = {"now": NOW, "nodes": nodes, "gang_api_version": "v1beta1", **fields}
    return assess(assemble(root, members, **defaults))


def kept(name: str, of: Made | Controller | None, *, past: float = 60, **fields: Any) -> Made:
    """A pod on node n1 whose grace period ended so many seconds ago."""
    values = {"on": "n1", "ready": False, "deleting_since": ago(past), "grace_seconds": 30}
    return a_pod(name, of=of, **{**values, **fields})


def waiting_job(**fields: Any) -> Any:
    return a_job(
        "train", **{"pods": 4, "created_at": ago(900), "waits_for_terminating": True, **fields}
    )


def three_and(*objects: Made, job: Any = None, **fields: Any) -> Any:
    """Three of four members run on n0, and the fourth is among the objects."""
    job = job or waiting_job()
    others = pods_of(job, 3, on="n0")
    fields = {"memory": whole_memory(), **fields}
    return unit_of(job, *others, a_node("n0"), *objects, **fields)


def test_the_job_waits_for_a_pod_that_a_silent_node_keeps() -> None:
    job = waiting_job()
    finding = require_finding(
        "termination-stuck", three_and(kept("train-3", job, index=3), SILENT, job=job)
    )
    assert (finding.health, finding.stage) == (Health.BLOCKED, Stage.FORMATION)
    assert finding.message == (
        "3 of 4 members run: Job train waits for pod train-3, which should have ended by 2026-11-21 11:59 UTC. "
        "Node n1 has not reported since 2026-11-21 11:59 UTC, so the pod does not end by itself."
    )
    assert finding.since == ago(60)
    assert [(item.label, item.value) for item in finding.evidence] == [
        ("Ready", "Unknown"),
        ("metadata.deletionTimestamp", ago(60).isoformat()),
        ("spec.podReplacementPolicy", "Failed"),
    ]


def test_the_steps_come_by_their_harm() -> None:
    """Pods of a StatefulSet: it has no finalizer on them."""
    maker = Controller("apps", "StatefulSet", "run-0", "uid-run-0")
    unit = unit_of(waiting_job(pods=1), kept("run-0-1", maker), SILENT, jobs=())
    back, off, force = require_finding("termination-stuck", unit).advice
    assert back.text == "Bring node n1 back: its kubelet ends its pods."
    assert back.command == ()
    assert off.text.startswith("If node n1 is off, taint it with node.kubernetes.io/out-of-service")
    taint = "kubectl taint nodes n1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
    assert off.command == tuple(taint.split())
    assert "may still run on n1" in force.text
    delete = "kubectl delete pod -n team-a run-0-1 --grace-period=0 --force"
    assert force.command == tuple(delete.split())


def test_force_deletion_does_not_end_a_pod_that_must_fail() -> None:
    """The Job's finalizer stays until the pod is Failed (observed on 1.37.0)."""
    job = waiting_job()
    pod = kept("train-3", job, index=3)
    finding = require_finding("termination-stuck", three_and(pod, SILENT, job=job))
    assert len(finding.advice) == 2
    assert "force" not in " ".join(finding.advice_texts)


def test_several_pods_on_several_nodes() -> None:
    job = waiting_job()
    pods = [kept(f"train-{n}", job, index=n, on=f"n{n}", past=10 + 30 * n) for n in (1, 2)]
    unit = unit_of(job, *pods, *(a_node(f"n{n}", ready=None) for n in (1, 2)))
    finding = require_finding("termination-stuck", unit)
    assert finding.message.startswith("Job train waits for pods train-1 and train-2, which ")
    assert "Nodes n1 and n2 have not reported" in finding.message
    assert finding.since == ago(70)
    assert [step.command for step in finding.advice] == [(), ()]


def test_a_node_that_reports_that_it_is_not_ready() -> None:
    """Its kubelet lives, so nobody knows that the pod stays."""
    job = waiting_job()
    finding = require_finding(
        "termination-stuck",
        three_and(kept("train-3", job, index=3), a_node("n1", ready=False), job=job),
    )
    assert "Node n1 is NotReady since" in finding.message
    assert "by itself" not in finding.message


def test_it_comes_before_the_lost_node() -> None:
    job = waiting_job()
    pod = kept("train-3", job, index=3)
    assert first_code(three_and(pod, SILENT, job=job)) == "termination-stuck"
    assert (
        first_code(three_and(kept("train-3", job, index=3, past=29), SILENT, job=job))
        == "node-lost"
    )
    assert first_code(three_and(pod, a_node("n1"), job=job)) == "lost-members"


def test_the_verdict_is_due_when_the_grace_period_is_over() -> None:
    """30 s after the end of the grace period, which lasts ten more minutes."""
    job = waiting_job(pods=1)
    verdict = judged(job, kept("train-0", job, index=0, past=-600), SILENT)
    assert verdict.finding.code == "pods-not-created"
    assert verdict.finding.health is Health.STARTING
    assert verdict.recheck_at == ago(-630)
    assert (
        judged(job, kept("train-0", job, index=0, past=30), SILENT).finding.code
        == "termination-stuck"
    )


def test_a_job_that_replaces_terminating_pods_does_not_wait() -> None:
    """Its replacement waits for a back-off, not for the old pod."""
    job = waiting_job(waits_for_terminating=False)
    assert first_code(three_and(kept("train-3", job, index=3), SILENT, job=job)) == "node-lost"


def test_a_member_that_was_replaced() -> None:
    job = waiting_job(waits_for_terminating=False)
    old = kept("train-3-old", job, index=3)
    new = a_pod("train-3-new", of=job, index=3, on="n0")
    assert first_code(three_and(old, new, SILENT, job=job)) == "running"


def test_another_seat_is_open() -> None:
    """The stuck pod has its successor. What is missing is another member."""
    job = waiting_job()
    old, new = kept("train-2-old", job, index=2), a_pod("train-3-new", of=job, index=3, on="n0")
    unit = unit_of(job, old, SILENT, *pods_of(job, 3, on="n0"), a_node("n0"), memory=whole_memory())
    assert evaluate("termination-stuck", unit) is None
    assert evaluate("termination-stuck", three_and(old, new, SILENT, job=job)) is None


@pytest.mark.parametrize(
    "node", [a_node("n1"), a_node("n9", ready=None)], ids=["works", "does not exist"]
)
def test_a_node_that_ends_its_pods(node: Node) -> None:
    """The kubelet is late or a finalizer keeps the pod; pods of a deleted node are collected."""
    job = waiting_job(pods=1)
    unit = unit_of(job, kept("train-0", job, index=0, past=121), node)
    assert evaluate("termination-stuck", unit) is None
    finding = require_finding("pods-not-created", unit)
    assert finding.health is Health.BLOCKED
    assert finding.advice_texts == (
        "Find what keeps pod train-0: its kubelet, or a finalizer (metadata.finalizers).",
    )


def test_nodes_that_cannot_be_read_are_not_blamed() -> None:
    job = waiting_job(pods=1)
    unit = unit_of(job, kept("train-0", job, index=0), SILENT, facts={"nodes_known": False})
    assert first_code(unit) == "pods-not-created"


def test_a_gang_with_its_quorum_runs_on() -> None:
    job = waiting_job(group_name="ring")
    pod = kept("train-3", job, index=3, group="ring")
    unit = three_and(pod, SILENT, a_group("ring", quorum=3), job=job)
    assert first_code(unit) == "below-size"
    finding = require_finding("below-size", unit)
    assert [text for text in finding.advice_texts if "Bring node n1 back" in text]
    assert ("Ready", "Unknown") in [(item.label, item.value) for item in finding.evidence]
    assert (
        first_code(three_and(pod, SILENT, a_group("ring", quorum=4), job=job))
        == "termination-stuck"
    )


def test_a_refused_replacement_is_another_reason() -> None:
    job = waiting_job(pods=2)
    unit = unit_of(
        job, kept("train-0", job, index=0), SILENT, an_event(job, "FailedCreate", texts.QUOTA)
    )
    assert first_code(unit) == "pod-creation-refused"


def test_a_failing_child_job_ends_only_after_its_pods() -> None:
    """Its JobSet restarts nothing before that (jobset#576), whatever the Job replaces."""
    jobset = a_jobset("run", a_role("w", pods=2), max_restarts=3, created_at=ago(900))
    (job,) = child_jobs(jobset, ending="BackoffLimitExceeded", created_at=ago(900))
    finding = judged(jobset, job, kept("run-w-0-1", job, index=1), SILENT).finding
    assert finding.code == "termination-stuck"
    assert finding.message.startswith("Job run-w-0 is failing and waits for pod run-w-0-1, which ")
    early = judged(jobset, job, kept("run-w-0-1", job, index=1, past=0), SILENT)
    assert (early.finding.code, early.recheck_at) == ("restarting", ago(-30))
    done = replace(job, ending="SuccessPolicy")
    verdict = judged(jobset, done, kept("run-w-0-1", done, index=1), SILENT)
    assert verdict.finding.code != "termination-stuck"


def test_a_failing_job_has_failed() -> None:
    """Its run is over. Only its end is reported late, and its node stays taken."""
    job = waiting_job(pods=2, ending="BackoffLimitExceeded", waits_for_terminating=False)
    finding = judged(job, kept("train-0", job, index=0), SILENT).finding
    assert (finding.code, finding.health) == ("failed", Health.FAILED)
    assert "Node n1 has not reported" in finding.message
    assert [text for text in finding.advice_texts if "force-delete pod train-0" in text]
    early = judged(job, kept("train-0", job, index=0, past=0), SILENT)
    assert (early.finding.advice, early.recheck_at) == ((), ago(-30))


def test_a_controller_that_gives_fixed_names_waits() -> None:
    """A worker StatefulSet of a LeaderWorkerSet creates no pod while one of the same name exists."""
    group = a_group("ring", quorum=2)
    maker = Controller("apps", "StatefulSet", "run-0", "uid-run-0")
    leader = a_pod("run-0", group=group, on="n0")
    worker = kept("run-0-1", maker, group=group)
    unit = unit_of(waiting_job(pods=2), group, leader, worker, SILENT, a_node("n0"), jobs=())
    finding = require_finding("termination-stuck", unit)
    assert values_in(finding.message).startswith("1 2 run-0 run-0-1")
    assert "StatefulSet run-0 waits for pod run-0-1" in finding.message


def test_pods_without_a_controller_have_no_successor() -> None:
    group = a_group("ring", quorum=2)
    unit = unit_of(waiting_job(pods=2), group, kept("a", None, group=group), SILENT, jobs=())
    assert evaluate("termination-stuck", unit) is None


# Owners that restart


def restarting(*extra: Any, past: float = 60, node: Node = SILENT, **fields: Any) -> Verdict:
    """A JobSet in its second attempt. The second Job of the first attempt exists with a pod on n1."""
    jobset = a_jobset(
        "run", a_role("w", jobs=2, pods=1), restarts=1, max_restarts=3, created_at=ago(900)
    )
    new, _ = child_jobs(jobset, created_at=ago(200))
    old = a_job(
        "run-w-1", of=jobset, pods=1, role_name="w", attempt="0", uid="uid-old",
        deleting_since=ago(200), **fields,
    )  # fmt: skip
    pods = (a_pod("run-w-0-0", of=new, on="n0"), kept("run-w-1-0", old, past=past))
    return judged(jobset, new, old, *pods, a_node("n0"), node, *extra)


def test_a_jobset_waits_for_the_pods_of_its_former_job() -> None:
    finding = restarting().finding
    assert (finding.code, finding.health) == ("termination-stuck", Health.BLOCKED)
    assert "JobSet run waits for pod run-w-1-0" in finding.message
    assert finding.unit == "run-w-1"


def test_a_former_job_in_its_grace_period() -> None:
    """Nobody starts a controller because pods take an hour to end."""
    verdict = restarting(past=-3000)
    assert [item for item in verdict.findings if item.health is Health.BLOCKED] == []
    assert verdict.recheck_at is not None
    assert verdict.recheck_at <= ago(-3030)


def test_a_former_job_that_a_finalizer_keeps() -> None:
    finding = restarting(past=300, node=a_node("n1")).finding
    assert (finding.code, finding.health) == ("pods-not-created", Health.BLOCKED)
    assert finding.advice_texts == (
        "Find what keeps pod run-w-1-0: its kubelet, or a finalizer (metadata.finalizers).",
    )


def test_a_jobset_that_waits_for_all_former_jobs() -> None:
    """With BlockingRecreate no new Job exists before the last old one is gone."""
    jobset = a_jobset("run", a_role("w", jobs=2, pods=1), restarts=1, max_restarts=3)
    old = a_job("run-w-1", of=jobset, pods=1, role_name="w", attempt="0", uid="uid-old")
    verdict = judged(jobset, old, kept("run-w-1-0", old), SILENT)
    assert [item.code for item in verdict.findings] == ["termination-stuck"]


def test_a_deleted_child_job_is_made_again_after_its_pods() -> None:
    jobset = a_jobset("run", a_role("w", jobs=1, pods=1), created_at=ago(900))
    (job,) = child_jobs(jobset, deleting_since=ago(100))
    finding = judged(jobset, job, kept("run-w-0-0", job), SILENT).finding
    assert finding.code == "termination-stuck"
    assert finding.message.startswith("JobSet run waits for pod run-w-0-0")


# Gangs that do not want the pods back


def test_a_gang_that_is_deleted_says_so() -> None:
    job = waiting_job(pods=1, deleting_since=ago(400))
    finding = judged(job, kept("train-0", job, index=0, past=300), SILENT).finding
    assert (finding.code, finding.health) == ("being-deleted", Health.BLOCKED)
    assert finding.advice_texts[0] == "Bring node n1 back: its kubelet ends its pods."


def test_a_suspended_gang_whose_pods_a_node_keeps() -> None:
    """It is suspended on purpose. Its node stays taken, and a resume can wait for the pod."""
    suspended = a_condition("Suspended", reason="JobSuspended")
    job = waiting_job(pods=1, suspended=True, conditions=(suspended,))
    verdict = judged(job, kept("train-0", job, index=0), SILENT)
    finding = verdict.finding
    assert (finding.code, finding.health) == ("suspended", Health.SUSPENDED)
    assert "Node n1 has not reported" in finding.message
    assert finding.advice[0].text.startswith("Bring node n1 back")
    early = judged(job, kept("train-0", job, index=0, past=0), SILENT)
    assert (early.finding.advice, early.recheck_at) == ((), ago(-30))


def test_a_held_job_whose_pods_a_node_keeps() -> None:
    """The other Job runs, and everything that is not suspended is whole."""
    jobset = a_jobset("run", a_role("w", jobs=2, pods=1), created_at=ago(900))
    held, other = child_jobs(jobset)
    held = replace(held, suspended=True)
    pods = (kept("run-w-0-0", held), a_pod("run-w-1-0", of=other, on="n0"))
    finding = judged(jobset, held, other, *pods, a_hold(held), SILENT, a_node("n0")).finding
    assert (finding.code, finding.health) == ("job-suspended", Health.SUSPENDED)
    assert "Node n1 has not reported" in finding.message
    assert [text for text in finding.advice_texts if "force-delete pod run-w-0-0" in text]


# Nodes that work


def test_a_lost_member_that_a_finalizer_keeps() -> None:
    job = waiting_job()
    unit = three_and(kept("train-3", job, index=3, past=121), a_node("n1"), job=job)
    finding = require_finding("lost-members", unit)
    assert finding.advice_texts == (
        "Find what keeps pod train-3: its kubelet, or a finalizer (metadata.finalizers).",
    )
    early = three_and(kept("train-3", job, index=3, past=119), a_node("n1"), job=job)
    assert require_finding("lost-members", early).advice == ()


def test_a_gang_whose_old_pods_count_for_its_quorum_does_not_start() -> None:
    """The scheduler counts terminating pods. The Job creates the new ones only when these are gone."""
    job = waiting_job(pods=2, group_name="ring")
    group = a_group("ring", quorum=2)
    pods = [kept(f"train-{n}", job, index=n, group=group, past=121) for n in range(2)]
    finding = judged(job, group, *pods, a_node("n1")).finding
    assert (finding.code, finding.health) == ("pods-not-created", Health.BLOCKED)
    assert finding.advice_texts[0].startswith("Find what keeps pods train-0 and train-1")
    pods = [kept(f"train-{n}", job, index=n, group=group, past=0) for n in range(2)]
    verdict = judged(job, group, *pods, a_node("n1"))
    assert (verdict.finding.health, verdict.recheck_at) == (Health.STARTING, ago(-120))


def test_an_unknown_controller_may_never_replace_its_pods() -> None:
    group = a_group("ring", quorum=2)
    maker = Controller("workflows.example", "Workflow", "steps", "uid-steps")
    pods = (a_pod("a", group=group, on="n0", of=maker), kept("b", maker, group=group))
    unit = unit_of(waiting_job(pods=2), group, *pods, SILENT, a_node("n0"), jobs=())
    assert evaluate("termination-stuck", unit) is None
