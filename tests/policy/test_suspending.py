"""One Job of a JobSet: which lever, which requests (design §5, real-control-plane.md §3)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from gangboard.domain.action import ClusterLevers, PolicyState, StepKind
from gangboard.domain.group import Policy
from gangboard.domain.owner import Owner
from tests.domain_objects import NOW, a_group
from tests.policy.builders import (
    CLAIM,
    NATIVE,
    READY,
    WITHOUT,
    a_child,
    a_context,
    a_hold,
    a_trio,
    an_entry,
    bodies,
    make_plan,
    text,
)

TRIO = a_trio()
PAUSE = replace(WITHOUT, parallelism=True)
JOB = "/apis/batch/v1/namespaces/team-a/jobs/trio-w-1"
HOLDS = "/apis/gangboard.dev/v1alpha1/namespaces/team-a/holds"
TESTS = [
    {"op": "test", "path": "/metadata/uid", "value": "uid-trio-w-1"},
    {"op": "test", "path": "/metadata/generation", "value": 4},
]
SIGNED = {"op": "add", "path": "/metadata/annotations/gangboard.dev~1action", "value": "a-1"}


@pytest.mark.parametrize(
    ("levers", "claim", "lever"),
    [
        (READY, "", "hold"),
        (NATIVE, CLAIM, "native"),
        (NATIVE, "", "hold"),
        (READY, CLAIM, "hold"),
        (replace(READY, parallelism=True), "", "hold"),
        (PAUSE, "", "parallelism"),
        (replace(PAUSE, hold=PolicyState.CHANGED), "", "parallelism"),
        (replace(READY, hold=PolicyState.NOT_SEEN), "", "hold"),
        (replace(WITHOUT, forced=True), "", "native"),
        (replace(READY, forced=True), "", "native"),
    ],
)
def test_the_best_lever_that_works_is_taken(levers: ClusterLevers, claim: str, lever: str) -> None:
    plan = make_plan(a_context(a_trio(independent_claim=claim)), "trio-w-1", "suspend", levers)
    assert plan.allowed, plan.why_not
    assert plan.lever is lever


def test_a_hold_is_created_and_proved_before_the_suspend() -> None:
    plan = make_plan(a_context(), "trio-w-1", "suspend", until=NOW + timedelta(hours=6))
    create, prove, patch = plan.steps
    assert [step.kind for step in plan.steps] == [
        StepKind.CREATE_HOLD,
        StepKind.PROVE_HOLD,
        StepKind.PATCH,
    ]
    assert (create.method, create.path, create.dry_run) == ("POST", HOLDS, False)
    assert (prove.method, prove.path, prove.dry_run) == ("MERGE", JOB, True)
    assert (patch.method, patch.path, patch.dry_run) == ("PATCH", JOB, False)
    hold, proof, operations = bodies(plan)
    name = create.subject.name
    assert hold == {
        "apiVersion": "gangboard.dev/v1alpha1",
        "kind": "Hold",
        "metadata": {
            "name": name,
            "namespace": "team-a",
            "labels": {"app.kubernetes.io/managed-by": "gangboard"},
            "annotations": {"gangboard.dev/action": "a-1"},
            "ownerReferences": [
                {
                    "apiVersion": "jobset.x-k8s.io/v1alpha2",
                    "kind": "JobSet",
                    "name": "trio",
                    "uid": "uid-trio",
                    "controller": False,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "spec": {
            "jobName": "trio-w-1",
            "ownerUID": "uid-trio",
            "by": "ann",
            "reason": "rack 7 is serviced",
            "until": "2026-11-21T18:00:00Z",
        },
    }
    assert proof == {"spec": {"suspend": False}}
    assert operations == [
        *TESTS,
        {"op": "test", "path": "/spec/suspend", "value": False},
        {"op": "add", "path": "/spec/suspend", "value": True},
        SIGNED,
    ]
    assert plan.before == {"spec.suspend": "false", "Hold": "none"}
    assert plan.after == {"spec.suspend": "true", "Hold": name}
    assert plan.watch_seconds == 3
    assert (plan.subject.name, plan.generation) == ("trio-w-1", 4)


def test_bodies_are_the_same_text_every_time() -> None:
    first, second = (make_plan(a_context(), "trio-w-1", "suspend") for _ in range(2))
    assert first == second
    assert " " not in first.steps[1].patch
    assert first.steps[2].patch.startswith('[{"op":"test","path":"/metadata/uid"')


def test_names_of_holds_fit_and_differ() -> None:
    def name(job: str, action: str) -> str:
        owner = a_trio()
        child = a_child(owner, "trio-w-1")
        ref = replace(child.meta.ref, name=job, uid=f"uid-{job}")
        context = a_context(owner, jobs=(replace(child, meta=replace(child.meta, ref=ref)),))
        return make_plan(context, job, "suspend", action=action).steps[0].subject.name

    long = "x" * 53 + "-" + "y" * 9
    result = {name(long, "a-1"), name(long, "a-2"), name("x" * 53 + "-z", "a-1")}
    assert len(result) == 3
    assert all(len(item) <= 63 and "--" not in item for item in result)


def test_long_values_are_cut_to_the_limits_of_a_hold() -> None:
    hold = bodies(make_plan(a_context(), "trio-w-1", "suspend", by="b" * 300, reason="r" * 2000))[0]
    assert (len(hold["spec"]["by"]), len(hold["spec"]["reason"])) == (256, 1024)
    assert "until" not in hold["spec"]


def test_paths_use_the_served_versions() -> None:
    served = {"holds.gangboard.dev": "v1", "jobs.batch": "v1"}
    plan = make_plan(a_context(api_versions=served), "trio-w-1", "suspend")
    assert plan.steps[0].path == "/apis/gangboard.dev/v1/namespaces/team-a/holds"
    assert plan.steps[2].path == "/apis/batch/v1/namespaces/team-a/jobs/trio-w-1"
    hold = bodies(plan)[0]
    assert hold["apiVersion"] == "gangboard.dev/v1"
    assert hold["metadata"]["ownerReferences"][0]["apiVersion"] == "jobset.x-k8s.io/v1alpha2"


def test_an_existing_hold_is_reused() -> None:
    plan = make_plan(a_context(holds=(a_hold(by="bob"),)), "trio-w-1", "suspend")
    assert [step.kind for step in plan.steps] == [StepKind.PROVE_HOLD, StepKind.PATCH]
    assert plan.before["Hold"] == plan.after["Hold"] == "trio-w-1-h"
    assert "Hold trio-w-1-h exists already, made by bob: no other is created." in plan.reactions


def test_a_hold_of_an_earlier_jobset_is_ignored() -> None:
    plan = make_plan(a_context(holds=(a_hold(owner="former"),)), "trio-w-1", "suspend")
    assert plan.steps[0].kind is StepKind.CREATE_HOLD


@pytest.mark.parametrize("owner", [TRIO, a_trio(suspended=True)], ids=["mid-revert", "suspended"])
def test_a_job_that_is_suspended_already_is_kept_so(owner: Owner) -> None:
    """Its JobSet would resume it at once, or with the rest: the Hold keeps it."""
    child = a_child(TRIO, "trio-w-1", suspended=True)
    plan = make_plan(a_context(owner, child), "trio-w-1", "suspend")
    assert len(plan.steps) == 3
    assert {"op": "test", "path": "/spec/suspend", "value": True} in bodies(plan)[2]
    assert "It is suspended already" in plan.reactions[0]
    assert "deleted" not in plan.reactions[0]


def test_a_suspended_native_job_needs_no_hold() -> None:
    owner = a_trio(independent_claim=CLAIM)
    context = a_context(owner, a_child(owner, "trio-w-1", suspended=True))
    plan = make_plan(context, "trio-w-1", "suspend", NATIVE)
    assert plan.why_not == "Job trio-w-1 is suspended already: nothing to do."


@pytest.mark.parametrize(("grace", "watched"), [(30, 40), (5, 15), (0, 15), (600, 610)])
def test_other_levers_are_observed_past_the_grace_period(grace: int, watched: int) -> None:
    owner = a_trio(independent_claim=CLAIM)
    context = a_context(owner, a_child(owner, "trio-w-1", grace_seconds=grace))
    plan = make_plan(context, "trio-w-1", "suspend", NATIVE)
    assert plan.watch_seconds == watched
    (operations,) = bodies(plan)
    assert operations == [
        *TESTS,
        {"op": "test", "path": "/spec/suspend", "value": False},
        {"op": "add", "path": "/spec/suspend", "value": True},
        SIGNED,
    ]
    assert plan.warnings == ()


def test_a_pause_keeps_the_old_parallelism() -> None:
    plan = make_plan(a_context(), "trio-w-1", "suspend", PAUSE)
    (operations,) = bodies(plan)
    assert operations == [
        *TESTS,
        {"op": "test", "path": "/spec/parallelism", "value": 2},
        {"op": "add", "path": "/spec/parallelism", "value": 0},
        SIGNED,
        {"op": "add", "path": "/metadata/annotations/gangboard.dev~1paused-parallelism", "value": "2"},
    ]  # fmt: skip
    assert (plan.before, plan.after) == ({"spec.parallelism": "2"}, {"spec.parallelism": "0"})
    assert "paused, not suspended" in text(plan)


@pytest.mark.parametrize(
    ("version", "policy", "allowed"),
    [
        ("v1alpha2", Policy.GANG, False),  # 403 on 1.36.3
        ("v1beta1", Policy.GANG, True),  # works on 1.37.0
        ("v1alpha2", Policy.BASIC, True),
    ],
)
@pytest.mark.parametrize("brought", [True, False], ids=["brought", "made by the Job"])
def test_gangs_of_1_36_cannot_be_paused(
    version: str, policy: Policy, allowed: bool, brought: bool
) -> None:
    name = "ring" if brought else ""
    job = a_child(TRIO, "trio-w-1", group_name=name)
    owners = () if brought else ("uid-trio-w-1",)
    group = a_group("ring", quorum=2, policy=policy, version=version, owner_uids=owners)
    plan = make_plan(a_context(TRIO, job, groups=(group,)), "trio-w-1", "suspend", PAUSE)
    assert plan.allowed is allowed
    if not allowed:
        assert "Kubernetes 1.36 refuses parallelism 0 for a Job of gang PodGroup ring" in (
            plan.why_not
        )


def test_a_job_without_annotations_gets_its_first_safely() -> None:
    context = a_context()
    bare = tuple(replace(job, meta=replace(job.meta, annotated=False)) for job in context.jobs)
    operations = bodies(make_plan(replace(context, jobs=bare), "trio-w-1", "suspend"))[2]
    assert operations == [
        *TESTS,
        {"op": "test", "path": "/spec/suspend", "value": False},
        {"op": "test", "path": "/metadata/annotations", "value": None},
        {"op": "add", "path": "/spec/suspend", "value": True},
        {"op": "add", "path": "/metadata/annotations", "value": {"gangboard.dev/action": "a-1"}},
    ]


def test_a_forced_suspend_is_called_forced() -> None:
    plan = make_plan(a_context(), "trio-w-1", "suspend", replace(WITHOUT, forced=True))
    assert [step.kind for step in plan.steps] == [StepKind.PATCH]
    assert plan.warnings[0] == (
        "Forced: nothing keeps one Job alone suspended here. jobset will likely undo it within a "
        "second, and its 2 pods are deleted and replaced all the same."
    )
    assert plan.watch_seconds == 40


def test_an_unproven_claim_is_mentioned() -> None:
    plan = make_plan(a_context(a_trio(independent_claim=CLAIM)), "trio-w-1", "suspend")
    assert plan.warnings[0] == (
        f"JobSet trio asked for Independent ({CLAIM}), but this controller was not seen to honour it."
    )


def test_a_hold_is_never_called_more_than_unproved_before_its_proof() -> None:
    proved = replace(READY, hold_proved_at=NOW - timedelta(days=1))
    refuted = replace(proved, hold_refuted_at=NOW - timedelta(hours=1))
    unobserved = replace(READY, hold=PolicyState.NOT_SEEN)
    says = {
        levers: text(make_plan(a_context(), "trio-w-1", "suspend", levers))
        for levers in (READY, proved, refuted, unobserved)
    }
    assert "The Hold is tested on this Job first (no test passed here yet)." in says[READY]
    assert "(last test passed at 2026-11-20 12:00 UTC)" in says[proved]
    assert "The last proof of the Hold failed, at 2026-11-21 11:00 UTC." in says[refuted]
    assert "failed" not in says[proved].replace("fails", "")
    assert "The Hold is tested on this Job first" in says[unobserved]
    assert "may not read whether the Hold is installed" in says[unobserved]


def test_a_child_under_kueue_is_held_and_its_quota_stays() -> None:
    context = a_context(a_trio(queue="lq"), entries=(an_entry(),))
    plan = make_plan(context, "trio-w-1", "suspend")
    assert plan.lever == "hold"
    assert "Its quota in Kueue stays reserved." in plan.reactions
    assert (
        "Kueue evicts the whole of JobSet trio when pods are not ready for longer than its "
        "waitForPodsReady allows (30 minutes by default since v0.19), and those of a held Job are not."
    ) in plan.warnings
    paused = text(make_plan(context, "trio-w-1", "suspend", PAUSE))
    assert "evicts the whole" not in paused
    assert "Kueue goes on counting it as ready" in paused


def test_a_child_in_its_own_queue_gets_a_warning() -> None:
    own = an_entry("trio-w-1", name="job-trio-w-1-9f8e7")
    context = a_context(TRIO, a_child(TRIO, "trio-w-1", queue="lq"), entries=(own,))
    plan = make_plan(context, "trio-w-1", "suspend")
    assert plan.lever == "hold"
    assert (
        "It is in queue lq of Kueue by itself: while its Workload is admitted, Kueue will try to "
        "resume it."
    ) in plan.warnings
    assert make_plan(context, "trio", "suspend").lever == "suspend"
