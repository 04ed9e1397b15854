"""`queue-evaluating`."""

from gangboard.domain.health import Health
from gangboard.domain.queue import QueueEntry
from tests.diagnosis.building import (
    a_condition,
    a_job,
    a_jobset,
    a_pod,
    ago,
    an_entry,
    child_jobs,
    facts_of,
)
from tests.rules.asking import ask_gang, first_gang, found_gang


def test_a_queue_holds_it() -> None:
    suspended = a_condition("Suspended", reason="SuspendedJobs", since=ago(300))
    jobset = a_jobset(suspended=True, queue="gpu-lq", conditions=(suspended,))
    facts = facts_of(jobset, *child_jobs(jobset, suspended=True))
    finding = found_gang("queue-evaluating", facts)
    assert finding.health is Health.WAITING
    assert finding.message == "Queue gpu-lq has not admitted it yet."
    assert finding.since == ago(300)
    assert first_gang(facts) == "queue-evaluating"


def test_pods_of_an_evicted_gang_still_leave() -> None:
    jobset = a_jobset(suspended=True, queue="gpu-lq")
    leaving = a_pod("run-workers-0-0", on="n0", deleting_since=ago(3))
    finding = found_gang("queue-evaluating", facts_of(jobset, leaving))
    assert finding.message == ("Queue gpu-lq has not admitted it yet. 1 pod still terminates.")


def test_without_a_queue_it_is_suspended_by_hand() -> None:
    assert first_gang(facts_of(a_jobset(suspended=True))) == "suspended"


def test_admitted_with_every_job_held_is_suspended() -> None:
    jobset = a_jobset(queue="gpu-lq")
    assert first_gang(facts_of(jobset, *child_jobs(jobset, suspended=True))) == "suspended"


def test_admitted() -> None:
    assert ask_gang("queue-evaluating", facts_of(a_jobset(queue="gpu-lq"))) is None


def suspended_job(*entries: QueueEntry, sight: str = "") -> str:
    job = a_job("train", suspended=True, queue="lq")
    facts = facts_of(job, *entries, queue_sight=sight)
    finding = found_gang("queue-evaluating", facts)
    assert (finding.code, finding.health) == ("queue-evaluating", Health.WAITING)
    assert first_gang(facts) == "queue-evaluating"
    return finding.message


JOB = a_job("train")


def test_admitted_and_not_resumed_yet() -> None:
    entry = an_entry(JOB, queue="lq", admitted=True)
    message = "Queue lq has admitted it, and Kueue has not resumed it yet."
    assert suspended_job(entry, sight="served") == message
    assert suspended_job(entry) == message


def test_an_entry_that_is_over_or_of_another_admits_nothing() -> None:
    over = an_entry(JOB, admitted=True, conditions=(a_condition("Finished"),))
    other = an_entry(a_job("other"), admitted=True)
    assert suspended_job(over, other) == "Queue lq has not admitted it yet."
    assert suspended_job(an_entry(JOB), sight="served") == "Queue lq has not admitted it yet."


def test_kueue_has_made_no_workload_for_it() -> None:
    assert suspended_job(sight="served") == (
        "Queue lq has not admitted it yet: Kueue has made no Workload for it."
    )


def test_nobody_is_there_who_admits() -> None:
    assert suspended_job(sight="not-served") == (
        "Job train carries the queue label lq, and this cluster serves no Kueue Workloads: nobody "
        "admits it."
    )
