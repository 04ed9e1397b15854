"""`succeeded`."""

from gangboard.domain.health import Health
from tests.domain_objects import a_job, a_jobset, a_pod, ago, facts_of, failed, succeeded
from tests.rules.evaluation import first_gang_code, require_gang_finding
from tests.sentence_values import values_in


def test_the_controller_message_is_used() -> None:
    jobset = a_jobset(finish=succeeded("AllJobsCompleted", "jobset completed successfully"))
    finding = require_gang_finding("succeeded", facts_of(jobset))
    assert finding.health is Health.SUCCEEDED
    assert finding.code == "succeeded"
    assert finding.since == ago(60)


def test_a_success_without_a_message() -> None:
    finding = require_gang_finding("succeeded", facts_of(a_job(finish=succeeded("", ""))))
    assert finding.message == "The Job succeeded."
    assert finding.evidence == ()


def test_success_criteria_met_while_pods_leave() -> None:
    job = a_job("train", ending="SuccessPolicy")
    leaving = a_pod("train-1", of=job, on="n0", deleting_since=ago(3))
    finding = require_gang_finding("succeeded", facts_of(job, leaving))
    assert values_in(finding.message) == "1"


def test_failed_and_running_jobs_have_not_succeeded() -> None:
    assert first_gang_code(facts_of(a_job(finish=failed()))) == "failed"
    assert first_gang_code(facts_of(a_job(ending="BackoffLimitExceeded"))) == "failed"
    assert first_gang_code(facts_of(a_job())) == ""


def test_a_suspended_owner_that_is_done_is_done() -> None:
    assert first_gang_code(facts_of(a_job(suspended=True, finish=succeeded()))) == "succeeded"
