"""`job-suspended`."""

from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.health import Health
from gangboard.domain.owner import Dependency
from gangboard.facts.unit import Unit
from tests.domain_objects import (
    NOW,
    a_group,
    a_hold,
    a_jobset,
    a_pod,
    a_role,
    ago,
    an_entry,
    child_jobs,
    placed,
    pods_of,
)
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in


def held_unit(
    *,
    hold: dict[str, Any] | None = None,
    restarts: int = 0,
    facts: dict[str, Any] | None = None,
    job: dict[str, Any] | None = None,
    **sibling: Any,
) -> Unit:
    """A JobSet of three Jobs with one PodGroup of all pods; workers-2 is suspended, or held."""
    jobset = a_jobset("run", a_role("workers", jobs=3, group_name="ring"), restarts=restarts)
    first, second, three = child_jobs(jobset)
    group = a_group("ring", quorum=6, placed=placed())
    pods = (*pods_of(first, 2, on="n0"), *pods_of(second, 2, on="n1", **sibling))
    stopped = replace(three, suspended=True, **(job or {}))
    holds = () if hold is None else (a_hold(stopped, **hold),)
    return unit_of(jobset, first, second, stopped, group, *pods, *holds, facts=facts)


def test_everything_else_runs() -> None:
    finding = require_finding("job-suspended", held_unit(hold={}))
    assert finding.health is Health.SUSPENDED
    assert (
        finding.message
        == "1 of 3 Jobs is suspended: run-workers-2 (held by alice since 2026-11-21 11:55 UTC: disk of n3)."
    )
    assert first_code(held_unit(hold={})) == "job-suspended"
    evidence = finding.evidence[-1]
    assert (evidence.label, evidence.value) == ("Hold", "Hold run-workers-2 by alice (disk of n3)")
    assert evidence.source is not None
    assert evidence.source.kind == "Hold"


def test_a_suspension_without_a_hold_names_no_user() -> None:
    finding = require_finding("job-suspended", held_unit(job={"last_action": "a1b2"}))
    assert finding.message == (
        "1 of 3 Jobs is suspended: run-workers-2 (no Hold, by whom is not known)."
    )
    assert [(item.label, item.value) for item in finding.evidence] == [
        ("spec.suspend", "true"),
        ("last action of gangboard", "a1b2"),
    ]


def test_unobserved_holds_are_not_called_absent() -> None:
    finding = require_finding("job-suspended", held_unit(facts={"holds_known": False}))
    assert finding.message == (
        "1 of 3 Jobs is suspended: run-workers-2 (whether by a Hold is not known)."
    )


@pytest.mark.parametrize(
    "foreign",
    [
        {"owner_uid": "uid-of-the-jobset-before"},
        {"job_name": "run-workers-1"},
        {"namespace": "team-b"},
        {"owner_uid": ""},
    ],
)
def test_a_hold_on_something_else_holds_it_not(foreign: dict[str, Any]) -> None:
    assert (
        "(no Hold, by whom is not known)"
        in require_finding("job-suspended", held_unit(hold=foreign)).message
    )


def test_a_manual_hold_may_lack_its_author() -> None:
    until = NOW.replace(hour=18)
    objects = {"name": "nightly", "by": "", "reason": "", "until": until}
    finding = require_finding("job-suspended", held_unit(hold=objects))
    assert values_in(finding.message) == "1 3 run-workers-2 2026-11-21 11:55"
    assert finding.evidence[-1].value == "Hold nightly until 2026-11-21 18:00:00 UTC"


def test_a_restart_keeps_the_hold() -> None:
    """The new Job, same name and new uid, is born suspended (real-control-plane.md §3)."""
    finding = require_finding("job-suspended", held_unit(hold={"created_at": ago(900)}, restarts=1))
    assert values_in(finding.message) == "1 3 run-workers-2 2026-11-21 11:45 n3 1 run-workers-2"


def test_held_after_the_restart_it_was_born_running() -> None:
    message = require_finding(
        "job-suspended", held_unit(hold={"created_at": ago(300)}, restarts=1)
    ).message
    assert (
        message
        == "1 of 3 Jobs is suspended: run-workers-2 (held by alice since 2026-11-21 11:55 UTC: disk of n3)."
    )


def test_two_holds_with_one_unknown_author() -> None:
    jobset = a_jobset("run", a_role("workers", jobs=5))
    first_job, *rest = child_jobs(jobset)
    stopped = [replace(job, suspended=True) for job in rest]
    holds = (a_hold(stopped[0]), a_hold(stopped[1]), a_hold(stopped[2], by="bob", reason="debug"))
    unit = unit_of(jobset, first_job, *stopped, *pods_of(first_job, 2, on="n0"), *holds)
    assert (
        values_in(require_finding("job-suspended", unit).message)
        == "4 5 run-workers-1 run-workers-2 2026-11-21 11:55 n3 run-workers-3 2026-11-21 11:55 run-workers-4"
    )


def test_a_job_that_its_own_queue_keeps() -> None:
    jobset = a_jobset("run", a_role("workers", jobs=2))
    first, second = child_jobs(jobset)
    second = replace(second, suspended=True)
    unit = unit_of(jobset, first, second, *pods_of(first, 2, on="n0"), an_entry(second))
    assert evaluate("job-suspended", unit) is None
    assert first_code(unit) == "queue-evaluating"


def test_a_held_job_as_its_own_unit() -> None:
    jobset = a_jobset("run", a_role("workers", jobs=3))
    first, second, three = child_jobs(jobset)
    held = replace(three, suspended=True)
    leaving = a_pod("run-workers-2-0", on="n0", of=held, deleting_since=ago(2))
    unit = unit_of(
        jobset, first, second, held, leaving, jobs=(held,), desired=2, held=2, name="run-workers-2"
    )
    assert values_in(require_finding("job-suspended", unit).message) == "1 3 run-workers-2 1"


def test_a_sibling_that_lacks_a_member_is_the_news() -> None:
    assert evaluate("job-suspended", held_unit(ready=False)) is None
    jobset = a_jobset("run", a_role("workers", jobs=2, group_name="ring"))
    first, second = child_jobs(jobset)
    pods = (*pods_of(first, 1, on="n0"), a_pod("run-workers-0-1", of=first, group="ring"))
    unit = unit_of(jobset, first, replace(second, suspended=True), a_group("ring", quorum=4), *pods)
    assert first_code(unit) == "quorum-lost"


def test_a_job_that_waits_for_another_part_is_not_suspended_by_hand() -> None:
    """JobSet leaves a dependent Job suspended after a resume until its dependency is met."""
    workers = a_role("workers", depends_on=(Dependency("driver", "Ready"),))
    jobset = a_jobset("run", a_role("driver", pods=1, ready=0), workers)
    _, waiting = child_jobs(jobset, suspended=True)
    unit = unit_of(
        jobset,
        waiting,
        jobs=(waiting,),
        roles=(jobset.roles[1],),
        name="workers",
        held=2,
        desired=2,
    )
    assert evaluate("job-suspended", unit) is None
    assert first_code(unit) == "dependency-waiting"


def test_jobs_with_a_dependency_are_not_counted_as_held() -> None:
    workers = a_role("workers", depends_on=(Dependency("driver", "Ready"),))
    jobset = a_jobset("run", a_role("driver", jobs=2, pods=1, ready=1), workers)
    running, held, waiting = child_jobs(jobset)
    held, waiting = replace(held, suspended=True), replace(waiting, suspended=True)
    unit = unit_of(
        jobset,
        running,
        held,
        waiting,
        a_hold(held),
        jobs=(held,),
        roles=(jobset.roles[0],),
        name="run-driver-1",
        held=1,
        desired=1,
    )
    message = "1 of 3 Jobs is suspended: run-driver-1 (held by alice since 2026-11-21 11:55 UTC: disk of n3)."
    assert require_finding("job-suspended", unit).message == message


def test_a_gang_without_suspended_jobs_runs() -> None:
    jobset = a_jobset()
    (job,) = child_jobs(jobset)
    assert first_code(unit_of(jobset, job, *pods_of(job, 2, on="n0"))) == "running"


def test_resume_advice_depends_on_the_suspending_manager() -> None:
    assert require_finding("job-suspended", held_unit(hold={})).advice_texts == ()
    meant = {"suspend_set_by": "kubectl-patch", "suspend_set_at": ago(60)}
    assert require_finding("job-suspended", held_unit(job=meant)).advice_texts == ()
    controller = {"suspend_set_by": "jobset"}
    assert len(require_finding("job-suspended", held_unit(job=controller)).advice_texts) == 1
    # A Hold for an earlier object of the same name is not in force.
    assert require_finding(
        "job-suspended", held_unit(hold={"owner_uid": "uid-before"})
    ).advice_texts == ("Resume Job run-workers-2 to let it run.",)
    assert require_finding("job-suspended", held_unit()).advice_texts == (
        "Resume Job run-workers-2 to let it run.",
    )


def test_a_possible_hold_would_suspend_the_job_again() -> None:
    assert require_finding(
        "job-suspended", held_unit(facts={"holds_known": False})
    ).advice_texts == (
        "Resume Job run-workers-2 and release any Hold that may be on it to let it run.",
    )


def test_a_queue_decides_for_itself() -> None:
    unit = held_unit()
    stopped = next(job for job in unit.jobs if job.suspended)
    queued = replace(unit, gang=replace(unit.gang, entries=(an_entry(stopped),)))
    assert evaluate("job-suspended", queued) is None
    assert first_code(queued) == "queue-evaluating"
    held = replace(queued.gang, holds=(a_hold(stopped),))
    assert require_finding("job-suspended", replace(unit, gang=held)).advice_texts == ()
