"""`podgroup-terminating`."""

from typing import Any

from gangboard.domain.health import Health
from tests.diagnosis.building import a_group, a_job, a_pod, ago, pods_of
from tests.rules.asking import ask, first, found, unit_of

GOING: dict[str, Any] = {"deleting_since": ago(40)}


def test_pods_wait_in_a_group_that_goes() -> None:
    job = a_job("train", group_name="ring")
    unit = unit_of(job, a_group("ring", quorum=2, **GOING), *pods_of(job, 2))
    finding = found("podgroup-terminating", unit)
    assert finding.health is Health.BLOCKED
    assert finding.message == "PodGroup ring is being deleted while 2 pods still wait in it."
    assert finding.since == ago(40)
    assert first(unit) == "podgroup-terminating"


def test_one_member_left() -> None:
    job = a_job("train", group_name="ring")
    pods = (a_pod("train-0", of=job, group="ring", on="n0"), a_pod("train-1", group="ring"))
    unit = unit_of(job, a_group("ring", quorum=2, **GOING), *pods)
    assert found("podgroup-terminating", unit).message == (
        "PodGroup ring is being deleted while 1 pod still waits in it."
    )


def test_a_gang_that_runs_whole_runs() -> None:
    job = a_job("train", group_name="ring")
    unit = unit_of(job, a_group("ring", quorum=2, **GOING), *pods_of(job, 2, on="n0"))
    assert ask("podgroup-terminating", unit) is None
    assert first(unit) == "running"


def test_a_group_that_stays() -> None:
    job = a_job("train", group_name="ring")
    assert (
        ask("podgroup-terminating", unit_of(job, a_group("ring", quorum=2), *pods_of(job, 2)))
        is None
    )
