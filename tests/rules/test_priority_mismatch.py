"""`priority-mismatch`."""

from gangboard.domain.health import Health
from gangboard.facts.unit import Unit
from tests.domain_objects import a_condition, a_group, a_job, a_pod, placed
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of
from tests.sentence_values import values_in


def erring(message: str, priority: int | None = 1000) -> Unit:
    job = a_job("train", group_name="ring")
    condition = a_condition("PodScheduled", "False", reason="SchedulerError", message=message)
    group = a_group("ring", quorum=2, priority=priority)
    pods = [a_pod(f"train-{index}", of=job, group="ring", scheduled=condition) for index in (0, 1)]
    return unit_of(job, group, *pods)


def test_both_priorities_are_shown() -> None:
    finding = require_finding("priority-mismatch", erring(texts.PRIORITIES))
    assert finding.health is Health.BLOCKED
    assert values_in(finding.message) == "1000 2 0"
    assert finding.evidence[0].value == texts.PRIORITIES
    assert first_code(erring(texts.PRIORITIES)) == "priority-mismatch"


def test_the_scheduler_text_alone_is_enough() -> None:
    assert (
        require_finding("priority-mismatch", erring(texts.PRIORITIES, priority=None)).code
        == "priority-mismatch"
    )


def test_other_errors_are_no_priority_mismatch() -> None:
    assert evaluate("priority-mismatch", erring(texts.CLAIM_HIDDEN)) is None
    assert first_code(erring(texts.CLAIM_HIDDEN)) == "scheduler-error"


def test_different_numbers_without_the_scheduler_saying_so() -> None:
    job = a_job("train", group_name="ring")
    pods = [a_pod(f"train-{index}", of=job, group="ring", text=texts.GPU_SHORT) for index in (0, 1)]
    group = a_group("ring", quorum=2, priority=7, placed=placed("False", texts.GROUP_SHORT))
    assert first_code(unit_of(job, group, *pods)) == "unschedulable"


def test_mismatched_priorities_cannot_be_changed_in_place() -> None:
    assert require_finding("priority-mismatch", erring(texts.PRIORITIES)).advice_texts == (
        "Give all pods a priorityClassName of value 1000, that of group ring, or group and pods "
        "another one together (needs re-creating).",
    )
    assert require_finding(
        "priority-mismatch", erring(texts.PRIORITIES, priority=None)
    ).advice_texts == (
        "Give group ring and all its pods one priorityClassName (needs re-creating).",
    )
