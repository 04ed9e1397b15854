"""A reason that no release knew when this one was made is an error with its text, never `starting`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangboard.facts.unit import Unit
from tests.domain_objects import a_condition, a_group, a_job, a_pod, placed
from tests.rules import texts
from tests.rules.evaluation import first_code, require_finding, unit_of

KNOWN = {"Schedulable", "Unschedulable", "SchedulerError", "SchedulingGated", "SchedulingSkipped"}
REASONS = st.from_regex(r"[A-Z][A-Za-z]{2,30}", fullmatch=True).filter(lambda one: one not in KNOWN)


def refused(reason: str, text: str, *, of_pods: bool = False) -> Unit:
    job = a_job("train", group_name="ring")
    reported = (
        a_condition("PodScheduled", "False", reason=reason, message=text) if of_pods else None
    )
    group = a_group("ring", quorum=2, placed=None if of_pods else placed("False", text, reason))
    pods = [a_pod(f"train-{index}", of=job, group="ring", scheduled=reported) for index in (0, 1)]
    return unit_of(job, group, *pods)


@pytest.mark.parametrize("reason", ["PodGroupError", "CompositePodGroupError"])
def test_a_group_that_is_wrong(reason: str) -> None:
    assert first_code(refused(reason, texts.CLAIM_HIDDEN)) == "scheduler-error"
    assert first_code(refused(reason, texts.PRIORITIES)) == "priority-mismatch"


@given(reason=REASONS, of_pods=st.booleans())
def test_any_unknown_reason_is_a_scheduler_error(reason: str, of_pods: bool) -> None:
    unit = refused(reason, "the frobnicator is jammed", of_pods=of_pods)
    assert first_code(unit) == "scheduler-error"
    assert require_finding("scheduler-error", unit).evidence[0].value == "the frobnicator is jammed"


@given(reason=REASONS)
def test_a_reason_without_a_text_is_its_own_text(reason: str) -> None:
    assert require_finding("scheduler-error", refused(reason, "")).evidence[0].value == reason


def test_a_placeable_pod_reports_no_error() -> None:
    """Volcano 1.14.1 writes this reason, with the status False, while the gang of such a pod waits."""
    reported = "3/3 tasks in gang unschedulable: pod group is not ready, 3 minAvailable"
    assert first_code(refused("Schedulable", reported, of_pods=True)) != "scheduler-error"


def test_a_shortage_stays_a_shortage() -> None:
    assert first_code(refused("Unschedulable", texts.GROUP_SHORT)) == "unschedulable"
