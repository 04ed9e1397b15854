"""`starting`."""

from typing import Any

from gangboard.domain.health import Health
from gangboard.facts.unit import Unit
from tests.domain_objects import (
    Made,
    a_container,
    a_group,
    a_job,
    a_jobset,
    a_node,
    a_pod,
    ago,
    child_jobs,
    placed,
    pods_of,
)
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in

CREATING = (a_container(running=False, state="waiting", reason="ContainerCreating"),)


def coming_up(ready: int, creating: int, unready: int, *objects: Made, **fields: Any) -> Unit:
    size = ready + creating + unready
    job = a_job("train", pods=size, group_name="ring")
    pods = [a_pod(f"r{n}", of=job, group="ring", on="n0") for n in range(ready)]
    pods += [
        a_pod(
            f"c{n}", of=job, group="ring", on="n0", phase="Pending", ready=None, containers=CREATING
        )
        for n in range(creating)
    ]
    pods += [a_pod(f"u{n}", of=job, group="ring", on="n1", ready=False) for n in range(unready)]
    group = a_group("ring", **{"quorum": size, "placed": placed(), **fields})
    return unit_of(job, group, *pods, *objects)


def test_all_are_placed_and_some_are_not_ready() -> None:
    unit = coming_up(5, 2, 1)
    finding = require_finding("starting", unit)
    assert finding.health is Health.STARTING
    assert (
        finding.message
        == "All 8 pods are placed; containers of 2 are being created, 1 is not ready yet."
    )
    assert first_code(unit) == "starting"


def test_placed_at_once_and_never_ready_is_no_loss() -> None:
    """The group's condition turns True at its placement, before any member runs."""
    assert first_code(coming_up(1, 7, 0)) == "starting"


def test_a_node_that_is_not_ready_is_named() -> None:
    finding = require_finding(
        "starting", coming_up(0, 2, 2, a_node("n0"), a_node("n1", ready=None))
    )
    assert values_in(finding.message) == "4 2 2 n1"


def test_all_are_ready() -> None:
    assert evaluate("starting", coming_up(4, 0, 0)) is None
    assert first_code(coming_up(4, 0, 0)) == "running"


def test_a_growing_gang_at_its_quorum_resizes() -> None:
    assert first_code(coming_up(5, 2, 1, quorum=4)) == "resizing"


def test_coming_back_from_a_restart_is_a_restart() -> None:
    jobset = a_jobset("run", restarts=1, max_restarts=3, restarting=True)
    (job,) = child_jobs(jobset, created_at=ago(5))
    unit = unit_of(jobset, job, *pods_of(job, 2, on="n0", ready=False))
    assert evaluate("starting", unit) is None
    assert first_code(unit) == "restarting"


def test_resumed_gangs_start_over() -> None:
    """Their PodGroup is still True from before the suspend, their first pod is ready."""
    job = a_job("train", group_name="ring", resumed_at=ago(5))
    pods = [
        a_pod("train-0", of=job, group="ring", on="n0", created_at=ago(5)),
        a_pod("train-1", of=job, group="ring", on="n1", created_at=ago(5), ready=False),
    ]
    unit = unit_of(job, a_group("ring", quorum=2, placed=placed()), *pods)
    assert first_code(unit) == "starting"
