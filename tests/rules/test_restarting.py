"""`restarting`."""

from typing import Any

import pytest

from gangboard.domain.health import Health
from gangboard.domain.verdict import UnitMemory
from gangboard.facts.unit import Unit
from tests.domain_objects import (
    a_condition,
    a_container,
    a_group,
    a_job,
    a_jobset,
    a_pod,
    a_role,
    ago,
    an_event,
    child_jobs,
    failed,
    placed,
    pods_of,
)
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of, whole_memory
from tests.sentence_values import values_in


def restarted(ready: int = 0, **jobset: Any) -> Unit:
    """Two pods of a JobSet, ready or not, whose Job was made ten seconds ago."""
    objects = a_jobset("run", **{"restarts": 1, "max_restarts": 3, "restarting": True, **jobset})
    (job,) = child_jobs(objects, created_at=ago(10))
    pods = [a_pod(f"p{n}", of=job, on="n0", ready=n < ready) for n in range(2)]
    return unit_of(objects, job, *pods)


def test_a_jobset_restarts() -> None:
    finding = require_finding("restarting", restarted())
    assert finding.health is Health.DEGRADED
    assert finding.message == "Restart 1 of 3: 0 of 2 pods are ready."
    assert first_code(restarted()) == "restarting"


def test_over_as_soon_as_all_are_ready() -> None:
    assert evaluate("restarting", restarted(ready=2)) is None
    assert first_code(restarted(ready=2)) == "running"


def test_jobsets_before_012_only_have_the_restart_count() -> None:
    assert first_code(restarted(ready=1, restarting=False)) == "restarting"


def test_jobset_012_reports_the_end_of_a_restart() -> None:
    over = a_condition("RestartingJobSet", "False", reason="JobsReady")
    unit = restarted(ready=1, restarting=False, conditions=(over,))
    assert evaluate("restarting", unit) is None


def test_restarts_that_do_not_count() -> None:
    unit = restarted(restarts=5, counted_restarts=2)
    assert require_finding("restarting", unit).message.startswith("Restart 5 (2 of 3 counted): ")


def test_no_restart_counts() -> None:
    """RestartJobSetAndIgnoreMaxRestarts (v0.12): five restarts, and still three are left."""
    for restarts in (2, 5):
        unit = restarted(restarts=restarts, counted_restarts=0)
        text = f"Restart {restarts} (0 of 3 counted): "
        assert require_finding("restarting", unit).message.startswith(text)
    jobset = a_jobset("run", restarts=5, counted_restarts=0, max_restarts=3)
    (job,) = child_jobs(jobset, finish=failed("BackoffLimitExceeded"))
    assert require_finding("restarting", unit_of(jobset, job)).message == (
        "Job run-workers-0 has no retries left. Restarts so far: 5 (0 of 3 counted)."
    )


@pytest.mark.parametrize(("counted", "text"), [(2, "Restart 2 of 3"), (1, "Restart 2")])
def test_a_single_job_of_a_jobset_restarts(counted: int, text: str) -> None:
    """RestartJobAndIgnoreMaxRestarts: the sentence has no limit for restarts that do not count."""
    jobset = a_jobset(
        "run",
        a_role("workers", jobs=2),
        job_restarts={"run-workers-1": 2},
        counted_restarts=counted,
        max_restarts=3,
    )
    first, second = child_jobs(jobset, created_at=ago(10))
    unit = unit_of(
        jobset,
        first,
        second,
        a_pod("p", of=second, on="n0", ready=False),
        jobs=(second,),
        desired=1,
        name="run-workers-1",
        noun="Job",
    )
    assert require_finding("restarting", unit).message == (
        f"{text} of Job run-workers-1: 0 of 1 pods are ready."
    )


def test_a_job_retries() -> None:
    job = a_job("train", retries=2)
    pods = (
        a_pod("old", of=job, on="n0", phase="Failed", ready=False),
        a_pod("train-0", of=job, on="n0"),
        a_pod("train-1", of=job, on="n0", ready=False, created_at=ago(8)),
    )
    unit = unit_of(job, *pods)
    assert values_in(require_finding("restarting", unit).message) == "2 6 1 2"
    assert first_code(unit) == "restarting"


def test_an_old_retry_of_a_job_that_was_whole_since() -> None:
    job = a_job("train", retries=1)
    pods = (a_pod("train-0", of=job, on="n0"), a_pod("train-1", of=job, text=texts.GPU_SHORT))
    unit = unit_of(job, *pods, memory=whole_memory(5))
    assert evaluate("restarting", unit) is None
    assert first_code(unit) == "lost-members"


def test_a_replacement_that_does_not_fit_is_judged_at_placement() -> None:
    job = a_job("train", retries=1)
    pods = [a_pod(f"train-{n}", of=job, text=texts.GPU_SHORT) for n in (0, 1)]
    assert evaluate("restarting", unit_of(job, *pods)) is None
    assert first_code(unit_of(job, *pods)) == "unschedulable"


def test_a_crash_loop_is_the_closer_cause() -> None:
    job = a_job("train", retries=1)
    loop = a_container(running=False, state="waiting", reason="CrashLoopBackOff", restarts=4)
    pods = [a_pod(f"train-{n}", of=job, on="n0", ready=False, containers=(loop,)) for n in (0, 1)]
    assert first_code(unit_of(job, *pods)) == "crash-loop"


def test_a_failed_job_before_its_jobset_reacted() -> None:
    jobset = a_jobset("run", restarts=1, counted_restarts=1, max_restarts=3)
    (job,) = child_jobs(jobset, finish=failed("BackoffLimitExceeded", texts.BACKOFF_LIMIT))
    dead = a_pod("run-workers-0-0", of=job, on="n0", phase="Failed", ready=False)
    finding = require_finding("restarting", unit_of(jobset, job, dead))
    assert values_in(finding.message) == "run-workers-0 1 3"


def test_a_member_that_leaves_above_the_quorum() -> None:
    job = a_job("train", pods=3, group_name="ring", retries=1)
    group = a_group("ring", quorum=2, placed=placed())
    pods = (*pods_of(job, 2, on="n0"), a_pod("new", group="ring", on="n0", ready=False))
    assert first_code(unit_of(job, group, *pods, memory=UnitMemory())) == "restarting"


def test_a_refused_job_next_to_members_on_their_first_attempt() -> None:
    """The quorum exists, so the refusal is not the reason. The scheduler has not tried the new pod yet."""
    objects = a_jobset(
        "run",
        a_role("driver", pods=1, group_name="ring"),
        a_role("workers", pods=1, group_name="ring"),
        restarts=1,
        max_restarts=3,
        restarting=True,
    )
    driver, workers = child_jobs(objects, created_at=ago(10))
    pod = a_pod("run-driver-0-0", of=driver, group="ring", created_at=ago(5))
    refused = an_event(workers, "FailedCreate", texts.QUOTA, last_seen=ago(1))
    unit = unit_of(objects, driver, workers, pod, a_group("ring", quorum=1), refused)
    assert values_in(require_finding("restarting", unit).message) == "1 3 0 2"
    assert first_code(unit) == "restarting"


def test_the_command_that_shows_why_its_pods_fail() -> None:
    ended = a_container("main", running=False, state="terminated", exit_code=1, reason="Error")
    job = a_job("train", retries=2)
    dead = a_pod("old", of=job, on="n0", phase="Failed", ready=False, containers=(ended,))
    unit = unit_of(job, dead, a_pod("train-0", of=job, on="n0", ready=False, created_at=ago(8)))
    step = ("Read what it wrote last: kubectl logs -n team-a old -c main",)
    assert require_finding("restarting", unit).advice_texts == step
    jobset = a_jobset("run", max_restarts=3)
    (child,) = child_jobs(jobset, finish=failed("BackoffLimitExceeded", texts.BACKOFF_LIMIT))
    of_child = a_pod("old", of=child, on="n0", phase="Failed", ready=False, containers=(ended,))
    assert require_finding("restarting", unit_of(jobset, child, of_child)).advice_texts == step
    assert require_finding("restarting", restarted()).advice_texts == ()
