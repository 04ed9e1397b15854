"""Decisions about one Job of an owner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gangboard.domain.action import Verb
from gangboard.domain.owner import Owner
from gangboard.domain.text import label
from gangboard.facts.gang import Gang
from gangboard.plugins import registry
from gangboard.plugins.lever import Lever
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.policy import job_consequences, refusals
from gangboard.policy.decision import (
    Decision,
    DesiredAction,
    LeverDecision,
    PlanRefusal,
    generation_unknown,
    nothing_to_do,
)
from gangboard.policy.phrases import wait_of
from gangboard.policy.registry_lookups import kind_above, kind_of, queue_system
from gangboard.policy.suspended_groups import GroupConsequences, consequences_for_job


def decide(gang: Gang, job: Owner, desired: DesiredAction) -> LeverDecision | PlanRefusal:
    """Return the decision about a child Job, or why no action is possible."""
    if desired.verb is Verb.SUSPEND:
        return _decide_suspend(gang, job, desired)
    return _decide_resume(gang, job, desired)


# Suspend


def _decide_suspend(gang: Gang, job: Owner, desired: DesiredAction) -> LeverDecision | PlanRefusal:
    """Return the suspend of a Job by the best lever that works in its cluster, or a refusal."""
    refused = (
        refusals.job_out_of_reach(gang, job)
        or _already_stopped(gang, job)
        or generation_unknown(job.meta)
    )
    if refused is not None:
        return refused
    kind = kind_above(job.meta.controller)
    levers = [known for key in kind.child_levers if (known := registry.lever(key))] if kind else []
    if kind is None or not levers:
        return refusals.no_job_lever(gang, job)
    lever, remarks = _choose(gang, job, desired, levers)
    if isinstance(lever, PlanRefusal):
        return lever
    if lever.is_bare and job.suspended:
        return nothing_to_do(f"{label(job.meta.ref)} is suspended already")
    if desired.until is not None and not lever.supports_end:
        return refusals.until_misplaced(desired.verb, label(job.meta.ref))
    decision = lever.decide(gang, job, desired)
    if isinstance(decision, PlanRefusal):
        return decision
    return LeverDecision(lever, _with_reactions(gang, job, kind, lever, desired, decision, remarks))


def _already_stopped(gang: Gang, job: Owner) -> PlanRefusal | None:
    for lever in registry.levers():
        how = lever.describe_stop(gang, job)
        if how:
            return nothing_to_do(f"{label(job.meta.ref)} is {how}")
    return None


def _choose(
    gang: Gang, job: Owner, desired: DesiredAction, levers: list[Lever]
) -> tuple[Lever | PlanRefusal, tuple[str, ...]]:
    """Return the best lever that works here, with warnings about better ones that do not."""
    if desired.levers.forced:
        bare = next((lever for lever in levers if lever.is_bare), None)
        if bare is not None:
            return bare, ()
    reasons: list[PlanRefusal] = []
    remarks: list[str] = []
    for lever in levers:
        missing = lever.why_not(gang, job, desired.levers)
        if missing is None:
            return lever, tuple(remarks)
        reasons.append(missing)
        remarks += lever.fallback_warnings(gang, desired.levers)
    instead = f"suspend the whole {gang.name} instead" if _can_stop_all(gang) else ""
    beginning = f"{label(job.meta.ref)} cannot be suspended here"
    return refusals.all_of(beginning, reasons, instead), ()


def _can_stop_all(gang: Gang) -> bool:
    kind = kind_of(gang.owner)
    if gang.owner.suspended or kind is None:
        return False
    return bool(gang.queue.entries) if gang.queue.is_managed else bool(kind.levers)


def _with_reactions(
    gang: Gang,
    job: Owner,
    kind: OwnerKind,
    lever: Lever,
    desired: DesiredAction,
    decision: Decision,
    remarks: tuple[str, ...],
) -> Decision:
    """Return the decision of a lever, with the reactions and warnings of kind and queue."""
    chosen = desired.chosen
    warnings = [*remarks, *decision.warnings]
    if lever.is_bare and lever.why_not(gang, job, desired.levers) is not None:
        warnings += job_consequences.force_warnings(gang, job, kind, lever, desired.levers)
    if not chosen:
        warnings += job_consequences.set_warnings(gang, (job,), lever)
    groups = consequences_for_job(gang, job) if lever.suspends else GroupConsequences()
    warnings += groups.warnings
    warnings += kind.conduct.warnings(gang, job, lever, chosen)
    warnings += _queue_warnings(gang, job, lever)
    return replace(
        decision,
        reactions=(
            *decision.reactions,
            *groups.reactions,
            *_reactions(gang, job, kind, lever, chosen),
        ),
        warnings=(*warnings, *decision.remarks),
    )


def _reactions(
    gang: Gang, job: Owner, kind: OwnerKind, lever: Lever, chosen: frozenset[str]
) -> Iterator[str]:
    yield from kind.conduct.reactions(gang, job, lever, chosen)
    if not chosen:
        yield from kind.conduct.outcome(gang, (job,), lever)
    system = queue_system(gang)
    if gang.queue.is_managed and system is not None:
        yield from system.job_reactions(gang)


def _queue_warnings(gang: Gang, job: Owner, lever: Lever) -> tuple[str, ...]:
    system = queue_system(gang)
    is_queued = gang.queue.is_managed or job.meta.ref.uid in gang.queued_jobs
    if not is_queued or system is None:
        return ()
    return system.job_warnings(gang, job, lever)


# Resume


def _decide_resume(gang: Gang, job: Owner, desired: DesiredAction) -> LeverDecision | PlanRefusal:
    """Return the resume of a Job, which undoes its Hold, its pause or a plain suspend, or a refusal."""
    name = label(job.meta.ref)
    if desired.until is not None:
        return refusals.until_misplaced(desired.verb, name)
    blocked = refusals.job_out_of_reach(gang, job)
    undoing = [lever for lever in registry.levers() if lever.has_undoable_change(gang, job)]
    independent = next((lever for lever in undoing if lever.can_always_resume), None)
    if independent is not None:
        return _undo(independent, gang, job, replace(desired, blocked=blocked))
    refused = blocked or generation_unknown(job.meta)
    if refused is not None:
        return refused
    if undoing:
        return _undo(undoing[0], gang, job, desired)
    if not job.suspended:
        state = "requests no pods (parallelism 0), which gangboard did not set"
        return nothing_to_do(f"{name} {'is not suspended' if job.parallelism != 0 else state}")
    wait = wait_of(gang, job)
    if wait is not None:
        return PlanRefusal(f"{wait.why}: {name} starts when {wait.until}.")
    bare = next((lever for lever in registry.levers() if lever.is_bare), None)
    return _undo(bare, gang, job, desired) if bare else refusals.no_job_lever(gang, job)


def _undo(
    lever: Lever, gang: Gang, job: Owner, desired: DesiredAction
) -> LeverDecision | PlanRefusal:
    decision = lever.decide(gang, job, desired)
    if isinstance(decision, PlanRefusal):
        return decision
    warnings = job_consequences.resume_warnings(gang, job) if decision.resumes else ()
    return LeverDecision(lever, replace(decision, warnings=(*decision.warnings, *warnings)))
