"""The stage of a gang of which a part is stopped on purpose: the parts that run decide."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.health import Health, Stage
from gangboard.domain.owner import Owner
from gangboard.domain.verdict import Verdict
from tests.domain_objects import (
    Made,
    a_container,
    a_group,
    a_jobset,
    a_pod,
    a_role,
    ago,
    an_entry,
    child_jobs,
    facts_of,
    placed,
    pods_of,
    succeeded,
)

JOBSET = a_jobset("run", a_role("workers", jobs=2))
FIRST, SECOND = child_jobs(JOBSET)
DEACTIVATED = replace(SECOND, suspended=True)
PAUSED = replace(SECOND, parallelism=0)
STOPPED: dict[str, tuple[Owner, *tuple[Made, ...]]] = {
    "deactivated": (DEACTIVATED, an_entry(DEACTIVATED, active=False)),
    "paused": (PAUSED,),
    "job-suspended": (DEACTIVATED,),
}
"""Code → the second Job, stopped in one way, with its other objects."""


def judged(*objects: Made, **fields: object) -> Verdict:
    return assess(facts_of(JOBSET, *objects, **fields))


@pytest.mark.parametrize("code", STOPPED)
def test_a_gang_runs_while_one_of_its_jobs_is_stopped(code: str) -> None:
    verdict = judged(FIRST, *STOPPED[code], *pods_of(FIRST, 2, on="n0"))
    assert (verdict.finding.code, verdict.finding.health) == (code, Health.SUSPENDED)
    assert verdict.finding.stage is Stage.RUN


@pytest.mark.parametrize("code", ["deactivated", "job-suspended"])
def test_the_jobs_of_one_group_count_alike(code: str) -> None:
    """The stopped Job and the running one are one unit."""
    first = replace(FIRST, group_name="ring")
    stopped, *rest = STOPPED[code]
    group = a_group("ring", quorum=2, placed=placed())
    pods = pods_of(first, 2, on="n0", group="ring")
    verdict = judged(first, replace(stopped, group_name="ring"), *rest, group, *pods)
    assert (verdict.finding.code, verdict.finding.stage) == (code, Stage.RUN)


@pytest.mark.parametrize("code", ["deactivated", "job-suspended"])
def test_a_stopped_job_hides_no_fault_of_its_group(code: str) -> None:
    first = replace(FIRST, group_name="ring")
    stopped, *rest = STOPPED[code]
    waiting = a_container(
        running=False, state="waiting", reason="CrashLoopBackOff", restarts=5, exit_code=1
    )
    pods = pods_of(first, 2, on="n0", group="ring", ready=False, containers=(waiting,))
    group = a_group("ring", quorum=2, placed=placed())
    verdict = judged(first, replace(stopped, group_name="ring"), *rest, group, *pods)
    assert (verdict.finding.code, verdict.finding.stage) == ("crash-loop", Stage.START)


@pytest.mark.parametrize("code", ["deactivated", "paused"])
def test_no_part_runs_any_more(code: str) -> None:
    """The other Job has succeeded, so the gang is where its stopped Job is."""
    done = replace(FIRST, finish=succeeded())
    verdict = judged(done, *STOPPED[code], a_pod("run-workers-0-0", of=done, phase="Succeeded"))
    assert (verdict.finding.code, verdict.finding.stage) == (code, Stage.ADMISSION)


def test_pods_of_the_stopped_job_are_no_other_part() -> None:
    """Its queue entry was deactivated a moment ago, and its pods are not deleted yet."""
    done = replace(FIRST, finish=succeeded())
    objects = (done, *STOPPED["deactivated"], *pods_of(DEACTIVATED, 2, on="n0"))
    assert judged(*objects).finding.stage is Stage.ADMISSION


def test_pods_that_are_being_deleted_are_no_other_part() -> None:
    leaving = a_pod("run-workers-0-0", of=FIRST, on="n0", deleting_since=ago(2))
    done = replace(FIRST, finish=succeeded())
    assert judged(done, *STOPPED["paused"], leaving).finding.stage is Stage.ADMISSION


def test_a_suspended_owner_stays_in_admission_while_its_pods_go() -> None:
    stopped = replace(JOBSET, suspended=True)
    verdict = assess(facts_of(stopped, FIRST, *pods_of(FIRST, 2, on="n0")))
    assert (verdict.finding.code, verdict.finding.stage) == ("suspended", Stage.ADMISSION)


def test_a_part_that_waits_for_its_queue_keeps_the_gang_in_admission() -> None:
    """It waits and nothing stopped it on purpose, so the gang has not passed admission."""
    waiting = replace(SECOND, suspended=True)
    verdict = judged(FIRST, waiting, an_entry(waiting), *pods_of(FIRST, 2, on="n0"))
    assert (verdict.finding.health, verdict.finding.stage) == (Health.WAITING, Stage.ADMISSION)
