"""`scheduler-error`."""

from gangboard.domain.advice import AdviceKind
from gangboard.domain.health import Health
from gangboard.facts.unit import Unit
from tests.domain_objects import a_condition, a_group, a_job, a_pod, ago, placed
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of

ERROR = a_condition(
    "PodScheduled",
    "False",
    reason="SchedulerError",
    message=texts.CLAIM_HIDDEN,
    since=ago(300),
)


def erring(
    quorum: int = 2,
    of_group: bool = False,
    text: str = texts.MIXED_SCHEDULERS,
    **second: str,
) -> Unit:
    job = a_job("train", group_name="ring")
    reported = placed("False", text, "SchedulerError") if of_group else None
    group = a_group("ring", quorum=quorum, placed=reported)
    scheduled = None if of_group else ERROR
    item = a_pod("train-0", of=job, group="ring", scheduled=scheduled)
    return unit_of(job, group, item, a_pod("train-1", of=job, group="ring", **second))


def test_the_error_is_quoted() -> None:
    finding = require_finding("scheduler-error", erring())
    assert finding.health is Health.BLOCKED
    assert finding.message == (f"Scheduling 2 pods ended in an error: {texts.CLAIM_HIDDEN}.")
    assert finding.since == ago(300)
    assert first_code(erring()) == "scheduler-error"


def test_a_group_condition_is_quoted() -> None:
    assert require_finding("scheduler-error", erring(of_group=True)).evidence[0].value == (
        texts.MIXED_SCHEDULERS
    )


def test_a_shortage_is_no_scheduler_error() -> None:
    job = a_job("train")
    unit = unit_of(job, *[a_pod(f"train-{n}", of=job, text=texts.GPU_SHORT) for n in (0, 1)])
    assert evaluate("scheduler-error", unit) is None
    assert first_code(unit) == "unschedulable"


def test_a_gang_at_its_quorum_is_below_its_size() -> None:
    unit = erring(quorum=1, on="n0")
    assert evaluate("scheduler-error", unit) is None
    assert first_code(unit) == "below-size"


def test_only_unambiguous_texts_are_scheduler_errors() -> None:
    (look,) = require_finding("scheduler-error", erring()).advice
    assert (look.kind, look.command) == (AdviceKind.LOOK, ())
    assert "scheduler default-scheduler about pod train-0" in look.text
    assert require_finding("scheduler-error", erring(of_group=True)).advice_texts == (
        "Give all pods of group ring one schedulerName (needs re-creating).",
    )
    policy = (
        "all pods in a single pod group should have the same preemption policy, got "
        '"PreemptLowerPriority" and "Never"'
    )
    assert require_finding("scheduler-error", erring(of_group=True, text=policy)).advice_texts == (
        "Give all pods of group ring one preemptionPolicy, that of the group if it has one "
        "(needs re-creating).",
    )
