"""`podgroup-terminating`."""

from typing import Any

from gangboard.domain.health import Health
from gangboard.domain.owner import Owner
from tests.domain_objects import a_group, a_job, a_pod, ago, pods_of
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in

GOING: dict[str, Any] = {"deleting_since": ago(40)}


def test_pods_wait_in_a_terminating_group() -> None:
    job = a_job("train", group_name="ring")
    unit = unit_of(job, a_group("ring", quorum=2, **GOING), *pods_of(job, 2))
    finding = require_finding("podgroup-terminating", unit)
    assert finding.health is Health.BLOCKED
    assert finding.message == "PodGroup ring is being deleted while 2 pods still wait in it."
    assert finding.since == ago(40)
    assert first_code(unit) == "podgroup-terminating"


def test_a_terminating_group_with_one_placed_member() -> None:
    job = a_job("train", group_name="ring")
    pods = (a_pod("train-0", of=job, group="ring", on="n0"), a_pod("train-1", group="ring"))
    unit = unit_of(job, a_group("ring", quorum=2, **GOING), *pods)
    assert values_in(require_finding("podgroup-terminating", unit).message) == "1"


def test_a_gang_that_runs_whole_runs() -> None:
    job = a_job("train", group_name="ring")
    unit = unit_of(job, a_group("ring", quorum=2, **GOING), *pods_of(job, 2, on="n0"))
    assert evaluate("podgroup-terminating", unit) is None
    assert first_code(unit) == "running"


def test_a_group_that_stays() -> None:
    job = a_job("train", group_name="ring")
    assert (
        evaluate("podgroup-terminating", unit_of(job, a_group("ring", quorum=2), *pods_of(job, 2)))
        is None
    )


def test_a_job_leaves_it_while_it_is_suspended() -> None:
    """Seen on 1.36.3 and 1.37.0: it goes with the pods, and takes the new ones under its name."""
    job = a_job("train", group_name="ring")
    unit = unit_of(job, a_group("ring", quorum=2, **GOING), *pods_of(job, 2))
    assert require_finding("podgroup-terminating", unit).advice_texts == (
        "Suspend Job train, re-create PodGroup ring when it is gone, and resume the Job.",
    )


def test_the_group_of_a_job_controller_comes_with_a_new_job_only() -> None:
    """Seen on 1.37.0: the pods of the resumed Job had no group."""
    job = a_job("train")
    own = a_group("train-7d-train-pgt-0-99", quorum=2, of=job, **GOING)
    unit = unit_of(job, own, *pods_of(job, 2, group=own))
    assert require_finding("podgroup-terminating", unit).advice_texts == (
        "Re-create Job train: only a new Job gets a new PodGroup.",
    )


def test_pods_without_a_controller_are_deleted() -> None:
    group = a_group("ring", quorum=3, **GOING)
    pods = [a_pod(f"m-{n}", group="ring") for n in (0, 1)]
    unit = unit_of(Owner(meta=group.meta, desired=3), group, *pods)
    assert require_finding("podgroup-terminating", unit).advice_texts == (
        "Delete its 2 pods, and re-create PodGroup ring and its pods when it is gone.",
    )


def test_finalizers_of_other_controllers_are_considered() -> None:
    job = a_job("train", group_name="ring")
    group, foreign_pod = a_group("ring", quorum=2, **GOING), a_pod("other", group="ring")
    unit = unit_of(job, group, *pods_of(job, 2), facts={"foreign_pods": (foreign_pod,)})
    assert require_finding("podgroup-terminating", unit).advice_texts == ()
    terminating = a_job("train", group_name="ring", **GOING)
    assert (
        require_finding(
            "podgroup-terminating", unit_of(terminating, group, *pods_of(terminating, 2))
        ).advice_texts
        == ()
    )
