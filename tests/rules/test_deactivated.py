"""`deactivated`."""

from dataclasses import replace
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.health import Health
from gangboard.domain.suspension import FieldWriter, RecordedSuspend
from gangboard.facts.gang import Gang
from tests.domain_objects import (
    Made,
    a_condition,
    a_jobset,
    a_pod,
    a_role,
    ago,
    an_entry,
    child_jobs,
    facts_of,
    pods_of,
    succeeded,
)
from tests.rules.evaluation import evaluate_gang, first_gang_code, require_gang_finding
from tests.sentence_values import values_in

# What Kueue v0.19.2 says of a deactivated Workload too (real-control-plane.md §5).
PENDING = a_condition("QuotaReserved", "False", reason="Pending")
BY_HAND = a_condition(
    "Evicted", reason="Deactivated", message="The workload is deactivated", since=ago(90)
)
GIVEN_UP = a_condition(
    "Evicted",
    reason="DeactivatedDueToRequeuingLimitExceeded",
    message="The workload is deactivated due to exceeding the maximum number of re-queuing retries",
)
JOBSET = a_jobset(suspended=True, queue="gpu-lq")


def queued(*more: Made, **entry: Any) -> Gang:
    """A JobSet that Kueue keeps suspended."""
    defaults = {"active": False, "conditions": (PENDING, BY_HAND), **entry}
    return facts_of(
        JOBSET, *child_jobs(JOBSET, suspended=True), an_entry(JOBSET, **defaults), *more
    )


def test_a_manual_deactivation_is_explained() -> None:
    finding = require_gang_finding("deactivated", queued())
    assert finding.health is Health.SUSPENDED
    assert values_in(finding.message) == "jobset-run-3f2a1 gpu-lq"
    (step,) = finding.advice
    assert values_in(step.text) == "spec.active jobset-run-3f2a1"
    assert finding.since == ago(90)
    assert finding.evidence[0].source is not None
    assert finding.evidence[0].source.group == "kueue.x-k8s.io"
    assert first_gang_code(queued()) == "deactivated"


def test_a_kueue_deactivation_is_quoted() -> None:
    message = require_gang_finding("deactivated", queued(conditions=(PENDING, GIVEN_UP))).message
    assert values_in(message) == "jobset-run-3f2a1"


def test_pods_still_leave() -> None:
    leaving = a_pod("run-workers-0-0", on="n0", deleting_since=ago(3))
    message = require_gang_finding("deactivated", queued(leaving)).message
    assert message.endswith("does not admit it. 1 pod still terminates.")


def test_queued_and_active() -> None:
    facts = queued(active=True, conditions=(PENDING,))
    assert evaluate_gang("deactivated", facts) is None
    assert first_gang_code(facts) == "queue-evaluating"


@pytest.mark.parametrize(
    "entry",
    [
        {"owner_uid": "uid-of-the-jobset-before"},
        {"deleting_since": ago(2)},
        {"conditions": (a_condition("Finished", reason="OutOfSync"),)},
    ],
)
def test_an_entry_that_does_not_count(entry: dict[str, Any]) -> None:
    assert first_gang_code(queued(**entry)) == "queue-evaluating"


def test_an_active_entry_keeps_the_gang_in_its_queue() -> None:
    facts = queued(an_entry(JOBSET, "jobset-run-77777"))
    assert first_gang_code(facts) == "queue-evaluating"


def test_the_entry_of_a_child_does_not_speak_for_the_owner() -> None:
    jobset = a_jobset(suspended=True)
    (job,) = child_jobs(jobset, suspended=True)
    assert first_gang_code(facts_of(jobset, job, an_entry(job, active=False))) == "suspended"


def test_the_entry_names_the_queue_without_an_owner_label() -> None:
    jobset = a_jobset(suspended=True)
    finding = require_gang_finding(
        "deactivated", facts_of(jobset, an_entry(jobset, active=False, queue=""))
    )
    assert finding.message.endswith("is deactivated, so no queue admits it.")


def test_active_and_finished_owners_are_not_deactivated() -> None:
    running = a_jobset(queue="gpu-lq")
    assert evaluate_gang("deactivated", facts_of(running, an_entry(running, active=False))) is None
    done = a_jobset(queue="gpu-lq", suspended=True, finish=succeeded())
    assert first_gang_code(facts_of(done, an_entry(done, active=False))) == "succeeded"


def test_a_child_job_whose_own_entry_is_switched_off() -> None:
    jobset = a_jobset("run", a_role("workers", jobs=2))
    first, second = child_jobs(jobset)
    off = replace(second, suspended=True)
    entry = an_entry(off, active=False, conditions=(BY_HAND,))
    verdict = assess(facts_of(jobset, first, off, entry, *pods_of(first, 2, on="n0")))
    assert (verdict.finding.code, verdict.finding.health) == ("deactivated", Health.SUSPENDED)
    assert verdict.finding.message == (
        "Workload job-run-workers-1-3f2a1 is deactivated, so queue gpu-lq does not admit Job "
        "run-workers-1."
    )
    assert tuple(step.text for step in verdict.finding.advice) == (
        "Set spec.active of Workload job-run-workers-1-3f2a1 to true to queue it again.",
    )


@pytest.mark.parametrize(
    ("cause", "step"),
    [
        ("MaximumExecutionTimeExceeded", "Raise the label kueue.x-k8s.io/max-exec-time-seconds"),
        ("AdmissionCheck", "Remove the cause for which the check refused it"),
        ("RequeuingLimitExceeded", "Remove what kept its pods from being ready"),
        ("SomethingNew", "Remove the cause"),
    ],
)
def test_a_finished_deactivation_needs_a_new_workload(cause: str, step: str) -> None:
    evicted = a_condition("Evicted", reason=f"DeactivatedDueTo{cause}", message="no")
    (advice,) = require_gang_finding("deactivated", queued(conditions=(PENDING, evicted))).advice
    assert advice.text.startswith(step)
    assert advice.command[:4] == (
        "kubectl", "delete", "workloads.kueue.x-k8s.io", "jobset-run-3f2a1",
    )  # fmt: skip


def test_the_deactivating_user_time_and_cause_are_shown() -> None:
    """From the record of the owner, else by the field manager of `spec.active`; a person's has no next step."""
    record = {JOBSET.meta.ref.uid: RecordedSuspend("ada", "make room", ago(95))}
    state = "Workload jobset-run-3f2a1 is deactivated, so queue gpu-lq does not admit it."
    for manager, expected, steps in (
        ("gangboard", "Deactivated by ada at 2026-11-21 11:58 UTC: make room.", 0),
        # Its later write of something else moves the time; the condition tells when Kueue saw the first.
        ("kubectl-patch", "Deactivated with kubectl at 2026-11-21 11:58 UTC.", 0),
        ("night-saver", "Deactivated by night-saver at 2026-11-21 11:58 UTC.", 1),
    ):
        facts = queued(deactivated_by=FieldWriter(manager, ago(5)))
        finding = require_gang_finding("deactivated", replace(facts, recorded_suspends=record))
        assert finding.message == f"{expected} {state}"
        assert len(finding.advice) == steps, manager
    late = queued(conditions=(PENDING,), deactivated_by=FieldWriter("kubectl-edit", ago(5)))
    assert require_gang_finding("deactivated", late).message.startswith(
        "Deactivated with kubectl at 2026-11-21 11:59 UTC or before."
    )
    own = queued(conditions=(PENDING, GIVEN_UP), deactivated_by=FieldWriter("kueue", ago(5)))
    assert require_gang_finding("deactivated", own).message.startswith("Kueue deactivated")


def test_a_hold_author_did_not_deactivate_the_entry() -> None:
    jobset = a_jobset("run", a_role("workers", jobs=2))
    first, second = child_jobs(jobset)
    off = replace(second, suspended=True)
    entry = an_entry(
        off, active=False, conditions=(BY_HAND,), deactivated_by=FieldWriter("kubectl", ago(99))
    )
    record = {off.meta.ref.uid: RecordedSuspend("ada", "disk", ago(500))}
    facts = facts_of(
        jobset, first, off, entry, *pods_of(first, 2, on="n0"), recorded_suspends=record
    )
    assert assess(facts).finding.message.startswith("Deactivated with kubectl")
