"""`dependency-waiting`."""

from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.advice import AdviceKind
from gangboard.domain.health import Health
from gangboard.domain.owner import Dependency
from gangboard.facts.unit import Unit
from tests.domain_objects import a_jobset, a_role, ago, child_jobs, pods_of
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in


def waiting(dependency: Dependency, **driver: Any) -> Unit:
    jobset = a_jobset(
        "run",
        a_role("driver", pods=1, **driver),
        a_role("workers", pods=4, depends_on=(dependency,)),
    )
    job, _ = child_jobs(jobset)
    return unit_of(
        jobset,
        job,
        *pods_of(job, 1, on="n0", ready=False),
        name="run-workers-0",
        noun="Job",
        desired=4,
        jobs=(),
        pods=(),
        roles=(jobset.roles[1],),
        missing_jobs=("run-workers-0",),
    )


@pytest.mark.parametrize(
    ("dependency", "driver", "message"),
    [
        (
            Dependency("driver", "Ready"),
            {"ready": 0},
            "workers wait until driver is Ready: 0 of 1 Jobs are.",
        ),
        (
            Dependency("driver", "Complete"),
            {"ready": 1, "succeeded": 0},
            "workers wait until driver is Complete: 0 of 1 Jobs are.",
        ),
        (
            Dependency("driver", "Ready", origin="startupPolicy"),
            {"ready": 0},
            "workers wait until driver is Ready (startup order): 0 of 1 Jobs are.",
        ),
        (Dependency("driver", "Ready"), {}, "workers wait until driver is Ready."),
    ],
)
def test_names_the_part_and_how_far_it_is(
    dependency: Dependency, driver: dict[str, Any], message: str
) -> None:
    unit = waiting(dependency, **driver)
    finding = require_finding("dependency-waiting", unit)
    assert finding.health is Health.WAITING
    assert finding.symptom
    assert finding.message == message
    assert first_code(unit) == "dependency-waiting"
    (read,) = finding.advice
    assert read.command == ("kubectl", "describe", "pods", "-n", "team-a", "run-driver-0-0")


def test_one_job_waits_for_its_dependency() -> None:
    jobset = a_jobset(
        "run",
        a_role("init", jobs=3, pods=1, succeeded=1),
        a_role("leader", pods=1, depends_on=(Dependency("init", "Complete"),)),
    )
    unit = unit_of(jobset, roles=(jobset.roles[1],), missing_jobs=("run-leader-0",), desired=4)
    finding = require_finding("dependency-waiting", unit)
    assert values_in(finding.message) == "1 3"
    assert [(step.kind, step.command) for step in finding.advice] == [(AdviceKind.WAIT_FOR_END, ())]


def test_a_dependency_that_is_met_is_no_reason() -> None:
    unit = waiting(Dependency("driver", "Ready"), ready=1)
    assert evaluate("dependency-waiting", unit) is None
    assert first_code(unit) == "pods-not-created"


def test_a_job_that_succeeded_was_ready() -> None:
    unit = waiting(Dependency("driver", "Ready"), ready=0, succeeded=1)
    assert evaluate("dependency-waiting", unit) is None


def test_existing_pods_do_not_wait_for_a_dependency() -> None:
    """A driver that is unready again does not take its workers away."""
    unit = waiting(Dependency("driver", "Ready"), ready=0)
    job = child_jobs(unit.owner)[1]
    facts = replace(unit.gang, jobs=(job,))
    running = replace(unit, gang=facts, missing_jobs=(), jobs=(job,), pods=pods_of(job, 4, on="n1"))
    assert first_code(running) == "running"


def test_just_met_is_not_overdue() -> None:
    """The JobSet is ten minutes old; the part it depends on has been ready for a minute."""
    finding = require_finding("pods-not-created", waiting(Dependency("driver", "Ready"), ready=1))
    assert finding.health is Health.STARTING
    assert finding.recheck_at == ago(-60)


def test_a_missing_role_waits_for_its_dependency() -> None:
    finding = require_finding("dependency-waiting", waiting(Dependency("nobody", "Ready")))
    assert finding.code == "dependency-waiting"
    (step,) = finding.advice
    assert step.kind is AdviceKind.OTHER
