"""Properties of every plan, for any gang and cluster."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangboard.domain.action import ClusterLevers, Plan, PolicyState, StepKind, Verb
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Dependency, Finish, Outcome, Owner
from gangboard.facts.gang import Gang
from gangboard.owners.jobset.policies import Policies
from gangboard.policy.plan import all_offers, offers
from simulator.patches import PatchError, json_patch
from tests.domain_objects import NOW, a_group, a_jobset, a_role, ago, child_jobs
from tests.gangs import a_gang
from tests.policy.builders import CLAIM, a_hold, an_entry, make_plan

ENDS = st.sampled_from([None, None, None, Finish(Outcome.SUCCEEDED), Finish(Outcome.FAILED)])
SELDOM = st.sampled_from([False, False, False, False, True])
ABOVE = Controller("argoproj.io", "Workflow", "nightly", "uid-nightly")
NAMES = ("run", "run-driver-0", "run-workers-0", "run-workers-1")


@st.composite
def levers(draw: st.DrawFn) -> ClusterLevers:
    return ClusterLevers(
        cluster=draw(st.sampled_from(["", "east"])),
        has_actor=not draw(SELDOM),
        read_only=draw(st.sampled_from(["", "", "", "It is read-only"])),
        parallelism=draw(st.booleans()),
        hold=draw(st.sampled_from(PolicyState)),
        hold_proved_at=draw(st.sampled_from([None, ago(900)])),
        hold_refuted_at=draw(st.sampled_from([None, ago(60)])),
        native_honoured=draw(st.booleans()),
        forced=draw(SELDOM),
    )


@st.composite
def owners(draw: st.DrawFn) -> Owner:
    waits = Dependency("driver", draw(st.sampled_from(["Ready", "Complete"])))
    group = draw(st.sampled_from(["", "ring"]))
    owner = a_jobset(
        "run",
        a_role("driver", pods=1, group_name=group),
        a_role(
            "workers", jobs=2, group_name=group, depends_on=draw(st.sampled_from([(), (waits,)]))
        ),
        suspended=draw(st.booleans()),
        finish=draw(ENDS),
        queue=draw(st.sampled_from(["", "", "lq"])),
        independent_claim=draw(st.sampled_from(["", CLAIM])),
        max_restarts=draw(st.sampled_from([None, 0, 3])),
        managed_by=draw(st.sampled_from(["", "", "", "acme.io/runner"])),
        policies=draw(
            st.none()
            | st.builds(
                Policies,
                success_operator=st.sampled_from(["All", "Any"]),
                success_roles=st.sampled_from([(), ("driver",), ("workers",)]),
                ttl_seconds=st.sampled_from([None, 60]),
                coordinator=st.sampled_from(["", "run-driver-0"]),
            )
        ),
        deleting_since=ago(1) if draw(SELDOM) else None,
        of=ABOVE if draw(SELDOM) else None,
        generation=draw(st.sampled_from([0, 1, 7])),
    )
    return replace(owner, meta=replace(owner.meta, annotated=draw(st.booleans())))


@st.composite
def contexts(draw: st.DrawFn) -> Gang:
    owner = draw(owners())
    jobs = []
    for job in child_jobs(owner):
        meta = replace(
            job.meta,
            generation=draw(st.sampled_from([0, 2, 5, 5])),
            annotated=draw(st.booleans()),
            deleting_since=ago(1) if draw(SELDOM) else None,
        )
        remaining = draw(st.sampled_from([None, None, 2])) if meta.annotated else None
        jobs.append(
            replace(
                job,
                meta=meta,
                suspended=draw(st.booleans()),
                finish=draw(ENDS),
                parallelism=draw(st.sampled_from([0, 2, 2])),
                paused_parallelism=remaining,
                active_pods=draw(st.sampled_from([None, 0, 2])),
                queue=draw(st.sampled_from(["", "", "", "own"])),
            )
        )
    entry = an_entry("run", active=draw(st.booleans()), admitted=draw(st.booleans()))
    held = draw(st.lists(st.sampled_from(NAMES[1:]), max_size=2))
    return a_gang(
        owner=owner,
        jobs=tuple(jobs),
        groups=draw(st.sampled_from([(), (a_group("ring", quorum=5),)])),
        holds=tuple(a_hold(name, "run") for name in held),
        entries=draw(st.sampled_from([(), (), (entry,)])),
        queue_visibility=draw(st.sampled_from(["", "served", "not-served"])),
    )


plans = st.tuples(
    contexts(),
    levers(),
    st.sampled_from(NAMES),
    st.sampled_from(Verb),
    st.sampled_from([None, None, NOW + timedelta(hours=1)]),
)


def _ask(case: Any) -> tuple[Gang, ClusterLevers, Plan]:
    context, cluster, name, verb, until = case
    return context, cluster, make_plan(context, name, verb, cluster, until=until)


@given(plans)
def test_allowed_has_a_lever_and_steps_and_refused_has_neither(case: Any) -> None:
    _, cluster, result = _ask(case)
    if result.allowed:
        assert result.lever is not None
        assert result.steps
        assert result.before.keys() == result.after.keys()
        assert result.watch_seconds >= 3
        assert cluster.has_actor
        assert not cluster.read_only
    else:
        assert result.lever is None
        assert not result.steps
        assert (result.before, result.after, result.reactions) == ({}, {}, ())
    sentences = (*result.reactions, *result.warnings, *filter(None, [result.why_not]))
    assert all(sentence[0].isalnum() and sentence[-1] in ".”" for sentence in sentences), sentences
    assert not any(
        "  " in sentence or "None" in sentence or ".." in sentence for sentence in sentences
    ), sentences


@given(plans)
def test_every_change_is_tested_for_uid_and_generation_first(case: Any) -> None:
    _, _, result = _ask(case)
    for step in result.steps:
        body = json.loads(step.patch)
        assert step.dry_run is (step.kind in (StepKind.PROVE_HOLD, StepKind.PROVE_RELEASE))
        assert step.path.startswith("/apis/")
        if step.kind is not StepKind.PATCH:
            continue
        verbs = [operation["op"] for operation in body]
        tests = verbs.count("test")
        assert verbs[:tests] == ["test"] * tests
        assert {"add"} <= set(verbs[tests:]) <= {"add", "remove"}
        assert body[0] == {"op": "test", "path": "/metadata/uid", "value": step.subject.uid}
        assert body[1]["path"] == "/metadata/generation"
        assert body[1]["value"] > 0


@given(plans)
def test_the_suspend_field_of_a_kueue_owner_is_never_written(case: Any) -> None:
    context, _, result = _ask(case)
    served = context.cluster.queue_visibility != "not-served"
    managed = served and (context.owner.queue or context.entries)
    written = {step.subject.kind for step in result.steps if step.kind is StepKind.PATCH}
    if managed:
        assert "JobSet" not in written
    if result.subject.name == "run" and managed:
        assert written <= {"Workload"}
    assert (result.lever == "kueue-active") == ("Workload" in written)


@given(plans)
def test_a_single_job_is_suspended_only_with_a_proof_or_if_honoured(case: Any) -> None:
    context, cluster, result = _ask(case)
    honoured = cluster.native_honoured and context.owner.independent_claim
    if result.verb is Verb.SUSPEND and result.subject.kind == "Job" and result.lever == "native":
        assert honoured or (
            cluster.forced and any("Forced" in warning for warning in result.warnings)
        )
    kinds = [step.kind for step in result.steps]
    if result.lever == "hold" and StepKind.PATCH in kinds:
        proof = StepKind.PROVE_HOLD if result.verb is Verb.SUSPEND else StepKind.PROVE_RELEASE
        assert kinds.index(proof) == kinds.index(StepKind.PATCH) - 1
    if result.verb is Verb.RESUME:
        assert StepKind.CREATE_HOLD not in kinds


@given(plans)
def test_an_end_is_taken_for_holds_only(case: Any) -> None:
    *_, until = case
    _, _, result = _ask(case)
    if until is not None and result.allowed:
        assert (result.verb, result.lever) == (Verb.SUSPEND, "hold")


@given(plans)
def test_a_hold_can_always_be_removed(case: Any) -> None:
    context, cluster, name, _, _ = case
    existing = {hold.job_name: hold for hold in context.holds}
    plan = make_plan(context, name, "resume", cluster)
    if name in existing and cluster.has_actor and not cluster.read_only:
        assert plan.allowed
        assert plan.steps[0].kind is StepKind.DELETE_HOLD
        assert plan.steps[0].subject == existing[name].meta.ref


@given(plans)
def test_patches_do_what_the_plan_shows_and_skip_changed_objects(case: Any) -> None:
    context, _, result = _ask(case)
    for step in result.steps:
        job = next((job for job in context.jobs if job.meta.ref == step.subject), None)
        if step.kind is not StepKind.PATCH or job is None:
            continue
        wire = _wire(job)
        objects = json_patch(wire, json.loads(step.patch))
        assert objects["metadata"]["annotations"]["gangboard.dev/action"] == "a-1"
        if result.lever == "parallelism":
            assert str(objects["spec"]["parallelism"]) == result.after["spec.parallelism"]
        else:
            assert objects["spec"]["suspend"] is (result.verb is Verb.SUSPEND)
        for field, other in (("uid", "recreated"), ("generation", job.meta.generation + 1)):
            moved = {**wire, "metadata": {**wire["metadata"], field: other}}
            with pytest.raises(PatchError):
                json_patch(moved, json.loads(step.patch))


def _wire(job: Owner) -> dict[str, Any]:
    metadata: dict[str, Any] = {"uid": job.meta.ref.uid, "generation": job.meta.generation}
    if job.meta.annotated:
        metadata["annotations"] = {"example.com/theirs": "kept"}
        if job.paused_parallelism is not None:
            metadata["annotations"]["gangboard.dev/paused-parallelism"] = "2"
    spec = {"suspend": job.suspended, "parallelism": job.parallelism}
    return {"metadata": metadata, "spec": spec}


@given(contexts(), levers())
def test_offers_are_the_plans_without_steps(context: Gang, cluster: ClusterLevers) -> None:
    every = all_offers(context, cluster, NOW)
    assert every.keys() == {f"uid-{name}" for name in NAMES}
    for uid, both in every.items():
        assert both == offers(context, cluster, uid, NOW)
        for offer in both:
            complete = make_plan(
                context, uid.removeprefix("uid-"), offer.verb, cluster, by="", action=""
            )
            assert offer == replace(complete, steps=())
