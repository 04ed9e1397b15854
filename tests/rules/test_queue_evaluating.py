"""`queue-evaluating`."""

from gangboard.domain.health import Health
from tests.diagnosis.building import a_condition, a_jobset, a_pod, ago, child_jobs, facts_of
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
