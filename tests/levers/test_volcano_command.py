"""`volcano_command`: the Commands that abort and resume a Job of Volcano, and their refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.action import ClusterLevers, StepKind, Verb
from gangboard.domain.owner import Owner
from gangboard.levers.volcano_command import VolcanoCommand
from gangboard.policy.decision import Decision, DesiredAction, PlanRefusal
from tests.domain_objects import NOW, a_meta
from tests.gangs import a_gang

LEVER = VolcanoCommand()


def a_vcjob(phase: str = "Running", *, retries: int = 0, most: int = 3) -> Owner:
    meta = a_meta("batch.volcano.sh", "Job", "mnist", uid="v1", version="v1alpha1")
    detail = {"phase": phase, "retries": str(retries), "maxRetry": str(most)}
    return Owner(meta, desired=3, suspended=phase in ("Aborting", "Aborted"), detail=detail)


def decision_for(verb: Verb, owner: Owner) -> Decision | PlanRefusal:
    gang = a_gang(owner)
    return LEVER.decide(gang, owner, DesiredAction(verb, ClusterLevers(), NOW, action="a-1"))


@pytest.mark.parametrize(
    ("verb", "phase", "action"),
    [(Verb.SUSPEND, "Running", "AbortJob"), (Verb.RESUME, "Aborted", "ResumeJob")],
)
def test_the_command_equals_that_of_vcctl(verb: Verb, phase: str, action: str) -> None:
    """gang-owners.md §5.4, but for the name."""
    decision = decision_for(verb, a_vcjob(phase))
    assert isinstance(decision, Decision)
    (step,) = decision.steps()
    assert (step.kind, step.method) == (StepKind.CREATE, "POST")
    assert step.path == "/apis/bus.volcano.sh/v1alpha1/namespaces/team-a/commands"
    target = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": "mnist",
        "uid": "v1",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert json.loads(step.patch) == {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {
            "name": "mnist-a-1",
            "namespace": "team-a",
            "annotations": {"gangboard.dev/action": "a-1"},
            "ownerReferences": [target],
        },
        "target": target,
        "action": action,
    }


def test_a_name_is_cut_where_it_would_be_too_long() -> None:
    job = a_vcjob()
    long = replace(job, meta=replace(job.meta, ref=replace(job.meta.ref, name="m" * 253)))
    decision = decision_for(Verb.SUSPEND, long)
    assert isinstance(decision, Decision)
    name = json.loads(decision.steps()[0].patch)["metadata"]["name"]
    assert len(name) == 253
    assert name.endswith("m-a-1")


@pytest.mark.parametrize(
    ("verb", "job", "why"),
    [
        (Verb.SUSPEND, a_vcjob("Aborted"), "Job mnist is suspended already: nothing to do."),
        (Verb.RESUME, a_vcjob("Running"), "Job mnist is not suspended: nothing to do."),
        (
            Verb.SUSPEND,
            a_vcjob("Restarting"),
            "Job mnist is restarting, and Volcano forgets a Command that comes meanwhile: try again "
            "when that is over.",
        ),
        (
            Verb.RESUME,
            a_vcjob("Aborted", retries=2),
            "A resume would end Job mnist: it counts as a retry, 2 of 3 are used, and at maxRetry the "
            "Job fails.",
        ),
    ],
)
def test_refused_commands_have_a_cause(verb: Verb, job: Owner, why: str) -> None:
    decision = decision_for(verb, job)
    assert isinstance(decision, PlanRefusal)
    assert decision.why == why


def test_the_cost_of_a_resume_is_shown_before_the_click() -> None:
    resume = decision_for(Verb.RESUME, a_vcjob("Aborted", retries=1))
    assert isinstance(resume, Decision)
    assert resume.warnings == ("A resume counts as a retry: 1 is left after it.",)
    last = decision_for(Verb.SUSPEND, a_vcjob(retries=2))
    assert isinstance(last, Decision)
    assert "could not be resumed" in last.warnings[0]
    first = decision_for(Verb.SUSPEND, a_vcjob())
    assert isinstance(first, Decision)
    assert first.warnings == ()


@pytest.mark.parametrize(
    ("phase", "aborted", "resumed"),
    [
        ("Aborting", False, False),
        ("Aborted", True, False),
        ("Restarting", False, False),
        ("Pending", False, True),
        ("Running", False, True),
        ("Failed", False, False),
        (None, False, False),
    ],
)
def test_the_phase_shows_whether_the_command_took_effect(
    phase: str | None, aborted: bool, resumed: bool
) -> None:
    raw: dict[str, Any] = {"status": {"state": {"phase": phase}}}
    assert (LEVER.confirms_action(raw, True), LEVER.confirms_action(raw, False)) == (
        aborted,
        resumed,
    )
    assert not LEVER.confirms_action({}, True)
