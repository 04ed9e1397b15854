"""`mixed-schedulers`: on 1.36.3 and 1.37.0 no object reports it (observed)."""

from gangboard.domain.health import Health
from gangboard.facts.unit import Unit
from tests.domain_objects import a_condition, a_group, a_job, a_pod, ago
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of


def pending(*schedulers: str, group: str = "ring", on: str = "") -> Unit:
    job = a_job("train", pods=len(schedulers), group_name=group)
    pods = [
        a_pod(f"train-{index}", of=job, group=group, scheduler_name=name, on=on)
        for index, name in enumerate(schedulers)
    ]
    groups = [a_group(group, quorum=len(schedulers))] if group else []
    return unit_of(job, *groups, *pods)


def test_both_schedulers_are_named() -> None:
    unit = pending("default-scheduler", "kai-scheduler", "default-scheduler")
    finding = require_finding("mixed-schedulers", unit)
    assert finding.health is Health.BLOCKED
    assert finding.message == (
        "Pods of group ring name different schedulers: default-scheduler (2 pods) and "
        "kai-scheduler (1 pod)."
    )
    assert first_code(unit) == "mixed-schedulers"


def test_a_single_scheduler_is_not_mixed() -> None:
    unit = pending("nobody", "nobody")
    assert evaluate("mixed-schedulers", unit) is None
    assert first_code(unit) == "not-attempted"


def test_pods_without_a_group_may_use_any_scheduler() -> None:
    assert evaluate("mixed-schedulers", pending("a", "b", group="")) is None


def test_a_gang_that_was_placed() -> None:
    assert first_code(pending("a", "b", on="n0")) == "running"


def test_a_basic_group_has_no_quorum_that_anybody_waits_for() -> None:
    """Each scheduler takes its own pods: two have nodes, one waits for a scheduler that does not exist."""
    job = a_job("train", pods=3, group_name="ring")
    placed = [a_pod(f"train-{n}", of=job, group="ring", on="n0") for n in (0, 1)]
    other = a_pod("train-2", of=job, group="ring", scheduler_name="other", created_at=ago(600))
    unit = unit_of(job, a_group("ring"), *placed, other)
    assert evaluate("mixed-schedulers", unit) is None
    assert first_code(unit) == "not-attempted"


def basic(
    waiting: str, *, bound: str = "second", said: str = "", minor: tuple[int, int] | None = (1, 37)
) -> Unit:
    """A basic group: one pod of another scheduler has a node, one waits."""
    job = a_job("train", pods=2, group_name="ring")
    first_of = a_pod("train-0", of=job, group="ring", scheduler_name=bound, on="n0")
    error = a_condition(
        "PodScheduled", "False", reason="SchedulerError", message=said, since=ago(300)
    )
    second = a_pod(
        "train-1", of=job, group="ring", scheduler_name=waiting, scheduled=error if said else None
    )
    return unit_of(job, a_group("ring"), first_of, second, facts={"kubernetes": minor})


def test_the_stock_scheduler_refuses_a_basic_group_with_a_pod_of_another() -> None:
    """Since 1.37 it also reads pods with a node (validateScheduledPods). There is no text about it yet."""
    finding = require_finding("mixed-schedulers", basic("default-scheduler"))
    assert finding.message == (
        "Pods of group ring name different schedulers: default-scheduler (1 pod) and second (1 pod)."
    )
    assert first_code(basic("default-scheduler")) == "mixed-schedulers"
    for older in ((1, 36), None):
        assert evaluate("mixed-schedulers", basic("default-scheduler", minor=older)) is None
    assert evaluate("mixed-schedulers", basic("second")) is None
    assert evaluate("mixed-schedulers", basic("other")) is None


def test_a_scheduler_error_is_explained_by_the_named_schedulers() -> None:
    """Two profiles of one scheduler, in any release. The text itself is evidence."""
    unit = basic("other", said=texts.MIXED_SCHEDULERS, minor=None)
    finding = require_finding("mixed-schedulers", unit)
    assert first_code(unit) == "mixed-schedulers"
    reported = [item.value for item in finding.evidence if item.label == "scheduler says"]
    assert reported == [texts.MIXED_SCHEDULERS]
    assert finding.since == ago(300)


def test_an_error_about_unobserved_pods_is_quoted() -> None:
    """All known pods name one scheduler."""
    assert first_code(basic("second", said=texts.MIXED_SCHEDULERS)) == "scheduler-error"
