"""`queue-evaluating`."""

from dataclasses import replace
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.health import Health
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry
from gangboard.domain.verdict import Evidence, Finding
from tests.domain_objects import (
    a_condition,
    a_group,
    a_hold,
    a_job,
    a_jobset,
    a_pod,
    a_role,
    ago,
    an_entry,
    child_jobs,
    facts_of,
    pods_of,
)
from tests.rules.evaluation import evaluate_gang, first_gang_code, require_gang_finding
from tests.sentence_values import values_in


def test_a_queue_holds_it() -> None:
    suspended = a_condition("Suspended", reason="SuspendedJobs", since=ago(300))
    jobset = a_jobset(suspended=True, queue="gpu-lq", conditions=(suspended,))
    facts = facts_of(jobset, *child_jobs(jobset, suspended=True), an_entry(jobset))
    finding = require_gang_finding("queue-evaluating", facts)
    assert finding.health is Health.WAITING
    assert finding.message == "Queue gpu-lq has not admitted it yet."
    assert finding.since == ago(300)
    assert finding.advice_texts == ()
    assert first_gang_code(facts) == "queue-evaluating"


@pytest.mark.parametrize("queue", ["gpu-lq", ""])
def test_an_entry_holds_the_job_for_any_queue_label(queue: str) -> None:
    """Kueue with `manageJobsWithoutQueueName` makes a Workload for what names no queue."""
    jobset = a_jobset(suspended=True)
    jobs = child_jobs(jobset, suspended=True)
    facts = facts_of(jobset, *jobs, an_entry(jobset, queue=queue), queue_visibility="served")
    verdict = assess(facts)
    assert (verdict.finding.code, verdict.finding.health) == ("queue-evaluating", Health.WAITING)
    assert verdict.finding.message == (
        "Queue gpu-lq has not admitted it yet."
        if queue
        else "Kueue has not admitted it yet: it names no queue."
    )
    assert verdict.finding.advice_texts == ()


def test_pods_of_an_evicted_gang_still_leave() -> None:
    jobset = a_jobset(suspended=True, queue="gpu-lq")
    leaving = a_pod("run-workers-0-0", on="n0", deleting_since=ago(3))
    finding = require_gang_finding("queue-evaluating", facts_of(jobset, leaving, an_entry(jobset)))
    assert finding.message == ("Queue gpu-lq has not admitted it yet. 1 pod still terminates.")


def test_a_suspended_job_without_a_queue_was_suspended_by_hand() -> None:
    assert first_gang_code(facts_of(a_jobset(suspended=True))) == "suspended"


def test_admitted_with_every_job_held_is_suspended() -> None:
    jobset = a_jobset(queue="gpu-lq")
    assert first_gang_code(facts_of(jobset, *child_jobs(jobset, suspended=True))) == "suspended"


def test_an_admitted_jobset_is_not_evaluated() -> None:
    assert evaluate_gang("queue-evaluating", facts_of(a_jobset(queue="gpu-lq"))) is None


def suspended_job(
    *entries: QueueEntry, visibility: str = "", health: Health = Health.WAITING, **fields: Any
) -> Finding:
    job = a_job("train", suspended=True, queue="lq", **fields)
    facts = facts_of(job, *entries, queue_visibility=visibility)
    finding = require_gang_finding("queue-evaluating", facts)
    assert (finding.code, finding.health) == ("queue-evaluating", health)
    assert first_gang_code(facts) == "queue-evaluating"
    return finding


JOB = a_job("train")


def test_admitted_and_not_resumed_yet() -> None:
    entry = an_entry(JOB, queue="lq", admitted=True)
    message = "Queue lq has admitted it, and Kueue has not resumed it yet."
    assert suspended_job(entry, visibility="served").message == message
    assert suspended_job(entry).message == message


def test_finished_and_foreign_entries_admit_no_gang() -> None:
    over = an_entry(JOB, admitted=True, conditions=(a_condition("Finished", since=ago(60)),))
    other = an_entry(a_job("other"), admitted=True)
    message = "Queue lq has not admitted it yet: Kueue has created no Workload for it."
    assert suspended_job(over, other, visibility="served").message == message
    own = an_entry(JOB, queue="lq")
    assert suspended_job(own, visibility="served").message == "Queue lq has not admitted it yet."


def test_kueue_has_not_created_a_workload() -> None:
    """A running Kueue makes one at once, so after two minutes Kueue does not run."""
    young = suspended_job(visibility="served", created_at=ago(119))
    assert (
        young.message == "Queue lq has not admitted it yet: Kueue has created no Workload for it."
    )
    assert young.recheck_at == ago(-1)
    assert young.advice_texts == ()
    late = suspended_job(visibility="served", created_at=ago(120), health=Health.BLOCKED)
    assert late.message == (
        "Queue lq has not admitted it yet: Kueue has created no Workload for it in over 2 min."
    )
    assert late.recheck_at is None
    assert late.advice_texts == (
        (
            "Check that Kueue runs and manages Job train: it then creates a Workload, or an "
            "event says why not."
        ),
    )
    assert Evidence("Workload", "none", JOB.meta.ref) in late.evidence


def test_the_two_minutes_start_when_a_workload_could_exist() -> None:
    """Made long ago: it was suspended later, or its last Workload went later."""
    suspended = a_condition("Suspended", since=ago(100))
    assert suspended_job(visibility="served", conditions=(suspended,)).recheck_at == ago(-20)
    terminating = an_entry(JOB, deleting_since=ago(90))
    assert suspended_job(terminating, visibility="served").recheck_at == ago(-30)
    over = an_entry(JOB, conditions=(a_condition("Finished", since=ago(80)),))
    assert suspended_job(over, visibility="served").recheck_at == ago(-40)


def test_objects_of_an_owner_are_admitted_with_it() -> None:
    """A TrainJob is what Kueue admits, and its JobSet has no Workload (jobset-kueue.md §3.2)."""
    above = Controller("trainer.kubeflow.org", "TrainJob", "nightly", "uid-nightly")
    finding = suspended_job(visibility="served", of=above)
    assert (
        finding.message == "Queue lq has not admitted it yet: Kueue has created no Workload for it."
    )
    assert finding.recheck_at is None


def test_a_workload_without_conditions_is_pending_or_ignored() -> None:
    """Kueue writes no condition while others come first in a strict queue, so this proves nothing (§3.3)."""
    young = suspended_job(an_entry(JOB, queue="lq", conditions=(), created_at=ago(119)))
    assert young.message == "Queue lq has not admitted it yet."
    assert young.recheck_at == ago(-1)
    entry = an_entry(JOB, queue="lq", conditions=(), created_at=ago(120))
    late = suspended_job(entry)
    assert late.code == "queue-evaluating"
    assert (late.recheck_at, late.advice_texts) == (None, ())
    assert Evidence("status.conditions", "none", entry.meta.ref) in late.evidence
    tried = a_condition("QuotaReserved", "False", reason="Pending")
    reported = suspended_job(replace(entry, conditions=(tried,)))
    assert reported.message == "Queue lq has not admitted it yet."


def test_no_admission_controller_is_running() -> None:
    """Stored entries of an API that is no longer served admit no owner."""
    for left in ((), (an_entry(JOB, queue="lq", admitted=True),)):
        finding = suspended_job(*left, visibility="not-served", health=Health.BLOCKED)
        assert finding.message == (
            "Job train waits for queue lq, but this cluster serves no Kueue Workloads."
        )
        assert finding.advice_texts == (
            "Resume Job train to let it run.",
            "Install Kueue, which admits Job train, or remove its queue label.",
        )


def test_a_resume_that_a_controller_would_revert_is_not_advised() -> None:
    above = Controller("example.com", "Pipeline", "nightly", "uid-nightly")
    for fields in ({"of": above}, {"managed_by": "kueue.x-k8s.io/multikueue"}):
        finding = suspended_job(visibility="not-served", health=Health.BLOCKED, **fields)
        assert [text.partition(" ")[0] for text in finding.advice_texts] == ["Install"]


def test_unobserved_workloads_are_not_called_absent() -> None:
    finding = suspended_job(visibility="", health=Health.UNKNOWN)
    assert finding.message == (
        "Job train names queue lq, but its admission is unknown: the Workloads of Kueue "
        "cannot be read."
    )
    assert finding.advice_texts == ()


# Child Jobs with entries of their own

RUN = a_jobset("run", a_role("workers", jobs=2))


def queued(job: Owner, **entry: Any) -> tuple[Owner, QueueEntry]:
    return replace(job, suspended=True), an_entry(job, **entry)


def test_all_jobs_wait_in_queues_of_their_own() -> None:
    """Templates with a queue label give each child Job its own Workload (jobset-kueue.md §3.2)."""
    first, second = child_jobs(RUN)
    facts = facts_of(RUN, *queued(first), *queued(second), queue_visibility="served")
    verdict = assess(facts)
    assert [(finding.code, finding.health) for finding in verdict.findings] == [
        ("queue-evaluating", Health.WAITING)
    ]
    assert verdict.finding.message == (
        "Queue gpu-lq has not admitted Jobs run-workers-0 and run-workers-1 yet."
    )
    assert verdict.finding.title == "Waits in a queue"
    assert verdict.finding.advice_texts == ()


def test_a_queued_job_waits_while_another_runs() -> None:
    first, second = child_jobs(RUN)
    verdict = assess(facts_of(RUN, first, *queued(second), *pods_of(first, 2, on="n0")))
    assert (verdict.finding.code, verdict.finding.health) == ("queue-evaluating", Health.WAITING)
    assert verdict.finding.message == "Queue gpu-lq has not admitted Job run-workers-1 yet."
    assert "job-suspended" not in [finding.code for finding in verdict.findings]


def test_a_queued_job_waits_while_another_is_held() -> None:
    """The held one is suspended on purpose: no queue lets it run, also when that admits it."""
    first, second = child_jobs(RUN)
    held, entry = queued(second)
    facts = facts_of(RUN, *queued(first, queue="a"), held, entry, a_hold(held))
    verdict = assess(facts)
    codes = [(finding.code, finding.health) for finding in verdict.findings]
    assert codes == [
        ("queue-evaluating", Health.WAITING),
        ("job-suspended", Health.SUSPENDED),
    ]
    assert verdict.finding.message == "Queue a has not admitted Job run-workers-0 yet."
    assert verdict.findings[1].message == (
        "1 of 2 Jobs is suspended: run-workers-1 (held by alice since 2026-11-21 11:55 UTC: disk of n3)."
    )


def test_queued_jobs_share_a_finding() -> None:
    jobset = a_jobset("run", a_role("workers", jobs=6))
    objects = [obj for job in child_jobs(jobset) for obj in queued(job)]
    verdict = assess(facts_of(jobset, *objects))
    assert [finding.message for finding in verdict.findings] == [
        "Queue gpu-lq has not admitted Jobs run-workers-0, run-workers-1 and 4 more yet."
    ]


def test_jobs_of_several_queues_are_reported_together() -> None:
    first, two = child_jobs(RUN)
    young = replace(two.meta, created_at=ago(60))
    second = replace(two, suspended=True, queue="b", meta=young)
    facts = facts_of(RUN, *queued(first, queue="a"), second, queue_visibility="served")
    verdict = assess(facts)
    assert len(verdict.findings) == 1
    assert verdict.finding.message == (
        "Queue a has not admitted Job run-workers-0 yet. Queue b has not admitted Job "
        "run-workers-1 yet: Kueue has created no Workload for it."
    )


def test_a_job_without_a_workload_blocks_its_queued_siblings() -> None:
    first, two = child_jobs(RUN)
    second = replace(two, suspended=True, queue="b")
    verdict = assess(facts_of(RUN, *queued(first, queue="a"), second, queue_visibility="served"))
    assert [finding.health for finding in verdict.findings] == [Health.BLOCKED]
    assert values_in(verdict.finding.message) == "run-workers-0 run-workers-1 2"
    assert [text.partition(":")[0] for text in verdict.finding.advice_texts] == [
        "Check that Kueue runs and manages Job run-workers-1"
    ]


def test_jobs_with_due_times_are_reassessed_at_the_earliest() -> None:
    first, second = (
        replace(job, suspended=True, queue="b", meta=replace(job.meta, created_at=ago(age)))
        for job, age in zip(child_jobs(RUN), (30, 50), strict=True)
    )
    assert assess(facts_of(RUN, first, second, queue_visibility="served")).recheck_at == ago(-70)


def test_a_queue_label_without_a_responsible_controller() -> None:
    first, two = child_jobs(RUN)
    second = replace(two, suspended=True, queue="b")
    verdict = assess(facts_of(RUN, first, second, *pods_of(first, 2, on="n0"), queue_visibility=""))
    assert (verdict.finding.code, verdict.finding.health) == ("queue-evaluating", Health.UNKNOWN)
    assert values_in(verdict.finding.message) == "run-workers-1"


def test_jobs_no_queue_can_hold_were_suspended_by_a_user() -> None:
    """Without Kueue the JobSet controller resumes its Jobs: a label keeps none suspended."""
    first, two = child_jobs(RUN)
    second = replace(two, suspended=True, queue="b")
    facts = facts_of(RUN, first, second, *pods_of(first, 2, on="n0"), queue_visibility="not-served")
    assert assess(facts).finding.code == "job-suspended"


def test_jobs_of_an_owner_in_a_queue_are_admitted_with_it() -> None:
    """Kueue makes no Workload for the child Jobs of an owner that it manages (jobset-kueue.md §3.2)."""
    jobset = replace(RUN, queue="gpu-lq")
    jobs = child_jobs(jobset, suspended=True, queue="gpu-lq")
    entry = an_entry(jobset, admitted=True)
    assert (
        assess(facts_of(jobset, *jobs, entry, queue_visibility="served")).finding.code
        == "suspended"
    )


def test_a_group_that_a_queued_job_will_fill_is_not_lost() -> None:
    """Its pods are away until the queue admits them, not for ever."""
    first, second = child_jobs(RUN, group_name="ring")
    group = a_group("ring", quorum=4)
    waiting = pods_of(first, 2)
    facts = facts_of(RUN, first, *queued(second), group, *waiting)
    assert assess(facts).finding.code == "queue-evaluating"
    held = replace(second, suspended=True)
    assert assess(facts_of(RUN, first, held, group, *waiting)).finding.code == "quorum-lost"


def test_admitted_and_left_suspended() -> None:
    """Kueue resumes an admitted owner at once, so after two minutes something refuses the resume."""
    job = a_job("annotate", suspended=True, queue="lq")
    admitted: dict[str, Any] = {"queue": "lq", "admitted": True}
    young = require_gang_finding(
        "queue-evaluating", facts_of(job, an_entry(job, admitted_at=ago(119), **admitted))
    )
    assert (young.health, young.recheck_at, young.advice) == (Health.WAITING, ago(-1), ())
    late = require_gang_finding(
        "queue-evaluating", facts_of(job, an_entry(job, admitted_at=ago(120), **admitted))
    )
    assert (late.health, late.recheck_at) == (Health.BLOCKED, None)
    assert len(late.advice) == 1
    repeated = a_condition("Suspended", since=ago(30))
    stopped = a_job("annotate", suspended=True, queue="lq", conditions=(repeated,))
    entry = an_entry(stopped, admitted_at=ago(4000), **admitted)
    assert (
        require_gang_finding("queue-evaluating", facts_of(stopped, entry)).health is Health.WAITING
    )
