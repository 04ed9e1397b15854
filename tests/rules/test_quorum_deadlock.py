"""`quorum-deadlock`: observed on 1.37.0 with a group over driver and workers, dependsOn Ready."""

import json
from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.health import Health
from gangboard.domain.owner import Dependency
from gangboard.facts.unit import Unit
from tests.domain_objects import a_group, a_jobset, a_pod, a_role, child_jobs, pods_of
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of


def deadlocked(quorum: int = 5, version: str = "v1beta1", **driver: Any) -> Unit:
    jobset = a_jobset(
        "run",
        a_role("driver", pods=1, ready=0, group_name="ring"),
        a_role("workers", pods=4, group_name="ring", depends_on=(Dependency("driver", "Ready"),)),
    )
    job, _ = child_jobs(jobset)
    pod = a_pod("run-driver-0-0", of=job, group="ring", **driver)
    group = a_group("ring", quorum=quorum, version=version)
    return unit_of(jobset, job, pod, group, missing_jobs=("run-workers-0",))


def test_the_driver_waits_for_those_that_wait_for_it() -> None:
    finding = require_finding("quorum-deadlock", deadlocked())
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "4 pods of workers are created only once driver is Ready, but group ring needs 5 "
        "pods at once."
    )
    lower, _ = finding.advice
    assert lower.command[:-1] == (
        *("kubectl", "patch", "podgroups.scheduling.k8s.io", "ring", "-n", "team-a"),
        *("--type=merge", "-p"),
    )
    assert json.loads(lower.command[-1]) == {
        "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}}
    }
    assert tuple(step.text for step in finding.advice) == (
        "Lower minCount of PodGroup ring to 1 (no restart).",
        "Give driver and workers a PodGroup each (needs re-creating).",
    )
    assert first_code(deadlocked()) == "quorum-deadlock"


@pytest.mark.parametrize("version", ["v1", "v1alpha3", "v2"])
def test_minimum_can_be_changed_in_later_versions(version: str) -> None:
    finding = require_finding("quorum-deadlock", deadlocked(version=version))
    assert finding.advice_texts[0].startswith("Lower minCount of PodGroup ring to 1 (no restart):")


def test_minimum_cannot_be_changed_in_136() -> None:
    finding = require_finding("quorum-deadlock", deadlocked(version="v1alpha2"))
    assert finding.advice_texts == ("Give driver and workers a PodGroup each (needs re-creating).",)


def test_a_group_owned_by_a_controller_is_no_deadlock() -> None:
    unit = deadlocked()
    assert unit.group is not None
    job = unit.jobs[0]
    owned = replace(unit, group=a_group("ring", quorum=5, of=job))
    assert require_finding("quorum-deadlock", owned).advice_texts == (
        "Give driver and workers a PodGroup each (needs re-creating).",
    )


def test_a_driver_that_reaches_the_quorum_is_no_deadlock() -> None:
    assert evaluate("quorum-deadlock", deadlocked(quorum=1)) is None
    assert first_code(
        deadlocked(quorum=1, text="0/4 nodes are available: 4 Insufficient cpu.")
    ) == ("unschedulable")


def test_a_driver_that_starts_is_no_deadlock() -> None:
    assert first_code(deadlocked(quorum=1, on="n0", ready=False)) == "starting"


def test_the_same_parts_in_two_groups_only_wait() -> None:
    unit = deadlocked()
    workers = replace(
        unit,
        roles=(unit.owner.roles[1],),
        jobs=(),
        pods=(),
        group=None,
        group_name="",
        quorum=None,
        name="workers",
        desired=4,
    )
    assert first_code(workers) == "dependency-waiting"


def test_workers_that_exist_are_only_below_quorum() -> None:
    jobset = a_jobset("run", a_role("driver", pods=1), a_role("workers", pods=4))
    driver, workers = child_jobs(jobset, group_name="ring")
    pods = (*pods_of(driver, 1), *pods_of(workers, 2))
    unit = unit_of(jobset, driver, workers, a_group("ring", quorum=5), *pods)
    assert first_code(unit) == "below-quorum"
