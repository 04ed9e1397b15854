"""`failed`."""

from dataclasses import replace

from gangboard.domain.health import Health
from gangboard.domain.pod import Pod
from tests.domain_objects import (
    a_container,
    a_job,
    a_jobset,
    a_pod,
    ago,
    child_jobs,
    facts_of,
    failed,
    succeeded,
)
from tests.rules import texts
from tests.rules.evaluation import evaluate_gang, first_gang_code, require_gang_finding
from tests.sentence_values import values_in


def crashed(name: str, code: int = 1, reason: str = "Error") -> Pod:
    state = a_container("main", running=False, state="terminated", exit_code=code, reason=reason)
    return a_pod(name, on="n0", phase="Failed", ready=None, containers=(state,))


def test_a_job_has_failed() -> None:
    job = a_job("train", finish=failed("BackoffLimitExceeded", texts.BACKOFF_LIMIT))
    pods = [crashed("train-0"), crashed("train-1")]
    finding = require_gang_finding("failed", facts_of(job, *pods))
    assert finding.health is Health.FAILED
    assert values_in(finding.message) == "1 2"
    assert finding.since == ago(60)


def test_a_jobset_names_the_job_behind_it() -> None:
    jobset = a_jobset("run", finish=failed("FailedJobs", texts.JOBSET_FAILED))
    (job,) = child_jobs(jobset, finish=failed("BackoffLimitExceeded", texts.BACKOFF_LIMIT))
    killed = crashed("run-workers-0-0", 137, "OOMKilled")
    finding = require_gang_finding("failed", facts_of(jobset, job, killed))
    assert finding.message == (
        "Container main exited 137 (OOMKilled) in 1 pod; Job run-workers-0 has no retries left."
    )
    assert [(item.label, item.value.partition(":")[0]) for item in finding.evidence] == [
        ("reason", "FailedJobs"),
        ("failed Job", "BackoffLimitExceeded"),
    ]


def test_the_job_controller_explains_a_failure_without_exit_code() -> None:
    jobset = a_jobset("run", finish=failed("FailedJobs", texts.JOBSET_FAILED))
    (job,) = child_jobs(jobset, finish=failed("BackoffLimitExceeded", texts.BACKOFF_LIMIT))
    assert require_gang_finding("failed", facts_of(jobset, job)).message == (
        "Job run-workers-0 failed (BackoffLimitExceeded): Job has reached the specified backoff limit."
    )


def test_a_job_that_announces_its_failure() -> None:
    job = a_job("train", ending="PodFailurePolicy")
    leaving = a_pod("train-0", of=job, on="n0", deleting_since=ago(3))
    finding = require_gang_finding("failed", facts_of(job, leaving))
    assert values_in(finding.message) == "1"


def test_unfinished_and_succeeded_jobs_have_not_failed() -> None:
    assert evaluate_gang("failed", facts_of(a_job())) is None
    assert first_gang_code(facts_of(a_job(finish=succeeded()))) == "succeeded"
    assert first_gang_code(facts_of(a_job(ending="SuccessPolicy"))) == "succeeded"


def test_a_failed_child_is_not_a_failed_owner() -> None:
    jobset = a_jobset("run", max_restarts=3)
    (job,) = child_jobs(jobset, finish=failed())
    assert first_gang_code(facts_of(jobset, job)) == ""


def test_the_command_that_shows_why() -> None:
    job = a_job("train", finish=failed("BackoffLimitExceeded", texts.BACKOFF_LIMIT))
    assert require_gang_finding(
        "failed", facts_of(job, crashed("train-0"), crashed("train-1"))
    ).advice_texts == ("Read what it wrote last: kubectl logs -n team-a train-0 -c main",)
    killed = crashed("train-0", 137, "OOMKilled")
    assert require_gang_finding("failed", facts_of(job, killed)).advice_texts == (
        "Give container main more memory, or let it use less (needs re-creating).",
    )


def test_a_failure_without_evidence() -> None:
    """The pods are gone, or left with their node or for others."""
    job = a_job("train", finish=failed("BackoffLimitExceeded", texts.BACKOFF_LIMIT))
    assert require_gang_finding("failed", facts_of(job)).advice_texts == ()
    evicted = replace(crashed("train-0", 137, "ContainerStatusUnknown"), reason="Evicted")
    assert require_gang_finding("failed", facts_of(job, evicted)).advice_texts == ()
