"""The verdict and the policy give one answer about the same objects: who decides when it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gangboard.diagnosis.engine import assess
from gangboard.domain.action import ClusterLevers, Plan, PolicyState
from gangboard.domain.health import Health
from gangboard.domain.hold import Hold
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry
from gangboard.domain.queue_status import QueueStanding
from gangboard.domain.verdict import JobState, Verdict
from gangboard.facts.gang import Gang
from gangboard.policy.plan import all_offers
from tests.domain_objects import (
    NOW,
    a_condition,
    a_hold,
    a_job,
    a_jobset,
    a_role,
    an_entry,
    child_jobs,
    pods_of,
)
from tests.gangs import assemble

ABOVE = Controller("argoproj.io", "Workflow", "nightly", "uid-nightly")
QUEUED = ("queue-evaluating", "deactivated")
LABELS = st.sampled_from(["", "", "lq"])
FINISHED = (a_condition("Finished"),)


@st.composite
def entries_of(draw: st.DrawFn, owner: Owner) -> tuple[QueueEntry, ...]:
    if draw(st.booleans()):
        return ()
    return (
        an_entry(
            owner,
            queue=draw(st.sampled_from(["lq", ""])),
            active=draw(st.sampled_from([True, True, False])),
            admitted=draw(st.booleans()),
            conditions=draw(st.sampled_from([(), (), FINISHED])),
        ),
    )


@st.composite
def gangs(draw: st.DrawFn) -> tuple[Gang, ClusterLevers]:
    fields: dict[str, Any] = {
        "suspended": draw(st.booleans()),
        "queue": draw(LABELS),
        "of": draw(st.sampled_from([None, None, None, ABOVE])),
        "managed_by": draw(st.sampled_from(["", "", "", "kueue.x-k8s.io/multikueue"])),
    }
    if draw(st.booleans()):
        owner = a_job("train", **fields)
        jobs: tuple[Owner, ...] = (owner,)
        entries = draw(entries_of(owner))
        holds: tuple[Hold, ...] = ()
        running: tuple[Owner, ...] = () if owner.suspended else jobs
    else:
        owner = a_jobset("llama", a_role("w", jobs=2), **fields)
        jobs = tuple(
            replace(job, suspended=owner.suspended or draw(st.booleans()), queue=draw(LABELS))
            for job in child_jobs(owner)
        )
        entries = draw(entries_of(owner))
        for job in jobs:
            entries += draw(entries_of(job))
        holds = tuple(a_hold(job) for job in jobs if draw(st.sampled_from([False, False, True])))
        running = tuple(job for job in jobs if not job.suspended)
    visibility = draw(st.sampled_from(["", "served", "not-served"]))
    pods = [pod for job in running for pod in pods_of(job, 2, on="n0")]
    facts = assemble(
        owner,
        [*(job for job in jobs if job is not owner), *pods, *entries, *holds],
        now=NOW,
        queue_visibility=visibility,
        queue_systems=("Kueue",),
    )
    levers = ClusterLevers(has_actor=True, hold=PolicyState.INSTALLED)
    return facts, levers


Case = tuple[Gang, ClusterLevers]


def _answers(case: Case) -> tuple[Verdict, dict[str, tuple[Plan, ...]]]:
    facts, levers = case
    return assess(facts), dict(all_offers(facts, levers, NOW))


def _owner(case: Case, offers: dict[str, tuple[Plan, ...]]) -> tuple[Owner, Plan, Plan]:
    """Return the owner with its plans to suspend and to resume. A Job also has a plan to relocate."""
    owner = case[0].owner
    suspend, resume, *_ = offers[owner.meta.ref.uid]
    return owner, suspend, resume


@given(gangs())
def test_suspended_means_that_its_own_field_resumes_it(case: Case) -> None:
    verdict, offers = _answers(case)
    owner, _, resume = _owner(case, offers)
    if not owner.suspended:
        return
    free = verdict.finding.code == "suspended"
    # Blocked includes objects without a Kueue that includes served has created no Workload for: that it may still take.
    blocked = (verdict.finding.code, verdict.finding.health) == (QUEUED[0], Health.BLOCKED)
    nobodys = blocked and case[0].cluster.queue_visibility == "not-served"
    assert free or verdict.finding.code in QUEUED
    if owner.managed_by or owner.meta.controller is not None:
        assert not resume.allowed
        assert not any(text.startswith("Resume") for text in verdict.finding.advice_texts)
    else:
        assert (resume.lever == "suspend") is (free or nobodys)
        reported = any(text.startswith("Resume") for text in verdict.finding.advice_texts)
        # An intended suspension has a button and no next step.
        assert reported is nobodys


@given(gangs())
def test_the_queue_lever_is_offered_for_queued_gangs(case: Case) -> None:
    verdict, offers = _answers(case)
    owner, suspend, resume = _owner(case, offers)
    for plan in (suspend, resume):
        if plan.lever == "kueue-active" and owner.suspended:
            assert verdict.finding.code in QUEUED
            assert verdict.finding.health in (Health.WAITING, Health.SUSPENDED)
    if verdict.finding.code == "deactivated" and owner.suspended:
        assert resume.lever == "kueue-active" or not resume.allowed


@given(gangs())
def test_a_queued_job_cannot_be_resumed_and_a_suspended_job_can(
    case: Case,
) -> None:
    verdict, offers = _answers(case)
    owner = case[0].owner
    if owner.suspended or owner.managed_by or owner.meta.controller is not None:
        return
    held = {hold.job_name for hold in case[0].holds}
    for state in verdict.jobs:
        if state.ref.uid == owner.meta.ref.uid or not state.suspended:
            continue
        resume = offers[state.ref.uid][1]
        if state.ref.name in held:
            assert resume.lever == "hold"
            assert _code(verdict, state) in ("job-suspended", "suspended")
        else:
            # The queue resumes the gangs it has admitted, so no controller reverts a faster resume.
            admitted = case[0].queue_statuses[state.ref.uid].standing is QueueStanding.ADMITTED
            by_hand = _code(verdict, state) in ("job-suspended", "suspended")
            assert resume.allowed is (by_hand or admitted)


def _code(verdict: Verdict, state: JobState) -> str:
    """The code of a Job's own row, else that of the gang that it is part of."""
    return state.finding.code if state.finding is not None else verdict.finding.code


@given(gangs())
def test_advised_resumes_are_allowed(case: Case) -> None:
    verdict, offers = _answers(case)
    advised = [
        text
        for finding in verdict.findings
        for text in finding.advice_texts
        if text.startswith(("Resume", "Release"))
    ]
    for owner in {obj.meta.ref.uid: obj for obj in (case[0].owner, *case[0].jobs)}.values():
        name = f" {owner.meta.ref.name} "
        if any(name in text for text in advised):
            assert offers[owner.meta.ref.uid][1].allowed, (advised, offers[owner.meta.ref.uid][1])
