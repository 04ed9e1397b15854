"""The owner as a whole: Kueue's Workloads, its Jobs one by one, or its own field (design §5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gangboard.domain.action import StepKind
from gangboard.domain.objects import Condition
from gangboard.domain.owner import Owner
from gangboard.facts.gang import Gang
from tests.domain_objects import a_group, a_jobset, a_role, succeeded, with_cluster
from tests.gangs import a_gang
from tests.policy.builders import (
    CLAIM,
    NATIVE,
    READY,
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

WORKLOAD = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/workloads/jobset-trio-1a2b3"


def _queued(owner: Owner | None = None, **entry: Any) -> Gang:
    return a_context(owner or a_trio(queue="lq"), entries=(an_entry(**entry),))


def test_a_jobset_is_suspended_by_its_own_field() -> None:
    owner = a_trio(generation=9)
    owner = replace(owner, meta=replace(owner.meta, annotated=True))
    plan = make_plan(a_context(owner), "trio", "suspend")
    assert plan.lever == "suspend"
    (step,), (operations,) = plan.steps, bodies(plan)
    assert step.path == "/apis/jobset.x-k8s.io/v1alpha2/namespaces/team-a/jobsets/trio"
    assert operations == [
        {"op": "test", "path": "/metadata/uid", "value": "uid-trio"},
        {"op": "test", "path": "/metadata/generation", "value": 9},
        # No test of spec.suspend: a JobSet that runs may have none.
        {"op": "add", "path": "/spec/suspend", "value": True},
        {"op": "add", "path": "/metadata/annotations/gangboard.dev~1action", "value": "a-1"},
    ]
    assert (plan.before, plan.after) == ({"spec.suspend": "false"}, {"spec.suspend": "true"})
    assert plan.watch_seconds == 40
    assert plan.reactions == (
        "Its 6 pods are deleted, with up to 30 s to end; unsaved work is lost.",
        "Its Jobs stay, suspended; those that have finished are not touched.",
    )
    assert plan.warnings == ()


def test_a_jobset_is_resumed_by_its_own_field_and_held_jobs_stay() -> None:
    owner = a_trio(suspended=True)
    jobs = [a_child(owner, name, suspended=True) for name in ("trio-w-0", "trio-w-1", "trio-w-2")]
    plan = make_plan(a_context(owner, *jobs, holds=(a_hold(),)), "trio", "resume")
    (operations,) = bodies(plan)
    assert operations[2] == {"op": "test", "path": "/spec/suspend", "value": True}
    assert {"op": "add", "path": "/spec/suspend", "value": False} in operations
    assert plan.reactions == (
        ("Its 4 pods are created: they need capacity, may have to wait, and may get other nodes."),
    )
    assert plan.warnings == ("Held Jobs stay suspended when JobSet trio is resumed: trio-w-1.",)


def test_a_standalone_job_is_suspended_by_its_own_field() -> None:
    plan = make_plan(a_standalone(), "train", "suspend")
    assert plan.lever == "suspend"
    assert plan.steps[0].path == "/apis/batch/v1/namespaces/team-a/jobs/train"
    assert plan.reactions == (
        "Its 4 pods are deleted, with up to 30 s to end; unsaved work is lost.",
    )


def test_uncounted_pods_are_omitted() -> None:
    plan = make_plan(a_standalone(active_pods=None), "train", "suspend")
    assert plan.reactions[0].startswith("Its pods are deleted,")
    assert make_plan(a_standalone(active_pods=0), "train", "suspend").reactions[0] == (
        "It has no pods now."
    )
    assert make_plan(a_standalone(active_pods=1, grace_seconds=0), "train", "suspend").reactions[
        0
    ] == ("Its 1 pod is deleted, at once; unsaved work is lost.")


def test_objects_that_are_no_owner_have_no_lever() -> None:
    group = a_group("ring", quorum=4)
    context = a_gang(owner=Owner(meta=group.meta, desired=4), groups=(group,))
    plan = make_plan(context, "ring", "suspend")
    assert plan.why_not == (
        "PodGroup ring cannot be suspended: it has no suspend field, and nothing known owns its pods."
    )


@pytest.mark.parametrize("labelled", [True, False])
def test_kueue_decides_about_the_owners_it_manages(labelled: bool) -> None:
    """Kueue undoes a plain suspend in both directions (jobset-kueue.md §3.5)."""
    plan = make_plan(_queued(a_trio(queue="lq" if labelled else "")), "trio", "suspend")
    assert plan.lever == "kueue-active"
    (step,), (operations,) = plan.steps, bodies(plan)
    assert (step.kind, step.path) == (StepKind.PATCH, WORKLOAD)
    assert operations == [
        {"op": "test", "path": "/metadata/uid", "value": "uid-jobset-trio-1a2b3"},
        {"op": "test", "path": "/metadata/generation", "value": 7},
        {"op": "add", "path": "/spec/active", "value": False},
    ]
    assert plan.before == {"Workload jobset-trio-1a2b3 spec.active": "true"}
    assert plan.after == {"Workload jobset-trio-1a2b3 spec.active": "false"}
    assert plan.watch_seconds == 40
    assert plan.reactions == (
        "Kueue evicts JobSet trio, suspends it and does not queue it again until it is resumed; "
        "its quota in queue lq is released.",
        "Its 6 pods are deleted, with up to 30 s to end; unsaved work is lost.",
    )


def test_kueue_queues_it_again() -> None:
    evicted = Condition("Evicted", "True", "Deactivated", "The workload is deactivated")
    context = _queued(
        a_trio(queue="lq", suspended=True), active=False, admitted=False, conditions=(evicted,)
    )
    plan = make_plan(context, "trio", "resume")
    assert bodies(plan)[0][-1] == {"op": "add", "path": "/spec/active", "value": True}
    assert plan.reactions == (
        "Kueue puts JobSet trio back into queue lq: it may have to wait, and its pods may get "
        "other nodes.",
    )
    assert plan.warnings == ()


def test_a_deactivation_by_kueue_is_mentioned() -> None:
    evicted = Condition(
        "Evicted", "True", "DeactivatedDueToRequeuingLimitExceeded", "The workload is deactivated"
    )
    context = _queued(a_trio(queue="lq", suspended=True), active=False, conditions=(evicted,))
    plan = make_plan(context, "trio", "resume")
    assert plan.steps == ()
    assert plan.why_not.startswith(
        "Kueue deactivated Workload jobset-trio-1a2b3 itself "
        "(DeactivatedDueToRequeuingLimitExceeded) and does not queue it again when it is activated"
    )


def test_a_queued_owner_leaves_its_queue() -> None:
    plan = make_plan(_queued(a_trio(queue="lq", suspended=True), admitted=False), "trio", "suspend")
    assert plan.reactions == (
        "Kueue takes JobSet trio out of queue lq until it is resumed; it has no pods to lose.",
    )


def test_every_workload_of_the_owner_is_patched_once() -> None:
    """One for each group of a LeaderWorkerSet, without finished and deactivated ones."""
    done = an_entry(name="w-done", conditions=(Condition("Finished", "True", "OutOfSync"),))
    entries = (an_entry(name="w-0"), an_entry(name="w-1"), an_entry(name="w-off", active=False))
    context = a_context(a_trio(queue="lq"), entries=(*entries, done))
    plan = make_plan(context, "trio", "suspend")
    assert [step.subject.name for step in plan.steps] == ["w-0", "w-1"]


def test_served_versions_of_kueue_are_followed() -> None:
    context = with_cluster(_queued(), api_versions={"workloads.kueue.x-k8s.io": "v1beta1"})
    assert "/kueue.x-k8s.io/v1beta1/" in make_plan(context, "trio", "suspend").steps[0].path


def test_independent_jobs_are_suspended_individually() -> None:
    owner = a_trio(independent_claim=CLAIM)
    stopped = a_child(owner, "trio-w-0", suspended=True)
    done = a_child(owner, "trio-w-2", finish=succeeded())
    context = a_context(owner, stopped, done)
    plan = make_plan(context, "trio", "suspend", NATIVE)
    assert plan.lever == "native"
    assert [step.subject.name for step in plan.steps] == ["trio-w-1"]
    assert plan.before == {"Job trio-w-1 spec.suspend": "false"}
    resume = make_plan(context, "trio", "resume", NATIVE)
    assert [step.subject.name for step in resume.steps] == ["trio-w-0"]
    held = replace(context, holds=(a_hold("trio-w-0"),))
    assert make_plan(held, "trio", "resume", NATIVE).why_not == (
        "JobSet trio has no Job to resume: nothing to do."
    )


def test_a_claim_alone_changes_nothing_for_the_owner() -> None:
    plan = make_plan(a_context(a_trio(independent_claim=CLAIM)), "trio", "suspend", READY)
    assert plan.lever == "suspend"


def test_kueue_takes_precedence_over_independence() -> None:
    owner = a_trio(independent_claim=CLAIM, queue="lq")
    assert make_plan(_queued(owner), "trio", "suspend", NATIVE).lever == "kueue-active"


def test_jobs_that_do_not_follow_are_named() -> None:
    owner = a_jobset("many", a_role("w", jobs=5))
    queued = a_child(owner, "many-w-4", queue="lq")
    paused = a_child(owner, "many-w-1", parallelism=0, paused_parallelism=2, active_pods=0)
    plan = make_plan(a_context(owner, queued, paused), "many", "suspend")
    assert "Jobs paused by parallelism 0 get no pods when it is resumed: many-w-1." in text(plan)
    assert (
        "many-w-4 is queued by Kueue on its own: Kueue and JobSet many may undo each other."
    ) in plan.warnings


NOT_SERVED = {"queue_visibility": "not-served"}


def test_an_owner_in_an_unserved_queue_is_resumed_by_its_field() -> None:
    plan = make_plan(a_context(a_trio(queue="lq", suspended=True), **NOT_SERVED), "trio", "resume")
    assert (plan.lever, plan.why_not) == ("suspend", "")
    assert (plan.before, plan.after) == ({"spec.suspend": "true"}, {"spec.suspend": "false"})
    assert plan.warnings == (
        "If Kueue is installed here later, it suspends JobSet trio until queue lq has admitted it: "
        "its pods are lost then.",
    )


def test_an_owner_in_an_unserved_queue_is_suspended_by_its_field() -> None:
    plan = make_plan(a_context(a_trio(queue="lq"), **NOT_SERVED), "trio", "suspend")
    assert plan.lever == "suspend"
    assert plan.warnings == (
        "If Kueue is installed here later, it takes JobSet trio into queue lq, and starts it when "
        "it admits it.",
    )


@pytest.mark.parametrize("visibility", ["", "served"])
def test_a_possibly_served_queue_is_never_bypassed(visibility: str) -> None:
    context = a_context(a_trio(queue="lq", suspended=True))
    plan = make_plan(with_cluster(context, queue_visibility=visibility), "trio", "resume")
    assert plan.lever is None
    assert "queue lq of Kueue" in plan.why_not


def test_a_leftover_entry_of_an_unserved_queue_is_ignored() -> None:
    plan = make_plan(
        with_cluster(_queued(a_trio(suspended=True), admitted=False), **NOT_SERVED),
        "trio",
        "resume",
    )
    assert (plan.lever, plan.warnings) == ("suspend", ())


def test_a_child_in_an_unserved_queue_waits_only_for_its_jobset() -> None:
    owner = a_trio(queue="lq", suspended=True)
    context = a_context(owner, a_child(owner, "trio-w-1", suspended=True))
    assert make_plan(with_cluster(context, **NOT_SERVED), "trio-w-1", "resume").why_not == (
        "JobSet trio is suspended: Job trio-w-1 starts when the JobSet does."
    )
    assert make_plan(context, "trio-w-1", "resume").why_not == (
        "JobSet trio is suspended, and may wait in queue lq: Job trio-w-1 starts when the JobSet does."
    )


def test_active_in_no_named_queue() -> None:
    context = _queued(a_trio(suspended=True), admitted=False, queue="")
    assert make_plan(context, "trio", "resume").why_not == (
        "JobSet trio is active in Kueue and waits: nothing to do."
    )
