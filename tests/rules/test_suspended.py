"""`suspended`."""

from dataclasses import replace

import pytest

from gangboard.domain.advice import AdviceKind
from gangboard.domain.health import Health
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.domain.suspension import RecordedSuspend
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.plugins.registry import owner_kinds
from tests.domain_objects import (
    a_condition,
    a_group,
    a_hold,
    a_job,
    a_jobset,
    a_meta,
    a_pod,
    a_role,
    ago,
    child_jobs,
    facts_of,
    placed,
    succeeded,
)
from tests.rules import texts
from tests.rules.evaluation import evaluate_gang, first_gang_code, require_gang_finding
from tests.sentence_values import values_in


def test_a_job_suspended_by_hand() -> None:
    since = a_condition("Suspended", reason="JobSuspended", since=ago(120))
    finding = require_gang_finding(
        "suspended", facts_of(a_job(suspended=True, conditions=(since,)))
    )
    assert finding.health is Health.SUSPENDED
    assert finding.message == "The Job is suspended."
    assert finding.since == ago(120)


def test_terminating_pods_are_mentioned() -> None:
    job = a_job("train", suspended=True)
    pods = [a_pod(f"train-{index}", on="n0", deleting_since=ago(2)) for index in range(2)]
    finding = require_gang_finding("suspended", facts_of(job, *pods))
    assert values_in(finding.message) == "2"


def test_an_outdated_condition_is_mentioned() -> None:
    """Trainer says Suspended=True from its spec alone."""
    finding = require_gang_finding(
        "suspended", facts_of(a_job("train", suspended=True), a_pod(on="n0"))
    )
    assert finding.message == "The Job is suspended. 1 pod is still there."


def test_the_old_refusal_of_its_group_is_not_shown() -> None:
    group = a_group(quorum=2, placed=placed("False", texts.GROUP_136))
    finding = require_gang_finding("suspended", facts_of(a_job(suspended=True), group))
    assert "unschedulable" not in finding.message
    assert [item.label for item in finding.evidence] == ["spec.suspend"]


def test_every_unfinished_job_is_suspended() -> None:
    jobset = a_jobset("run", a_role("driver", pods=1), a_role("workers", jobs=2))
    driver, *workers = child_jobs(jobset, suspended=True)
    done = replace(driver, suspended=False, finish=succeeded())
    finding = require_gang_finding("suspended", facts_of(jobset, done, *workers))
    assert finding.message == (
        "Both unfinished Jobs are suspended: run-workers-0 and run-workers-1 (no Hold, by whom "
        "is not known)."
    )


def test_the_only_job_is_held() -> None:
    jobset = a_jobset("run")
    (job,) = child_jobs(jobset, suspended=True)
    finding = require_gang_finding("suspended", facts_of(jobset, job, a_hold(job)))
    assert (
        finding.message
        == "1 unfinished Job is suspended: run-workers-0 (held by alice since 2026-11-21 11:55 UTC: disk of n3)."
    )
    assert [item.value for item in finding.evidence] == [
        "true",
        "Hold run-workers-0 by alice (disk of n3)",
    ]


def test_a_single_suspended_job_of_two_is_not_the_whole_gang() -> None:
    jobset = a_jobset("run", a_role("workers", jobs=2))
    first, second = child_jobs(jobset)
    facts = facts_of(jobset, first, replace(second, suspended=True))
    assert evaluate_gang("suspended", facts) is None


def test_held_by_a_queue() -> None:
    assert first_gang_code(facts_of(a_job(suspended=True, queue="lq"))) == "queue-evaluating"


@pytest.mark.parametrize(("jobs", "acts_on"), [(1, 1), (3, 3), (4, 0)])
def test_the_step_acts_on_the_jobs_that_its_sentence_names(jobs: int, acts_on: int) -> None:
    jobset = a_jobset("run", a_role("workers", jobs=jobs))
    children = child_jobs(jobset, suspended=True)
    (step,) = require_gang_finding("suspended", facts_of(jobset, *children)).advice
    assert step.kind is AdviceKind.RESUME
    assert step.objects == tuple(job.meta.ref for job in children[:acts_on])


def test_resume_advice_names_suspended_jobs() -> None:
    assert require_gang_finding("suspended", facts_of(a_job(suspended=True))).advice_texts == ()
    jobset = a_jobset("run", a_role("workers", jobs=2))
    jobs = child_jobs(jobset, suspended=True)
    assert require_gang_finding("suspended", facts_of(jobset, *jobs)).advice_texts == (
        "Resume Jobs run-workers-0 and run-workers-1 to let them run.",
    )
    holds = [a_hold(job) for job in jobs]
    assert require_gang_finding("suspended", facts_of(jobset, *jobs, *holds)).advice_texts == ()
    # A suspension without a known intention.
    assert (
        values_in(
            *require_gang_finding("suspended", facts_of(jobset, *jobs, holds[1])).advice_texts
        )
        == "run-workers-0"
    )


def test_the_suspending_user_time_and_cause_are_shown() -> None:
    """From the record, else by the field manager, who also goes before a record that is older."""
    record = {"uid-train": RecordedSuspend("ada", "make room for the eval", ago(40))}
    ours = a_job(suspended=True, suspend_set_by="gangboard", suspend_set_at=ago(40))
    finding = require_gang_finding("suspended", facts_of(ours, recorded_suspends=record))
    assert finding.message == ("Suspended by ada at 2026-11-21 11:59 UTC: make room for the eval.")
    assert (finding.advice_texts, finding.since) == ((), ago(40))
    kubectl = replace(ours, suspend_set_by="kubectl-patch", suspend_set_at=ago(3600))
    finding = require_gang_finding("suspended", facts_of(kubectl, recorded_suspends=record))
    assert finding.message == "Suspended with kubectl at 2026-11-21 11:00 UTC or before."
    saver = replace(ours, suspend_set_by="night-saver")
    assert require_gang_finding("suspended", facts_of(saver)).message.startswith(
        "Suspended by night-saver at"
    )
    long = {"uid-train": RecordedSuspend("ada", "x " * 600, ago(40))}
    assert (
        len(require_gang_finding("suspended", facts_of(ours, recorded_suspends=long)).message) < 160
    )


def test_a_later_write_of_the_same_manager_does_not_move_the_time() -> None:
    """The API server has one time for all fields of a manager: a label set at 11:59 moves it (1.37.2)."""
    since = a_condition("Suspended", reason="JobSuspended", since=ago(3600))
    job = a_job(suspended=True, suspend_set_by="kubectl-patch", suspend_set_at=ago(40))
    message = require_gang_finding("suspended", facts_of(replace(job, conditions=(since,)))).message
    assert values_in(message) == "2026-11-21 11:00"
    assert require_gang_finding("suspended", facts_of(job)).message.endswith("11:59 UTC or before.")


@pytest.mark.parametrize(
    "kind", [kind for kind in owner_kinds() if kind.levers], ids=lambda kind: kind.resource.key
)
def test_evidence_names_the_field_of_the_kind(kind: OwnerKind) -> None:
    ref = kind.resource
    owner = Owner(meta=a_meta(ref.group, ref.kind, "run"), suspended=True)
    label = require_gang_finding("suspended", facts_of(owner)).evidence[0].label
    expected = (
        "status.state.phase" if "volcano_command" in kind.levers else ".".join(kind.suspend_field)
    )
    assert label == expected


def test_a_parent_controller_may_suspend_the_owner_again() -> None:
    unknown = Controller("example.com", "Pipeline", "nightly", "uid-nightly")
    job = a_job("train", suspended=True, of=unknown)
    assert require_gang_finding("suspended", facts_of(job)).advice_texts == ()


def test_jobs_are_suspended_apart_from_their_owner() -> None:
    """A user suspended it without the TrainJob, and the Trainer has not undone that yet."""
    root = Owner(meta=a_meta("trainer.kubeflow.org", "TrainJob", "run"))
    jobset = a_jobset(
        "run", of=root, uid="uid-jobset", suspended=True, suspend_set_by="kubectl-patch"
    )
    jobs = child_jobs(jobset, suspended=True)
    finding = require_gang_finding("suspended", facts_of(root, *jobs, middle=(jobset,)))
    assert finding.message == ("TrainJob run is not, but JobSet run is suspended with kubectl.")
    assert finding.advice_texts == ()
    assert finding.evidence[0].source == jobset.meta.ref
    unknown = replace(jobset, suspend_set_by="")
    finding = require_gang_finding("suspended", facts_of(root, *jobs, middle=(unknown,)))
    assert finding.message == "TrainJob run is not, but JobSet run is suspended."
    resumed = replace(jobset, suspended=False)
    assert first_gang_code(facts_of(root, *child_jobs(jobset), middle=(resumed,))) == ""
