"""`hold`: the objects that the actor may create, and the release of a Hold if no other action is allowed."""

from __future__ import annotations

from dataclasses import replace

from gangboard.domain.action import ClusterLevers, PolicyState, StepKind, Verb
from gangboard.domain.hold import Hold
from gangboard.levers.hold import HoldLever
from gangboard.policy.decision import Decision, DesiredAction, PlanRefusal
from tests.domain_objects import NOW, a_jobset, a_meta, a_role, child_jobs
from tests.gangs import a_gang

LEVER = HoldLever()


def test_holds_may_be_owned_by_the_kinds_whose_jobs_can_be_held_only() -> None:
    objects = LEVER.created_resource((("a.example", "A"), ("b.example", "B")))
    assert (objects.plural, objects.verbs) == ("holds", ("create", "delete", "get", "list"))
    owners = next(rule.expression for rule in objects.rules if "ownerReferences" in rule.expression)
    assert (
        "o.kind == 'A' && o.apiVersion.startsWith('a.example/') || "
        "o.kind == 'B' && o.apiVersion.startsWith('b.example/')"
    ) in owners
    nobody = LEVER.created_resource(())
    assert any("(false)" in rule.expression for rule in nobody.rules)


def test_a_blocked_job_is_released_and_not_resumed() -> None:
    owner = a_jobset("run", a_role("w", jobs=2, pods=2))
    job = replace(child_jobs(owner)[0], suspended=True)
    hold = Hold(a_meta("gangboard.dev", "Hold", "h"), job.meta.ref.name, owner.meta.ref.uid)
    gang = a_gang(owner, (job,), holds=(hold,))
    desired = DesiredAction(Verb.RESUME, ClusterLevers(), NOW)
    free = LEVER.decide(gang, job, desired)
    assert isinstance(free, Decision)
    assert [step.kind for step in free.steps()] == [
        StepKind.DELETE_HOLD,
        StepKind.PROVE_RELEASE,
        StepKind.PATCH,
    ]
    decision = LEVER.decide(gang, job, replace(desired, blocked=PlanRefusal("It is managed.")))
    assert isinstance(decision, Decision)
    assert [step.kind for step in decision.steps()] == [StepKind.DELETE_HOLD]
    assert (decision.reactions, decision.resumes) == (
        ("Only the Hold is removed.", "It is managed."),
        False,
    )


def test_a_person_releases_all_holds_and_an_end_only_its_own() -> None:
    owner = a_jobset("run", a_role("w", jobs=2, pods=2))
    job = replace(child_jobs(owner)[0], suspended=True)
    first, second = (
        Hold(a_meta("gangboard.dev", "Hold", name, uid=name), job.meta.ref.name, owner.meta.ref.uid)
        for name in ("one", "two")
    )
    gang = a_gang(owner, (job,), holds=(first, second))
    desired = DesiredAction(Verb.RESUME, ClusterLevers(), NOW)
    person = LEVER.decide(gang, job, desired)
    end = LEVER.decide(gang, job, replace(desired, ended_hold="two"))
    assert isinstance(person, Decision)
    assert isinstance(end, Decision)
    assert (person.before["Hold"], person.after["Hold"]) == ("one, two", "none")
    assert person.reactions[0] == "Holds one, two are removed."
    assert [step.subject.name for step in person.steps()[:2]] == ["one", "two"]
    assert (person.resumes, end.resumes) == (True, False)
    assert (end.before["Hold"], end.after["Hold"]) == ("one, two", "one")
    assert [(step.kind, step.subject.name) for step in end.steps()] == [
        (StepKind.DELETE_HOLD, "two")
    ]


def test_a_missing_hold_names_the_install_command() -> None:
    refusal = LEVER.unavailable(ClusterLevers(cluster="east", hold=PolicyState.MISSING))
    assert refusal == PlanRefusal(
        "the Hold is not installed here",
        "manage.py print_rbac --cluster east | kubectl apply -f -",
    )
    assert LEVER.unavailable(ClusterLevers(hold=PolicyState.NOT_SEEN)) is None
