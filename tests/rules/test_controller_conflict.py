"""`controller-conflict`."""

from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.health import Health
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner, SuspendChange
from gangboard.facts.gang import Gang
from tests.domain_objects import (
    NOW,
    a_job,
    a_jobset,
    a_meta,
    a_role,
    ago,
    child_jobs,
    facts_of,
    failed,
    succeeded,
)
from tests.rules.evaluation import evaluate_gang, first_gang_code, require_gang_finding
from tests.sentence_values import values_in

# JobSet v0.12 resumes a suspended child Job within 0.1 s (real-control-plane.md §3).
TRAIN = a_jobset("train", a_role("workers", jobs=2, pods=2))
FIRST, SECOND = child_jobs(TRAIN)


def turns(*who: str, every: float = 5, last: float = 1, begins: bool = True) -> Any:
    """Changes in turn by these managers, the last one so many seconds ago."""
    return tuple(
        SuspendChange(
            begins == (index % 2 == 0), manager, ago(last + every * (len(who) - 1 - index))
        )
        for index, manager in enumerate(who)
    )


def fight(count: int, text: str = "night-saver", other: str = "jobset", **fields: Any) -> Any:
    """So many changes, by one and the other."""
    return turns(*((text, other)[index % 2] for index in range(count)), **fields)


def about(owner: Owner, *jobs: Owner, **changes: Any) -> Gang:
    """Return the facts of these owners, with the observed changes by the name of the object."""
    named = {obj.meta.ref.name.replace("-", "_"): obj.meta.ref.uid for obj in (owner, *jobs)}
    return facts_of(owner, *jobs, suspensions={named[name]: got for name, got in changes.items()})


def child(changes: Any) -> Gang:
    """A JobSet of two Jobs, of which the first was watched so."""
    return about(TRAIN, FIRST, SECOND, train_workers_0=changes)


def test_a_child_job_that_jobset_resumes_each_time() -> None:
    finding = require_gang_finding("controller-conflict", child(fight(7, every=6.7)))
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "night-saver suspends Job train-workers-0 and jobset resumes it: 7 changes in 40 s."
    )
    assert finding.advice_texts == (
        "If Job train-workers-0 should run, stop night-saver. If it should stay suspended, hold it: "
        "a Hold turns each resume by jobset back.",
    )
    texts = [(item.label, item.value) for item in finding.evidence]
    assert texts == [
        ("suspended", "4 times by night-saver, last at 2026-11-21 11:59:59 UTC"),
        ("resumed", "3 times by jobset, last at 2026-11-21 11:59:52 UTC"),
    ]
    assert {item.source for item in finding.evidence} == {FIRST.meta.ref}


def test_two_operators_conflict_over_a_jobset() -> None:
    facts = about(TRAIN, FIRST, SECOND, train=fight(6, "night-saver", "day-starter", every=10))
    finding = require_gang_finding("controller-conflict", facts)
    assert finding.message.startswith(
        "night-saver suspends JobSet train and day-starter resumes it"
    )
    assert finding.advice_texts == (
        "Let only one of them set spec.suspend of JobSet train: stop night-saver or day-starter.",
    )


def test_a_standalone_job_is_reported_once() -> None:
    job = a_job("nightly")
    finding = require_gang_finding(
        "controller-conflict", about(job, nightly=fight(5, other="day-starter"))
    )
    assert finding.message.startswith("night-saver suspends Job nightly and day-starter resumes it")
    assert len(finding.evidence) == 2


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_once_or_twice_is_no_conflict(number: int) -> None:
    """A person tried, and JobSet undid it: the action reports that, not this rule."""
    assert evaluate_gang("controller-conflict", child(fight(number, every=0.1))) is None


def test_a_single_manager_is_no_conflict() -> None:
    """An admin by hand; Kueue that admits, evicts and admits again."""
    assert (
        evaluate_gang("controller-conflict", child(turns(*["kubectl-patch"] * 9, every=10))) is None
    )
    queued = a_jobset("train", queue="gpu-lq")
    assert evaluate_gang("controller-conflict", about(queued, train=turns(*["kueue"] * 8))) is None


def test_unknown_managers_are_not_named() -> None:
    assert evaluate_gang("controller-conflict", child(fight(9, other=""))) is None


def test_a_manager_on_both_sides_ends_the_conflict() -> None:
    """kubectl resumes what kubectl has suspended: only the three changes after that are in turn."""
    changes = turns(
        "kubectl", "jobset", "kubectl", "kubectl", "night-saver", "jobset", "night-saver"
    )
    assert evaluate_gang("controller-conflict", child(changes)) is None


def test_distant_writes_are_no_conflict() -> None:
    """Every night and every morning, by two CronJobs: that is a timetable."""
    assert evaluate_gang("controller-conflict", child(fight(9, every=12 * 3600))) is None
    assert evaluate_gang("controller-conflict", child(fight(9, every=120))) is None


def test_automation_that_runs_every_minute_is_in() -> None:
    changes = [
        SuspendChange(suspended, manager, ago(60 * minute + 20 - late))
        for minute in (3, 2, 1, 0)
        for suspended, manager, late in ((True, "night-saver", 0.0), (False, "jobset", 0.1))
    ]
    finding = require_gang_finding("controller-conflict", child(tuple(changes)))
    assert "8 changes in 3 min" in finding.message
    assert finding.recheck_at is not None
    assert (finding.recheck_at - NOW).total_seconds() == pytest.approx(70.1)


def test_a_conflict_ends_after_a_quiet_period() -> None:
    """Quick ones after 20 s, others after three times their own pauses."""
    assert evaluate_gang("controller-conflict", child(fight(7, every=0.5, last=19.9))) is not None
    assert evaluate_gang("controller-conflict", child(fight(7, every=0.5, last=20))) is None
    finding = require_gang_finding("controller-conflict", child(fight(7, every=10, last=29)))
    assert finding.recheck_at == ago(-1)
    assert evaluate_gang("controller-conflict", child(fight(7, every=10, last=30))) is None


def test_a_conflict_is_reported_in_any_job_state() -> None:
    """Otherwise the verdict would follow each change: suspended, starting, suspended, …"""
    for suspended in (True, False):
        jobs = child_jobs(TRAIN, suspended=suspended)
        changes = fight(6, begins=suspended)
        assert (
            first_gang_code(about(TRAIN, *jobs, train_workers_0=changes)) == "controller-conflict"
        )
        jobset = a_jobset("train", suspended=suspended, queue="gpu-lq")
        assert first_gang_code(about(jobset, train=changes)) == "controller-conflict"


def test_jobs_with_the_same_managers_share_a_sentence() -> None:
    facts = about(TRAIN, FIRST, SECOND, train_workers_0=fight(5), train_workers_1=fight(6, last=2))
    assert (
        values_in(require_gang_finding("controller-conflict", facts).message)
        == "night-saver train-workers-0 train-workers-1 11 26"
    )


def test_three_of_them() -> None:
    changes = turns("night-saver", "jobset", "cost-bot", "jobset", "night-saver", "jobset")
    assert require_gang_finding("controller-conflict", child(changes)).message.startswith(
        "cost-bot and night-saver suspend Job train-workers-0 and jobset resumes it: 6 changes in "
        "25 s."
    )


def test_against_a_queue_the_lever_is_its_workload() -> None:
    queued = a_jobset("train", queue="gpu-lq")
    facts = about(queued, train=fight(6, "kueue", "day-starter"))
    assert require_gang_finding("controller-conflict", facts).advice_texts == (
        "Stop day-starter: JobSet train belongs to queue gpu-lq, which decides when it runs. "
        "Suspend it by spec.active of its Workload.",
    )


def test_a_child_that_is_resumed_while_its_jobset_is_suspended() -> None:
    jobset = a_jobset("train", suspended=True)
    (job,) = child_jobs(jobset, suspended=True)
    facts = about(jobset, job, train_workers_0=fight(5, "jobset", "day-starter"))
    assert require_gang_finding("controller-conflict", facts).advice_texts == (
        "Stop day-starter, or resume JobSet train: while it is suspended, so are its Jobs.",
    )


def test_a_job_of_another_controller_cannot_be_held() -> None:
    job = a_job("nightly", of=Controller("batch", "CronJob", "nightly", "uid-cron"))
    (advice,) = require_gang_finding(
        "controller-conflict", about(job, nightly=fight(5))
    ).advice_texts
    assert "hold" not in advice.lower()


def test_finished_and_deleted_jobs_are_skipped() -> None:
    done = a_jobset("train", finish=succeeded())
    assert first_gang_code(about(done, train=fight(9))) == "succeeded"
    (ended,) = child_jobs(a_jobset("train"), finish=failed())
    (terminating,) = child_jobs(a_jobset("train"), deleting_since=ago(2))
    for job in (ended, terminating):
        facts = about(a_jobset("train"), job, train_workers_0=fight(9))
        assert evaluate_gang("controller-conflict", facts) is None


def test_a_manager_name_stays_on_one_line() -> None:
    message = require_gang_finding(
        "controller-conflict", child(fight(5, "night\nsaver" * 60))
    ).message
    assert "\n" not in message
    assert len(message) < 500


def test_a_middle_owner_is_kept_as_its_owner_is() -> None:
    """The Trainer writes its JobSet anew (real-owners.md §1.4), and its pods are replaced each time."""
    root = Owner(meta=a_meta("trainer.kubeflow.org", "TrainJob", "train"))
    middle = a_jobset("train", of=root, uid="uid-of-jobset")
    changes = fight(5, other="trainer")
    facts = facts_of(
        root, *child_jobs(middle), middle=(middle,), suspensions={"uid-of-jobset": changes}
    )
    finding = require_gang_finding("controller-conflict", facts)
    assert finding.message == (
        "night-saver suspends JobSet train and trainer resumes it: 5 changes in 20 s."
    )
    assert finding.advice_texts == (
        "Stop night-saver, and suspend TrainJob train itself: trainer keeps JobSet train as TrainJob "
        "train is.",
    )
    assert first_gang_code(replace(facts, suspensions={"uid-of-jobset": fight(4)})) == ""
