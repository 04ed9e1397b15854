"""`job-suspended`."""

from dataclasses import replace
from typing import Any

from gangboard.domain.facts import Unit
from gangboard.domain.health import Health
from gangboard.domain.owner import Dependency
from tests.diagnosis.building import (
    a_group,
    a_jobset,
    a_part,
    a_pod,
    ago,
    child_jobs,
    placed,
    pods_of,
)
from tests.rules.asking import ask, first, found, unit_of


def held_unit(**sibling: Any) -> Unit:
    """A JobSet of three Jobs with one PodGroup of all pods; workers-2 is held."""
    jobset = a_jobset("run", a_part("workers", jobs=3, group_name="ring"))
    one, two, three = child_jobs(jobset)
    group = a_group("ring", quorum=6, placed=placed())
    pods = (*pods_of(one, 2, on="n0"), *pods_of(two, 2, on="n1", **sibling))
    return unit_of(jobset, one, two, replace(three, suspended=True), group, *pods)


def test_everything_else_runs() -> None:
    finding = found("job-suspended", held_unit())
    assert finding.health is Health.SUSPENDED
    assert finding.message == "1 of 3 Jobs is suspended: run-workers-2."
    assert first(held_unit()) == "job-suspended"


def test_alone_as_a_unit_of_its_own() -> None:
    jobset = a_jobset("run", a_part("workers", jobs=3))
    one, two, three = child_jobs(jobset)
    held = replace(three, suspended=True)
    leaving = a_pod("run-workers-2-0", on="n0", of=held, deleting_since=ago(2))
    unit = unit_of(
        jobset, one, two, held, leaving, jobs=(held,), desired=2, held=2, name="run-workers-2"
    )
    assert found("job-suspended", unit).message == (
        "1 of 3 Jobs is suspended: run-workers-2. 1 pod still terminates."
    )


def test_a_sibling_that_lacks_a_member_is_the_news() -> None:
    assert ask("job-suspended", held_unit(ready=False)) is None
    jobset = a_jobset("run", a_part("workers", jobs=2, group_name="ring"))
    one, two = child_jobs(jobset)
    pods = (*pods_of(one, 1, on="n0"), a_pod("run-workers-0-1", of=one, group="ring"))
    unit = unit_of(jobset, one, replace(two, suspended=True), a_group("ring", quorum=4), *pods)
    assert first(unit) == "quorum-lost"


def test_a_job_that_waits_for_another_part_is_not_suspended_by_hand() -> None:
    """JobSet leaves a dependent Job suspended after a resume until its dependency is met."""
    workers = a_part("workers", depends_on=(Dependency("driver", "Ready"),))
    jobset = a_jobset("run", a_part("driver", pods=1, ready=0), workers)
    _, waiting = child_jobs(jobset, suspended=True)
    unit = unit_of(
        jobset,
        waiting,
        jobs=(waiting,),
        parts=(jobset.parts[1],),
        name="workers",
        held=2,
        desired=2,
    )
    assert ask("job-suspended", unit) is None
    assert first(unit) == "dependency-waiting"


def test_nothing_is_suspended() -> None:
    jobset = a_jobset()
    (job,) = child_jobs(jobset)
    assert first(unit_of(jobset, job, *pods_of(job, 2, on="n0"))) == "running"
