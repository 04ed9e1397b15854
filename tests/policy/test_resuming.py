"""Resuming one Job by its Hold, pause or bare suspend (design §5, real-control-plane.md §3, last row)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.action import ClusterLevers, Plan, PolicyState, StepKind
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Dependency, Owner
from gangboard.facts.gang import Gang
from tests.domain_objects import a_jobset, a_role, ago, failed, with_cluster
from tests.policy.builders import (
    CLAIM,
    NATIVE,
    READY,
    WITHOUT,
    a_child,
    a_context,
    a_hold,
    a_standalone,
    a_trio,
    an_entry,
    bodies,
    make_plan,
    text,
)
from tests.sentence_values import values_in

TRIO = a_trio()
ABOVE = Controller("argoproj.io", "Workflow", "nightly", "uid-nightly")
HOLD = "/apis/gangboard.dev/v1alpha1/namespaces/team-a/holds/trio-w-1-h"
RESUME = [
    {"op": "test", "path": "/metadata/uid", "value": "uid-trio-w-1"},
    {"op": "test", "path": "/metadata/generation", "value": 4},
    {"op": "test", "path": "/spec/suspend", "value": True},
    {"op": "add", "path": "/spec/suspend", "value": False},
    {"op": "add", "path": "/metadata/annotations/gangboard.dev~1action", "value": "a-1"},
]


def _held(owner: Owner = TRIO, **fields: Any) -> Gang:
    child = a_child(TRIO, "trio-w-1", **{"suspended": True, **fields})
    return a_context(owner, child, holds=(a_hold(),))


@pytest.mark.parametrize("levers", [READY, WITHOUT, replace(READY, hold=PolicyState.CHANGED)])
def test_a_hold_is_removed_proved_and_then_the_job_is_resumed(levers: ClusterLevers) -> None:
    plan = make_plan(_held(), "trio-w-1", "resume", levers)
    assert plan.lever == "hold"
    assert [step.kind for step in plan.steps] == [
        StepKind.DELETE_HOLD,
        StepKind.PROVE_RELEASE,
        StepKind.PATCH,
    ]
    delete, prove, _ = plan.steps
    assert (delete.method, delete.path) == ("DELETE", HOLD)
    assert (prove.method, prove.dry_run) == ("MERGE", True)
    options, proof, operations = bodies(plan)
    assert options["preconditions"] == {"uid": "uid-trio-w-1-h"}
    assert proof == {"spec": {"suspend": False}}
    assert operations == RESUME
    assert plan.before == {"spec.suspend": "true", "Hold": "trio-w-1-h"}
    assert plan.after == {"spec.suspend": "false", "Hold": "none"}
    assert plan.watch_seconds == 3
    assert text(plan) == (
        "Its 2 pods are created: they need capacity, may have to wait, and may get other nodes."
    )


RELEASES = [
    ("suspended", _held(a_trio(suspended=True)),
     "Only the Hold is removed: JobSet trio is suspended, and the Job starts when the JobSet does."),
    ("not admitted", replace(_held(a_trio(suspended=True, queue="lq")),
                             entries=(an_entry(admitted=False),)),
     "Only the Hold is removed: Kueue has not admitted JobSet trio, and the Job starts when the "
     "JobSet does."),
    ("not suspended", _held(suspended=False),
     "Only the Hold is removed: Job trio-w-1 is not suspended."),
    ("ended", _held(a_trio(finish=failed())), "JobSet trio has failed: there is nothing left to suspend or resume."),
    ("going", _held(deleting_since=ago(1)), "Job trio-w-1 is being deleted."),
    ("foreign", _held(a_trio(of=ABOVE)),
     "JobSet trio is owned by Workflow/nightly; it would undo this."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("context", "says"), [case[1:] for case in RELEASES], ids=[case[0] for case in RELEASES]
)
def test_a_resume_only_deletes_the_hold(context: Gang, says: str) -> None:
    """The state of the owner never blocks its removal, and the Job does not change."""
    plan = make_plan(context, "trio-w-1", "resume")
    assert [step.kind for step in plan.steps] == [StepKind.DELETE_HOLD]
    assert plan.before["spec.suspend"] == plan.after["spec.suspend"]
    assert says in plan.reactions


def test_every_hold_on_the_job_is_removed() -> None:
    """A second Hold was created by hand. With one left, the Job would stay suspended."""
    context = replace(
        _held(), holds=(a_hold(), a_hold(name="by-hand", by="bob", reason="do not touch"))
    )
    plan = make_plan(context, "trio-w-1", "resume")
    assert [step.subject.name for step in plan.steps[:2]] == ["trio-w-1-h", "by-hand"]
    assert len(plan.steps) == 4
    assert "Hold by-hand was made by bob: “do not touch”" in plan.warnings
    assert not make_plan(context, "trio-w-1", "resume", by="bob").warnings


def test_a_pause_is_taken_back_to_the_kept_number() -> None:
    child = a_child(TRIO, "trio-w-1", parallelism=0, desired=0, paused_parallelism=2)
    plan = make_plan(a_context(TRIO, child), "trio-w-1", "resume", replace(READY, parallelism=True))
    assert plan.lever == "parallelism"
    (operations,) = bodies(plan)
    assert operations[2:] == [
        {"op": "test", "path": "/spec/parallelism", "value": 0},
        {"op": "add", "path": "/spec/parallelism", "value": 2},
        {"op": "add", "path": "/metadata/annotations/gangboard.dev~1action", "value": "a-1"},
        {"op": "remove", "path": "/metadata/annotations/gangboard.dev~1paused-parallelism"},
    ]
    assert plan.watch_seconds == 40
    assert plan.warnings == ()
    assert "Its 2 pods are created" in text(plan)
    off = make_plan(a_context(TRIO, child), "trio-w-1", "resume")
    assert off.allowed
    assert "not enabled here any more" in text(off)


def test_a_left_over_annotation_is_no_pause() -> None:
    child = a_child(TRIO, "trio-w-1", parallelism=2, paused_parallelism=2)
    assert not make_plan(a_context(TRIO, child), "trio-w-1", "resume").allowed
    assert make_plan(a_context(TRIO, child), "trio-w-1", "suspend").allowed


def test_held_and_paused_takes_two_resumes() -> None:
    plan = make_plan(_held(parallelism=0, desired=0, paused_parallelism=2), "trio-w-1", "resume")
    assert plan.lever == "hold"
    assert plan.reactions == ("It requests no pods (parallelism 0).",)
    assert (
        "It is paused as well (parallelism 0): resume it once more for its 2 pods." in plan.warnings
    )


def test_a_job_whose_hold_was_deleted_by_hand_is_proved_and_resumed() -> None:
    """Its controller does not resume it until the Job changes (observed for 15 s)."""
    child = a_child(TRIO, "trio-w-1", suspended=True, held_by="gone")
    plan = make_plan(a_context(TRIO, child), "trio-w-1", "resume")
    assert plan.lever == "native"
    assert [step.kind for step in plan.steps] == [StepKind.PROVE_RELEASE, StepKind.PATCH]
    assert bodies(plan)[1] == RESUME


def test_a_native_job_is_resumed_by_its_field() -> None:
    owner = a_trio(independent_claim=CLAIM)
    context = a_context(owner, a_child(owner, "trio-w-1", suspended=True))
    plan = make_plan(context, "trio-w-1", "resume", NATIVE)
    assert (plan.lever, bodies(plan)) == ("native", [RESUME])


def test_a_resume_before_its_dependency_gets_a_warning() -> None:
    """JobSet itself would not resume it yet (resumeJobsIfNecessary, v0.12)."""
    owner = a_jobset(
        "ft",
        a_role("driver", pods=1, ready=0, succeeded=0),
        a_role("workers", depends_on=(Dependency("driver", "Ready"),)),
    )
    child = a_child(owner, "ft-workers-0", suspended=True)
    context = a_context(owner, child, holds=(a_hold("ft-workers-0", "ft"),))
    assert (
        "workers should wait until driver is Ready, and 0 of 1 Jobs are: it starts all the same."
        in make_plan(context, "ft-workers-0", "resume").warnings
    )


ENDING: dict[str, Any] = {"suspended": True, "terminating_pods": 2}


def overlaps(plan: Plan) -> list[str]:
    assert plan.allowed, plan.why_not
    return [values_in(text) for text in plan.warnings if "twice at once" in text]


def test_a_job_whose_old_pods_still_terminate_gets_a_warning() -> None:
    """Seen on 1.36 and 1.37: each index runs twice at once (relocate.md §7)."""
    owner = a_trio()
    for fields, expected in (
        (ENDING, ["2"]),
        ({**ENDING, "waits_for_terminating": True}, []),  # podReplacementPolicy: Failed
        ({"suspended": True}, []),
    ):
        context = a_context(owner, a_child(owner, "trio-w-1", **fields), holds=(a_hold(),))
        assert overlaps(make_plan(context, "trio-w-1", "resume")) == expected


def test_an_owner_whose_old_pods_still_terminate_gets_a_warning() -> None:
    owner = a_trio(suspended=True)
    jobs = [a_child(owner, f"trio-w-{index}", **ENDING) for index in range(2)]
    assert overlaps(make_plan(a_context(owner, *jobs), "trio", "resume")) == ["4"]
    held = a_context(owner, *jobs, holds=(a_hold("trio-w-1"),))
    assert overlaps(make_plan(held, "trio", "resume")) == ["2"]
    alone = a_standalone(suspended=True, terminating_pods=1)
    assert overlaps(make_plan(alone, "train", "resume")) == ["1"]


def test_a_suspend_has_no_warning_about_old_pods() -> None:
    owner = a_trio()
    context = a_context(owner, a_child(owner, "trio-w-1", terminating_pods=2))
    assert overlaps(make_plan(context, "trio", "suspend")) == []


OWN = an_entry("trio-w-1", name="job-trio-w-1-9f8e7", admitted=False, conditions=())


@pytest.mark.parametrize(
    ("own", "why"),
    [
        ((OWN,), "Kueue has not admitted Job trio-w-1: Job trio-w-1 starts when it is admitted."),
        (
            (replace(OWN, active=False),),
            "Workload job-trio-w-1-9f8e7 of Job trio-w-1 is deactivated: "
            "Job trio-w-1 starts when that is activated and admitted.",
        ),
        (
            (),
            "Job trio-w-1 may wait in queue lq: Job trio-w-1 starts when that has admitted it.",
        ),
    ],
    ids=["waits", "deactivated", "not known"],
)
def test_a_job_that_a_queue_of_its_own_keeps_is_not_resumed(own: Any, why: str) -> None:
    """Kueue would suspend it again at once (jobset-kueue.md §3.5)."""
    job = a_child(TRIO, "trio-w-1", suspended=True, queue="lq")
    context = a_context(TRIO, job, entries=own)
    assert make_plan(context, "trio-w-1", "resume").why_not == why
    held = replace(context, holds=(a_hold(),))
    plan = make_plan(held, "trio-w-1", "resume")
    assert [step.kind for step in plan.steps] == [StepKind.DELETE_HOLD]
    assert plan.reactions[0].startswith("Only the Hold is removed: ")


def test_a_queue_label_does_not_prevent_a_resume_without_a_served_queue() -> None:
    context = a_context(TRIO, a_child(TRIO, "trio-w-1", suspended=True, queue="lq"))
    plan = make_plan(with_cluster(context, queue_visibility="not-served"), "trio-w-1", "resume")
    assert plan.lever == "native"
