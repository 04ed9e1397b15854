"""The words of buttons: the effect of a click on a Job that is suspended with its whole gang."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gangboard.domain.action import ClusterLevers
from gangboard.facts.gang import Gang
from tests.domain_objects import failed
from tests.policy.builders import (
    READY,
    WITHOUT,
    a_child,
    a_context,
    a_hold,
    a_trio,
    an_entry,
    make_plan,
)

RUNS = a_trio()
STOPPED = a_trio(suspended=True)
QUEUED = a_trio(suspended=True, queue="lq")
SUSPENDED = a_child(RUNS, "trio-w-1", suspended=True)
PAUSED = {"parallelism": 0, "desired": 0, "paused_parallelism": 2}
PAUSES = replace(WITHOUT, parallelism=True)
NOT_ADMITTED = {"entries": (an_entry(admitted=False),)}
OWN = {"entries": (an_entry("trio-w-1", name="job-trio-w-1", admitted=False),)}
HELD = {"holds": (a_hold(),)}


@pytest.mark.parametrize(
    ("context", "levers", "label", "meaning"),
    [
        (a_context(RUNS), READY, "", ""),
        (a_context(STOPPED, SUSPENDED), READY, "Hold",
         "Keep this Job suspended when the JobSet resumes."),
        (a_context(QUEUED, SUSPENDED, **NOT_ADMITTED), READY, "Hold",
         "Keep this Job suspended when the JobSet resumes."),
        (a_context(RUNS, SUSPENDED, **OWN), READY, "Hold",
         "Keep this Job suspended when Kueue admits it."),
        (a_context(RUNS, SUSPENDED), READY, "Hold", "Keep this Job suspended."),
        (a_context(RUNS), PAUSES, "Pause",
         "Set parallelism to 0: the Job has no pods, and is not suspended."),
        (a_context(STOPPED, SUSPENDED), PAUSES, "Pause",
         "Keep this Job without pods when the JobSet resumes."),
    ],
    ids=["runs", "suspended", "queued", "own queue", "mid-revert", "pause", "pause suspended"],
)  # fmt: skip
def test_a_suspend_button_names_its_effect(
    context: Gang, levers: ClusterLevers, label: str, meaning: str
) -> None:
    plan = make_plan(context, "trio-w-1", "suspend", levers)
    assert (plan.allowed, plan.label, plan.meaning) == (True, label, meaning)


@pytest.mark.parametrize(
    ("context", "label", "meaning"),
    [
        (a_context(RUNS, SUSPENDED, **HELD), "", ""),
        (a_context(STOPPED, SUSPENDED, **HELD), "Release",
         "Remove the Hold; the Job resumes with its JobSet."),
        (a_context(QUEUED, SUSPENDED, **HELD, **NOT_ADMITTED), "Release",
         "Remove the Hold; the Job resumes with its JobSet."),
        (a_context(RUNS, SUSPENDED, **HELD, **OWN), "Release",
         "Remove the Hold; the Job starts when Kueue admits it."),
        (a_context(RUNS, **HELD), "Release", "Remove the Hold; the Job is not suspended."),
        (a_context(a_trio(finish=failed()), SUSPENDED, **HELD), "Release",
         "Remove the Hold; the Job is not changed."),
        (a_context(RUNS, a_child(RUNS, "trio-w-1", **PAUSED)), "", ""),
        (a_context(STOPPED, a_child(RUNS, "trio-w-1", suspended=True, **PAUSED)), "Unpause",
         "Restore parallelism 2; the Job resumes with its JobSet."),
    ],
    ids=["held", "suspended", "queued", "own queue", "runs", "failed", "paused", "both"],
)  # fmt: skip
def test_a_resume_without_effect_says_so(context: Gang, label: str, meaning: str) -> None:
    plan = make_plan(context, "trio-w-1", "resume")
    assert (plan.allowed, plan.label, plan.meaning) == (True, label, meaning)


def test_an_unpause_of_a_suspended_job_does_not_ask_for_a_second_click() -> None:
    """It takes the pause back, so no pause is left to be resumed once more."""
    both = a_child(RUNS, "trio-w-1", suspended=True, **PAUSED)
    assert make_plan(a_context(STOPPED, both), "trio-w-1", "resume", PAUSES).warnings == ()
