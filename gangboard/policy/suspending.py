"""Suspends one Job of an owner by the best lever that keeps it so in its cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gangboard.domain.owner import Owner
from gangboard.domain.text import label
from gangboard.facts.gang_index import GangIndex
from gangboard.plugins import registry
from gangboard.plugins.lever import Lever
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.policy import job_warnings, multi_job_consequences, refusals
from gangboard.policy.decision import (
    Decision,
    DesiredAction,
    PlanRefusal,
    generation_unknown,
    nothing_to_do,
)
from gangboard.policy.indexing import kind_above, kind_of, queue_system
from gangboard.policy.pulled import Pulled


def decide(gang: GangIndex, job: Owner, desired: DesiredAction) -> Pulled | PlanRefusal:
    """Return how a child Job is suspended, or why it is not."""
    refused = (
        refusals.job_out_of_reach(gang, job)
        or _stopped_already(gang, job)
        or generation_unknown(job.meta)
    )
    if refused is not None:
        return refused
    kind = kind_above(job.meta.controller)
    levers = [found for key in kind.child_levers if (found := registry.lever(key))] if kind else []
    if kind is None or not levers:
        return refusals.no_job_lever(gang, job)
    lever, remarks = _choose(gang, job, desired, levers)
    if isinstance(lever, PlanRefusal):
        return lever
    if lever.is_bare and job.suspended:
        return nothing_to_do(f"{label(job.meta.ref)} is suspended already")
    if desired.until is not None and not lever.takes_end:
        return refusals.until_misplaced(desired.verb, label(job.meta.ref))
    decision = lever.suspend(gang, job, desired)
    if isinstance(decision, PlanRefusal):
        return decision
    return Pulled(lever, _completed(gang, job, kind, lever, desired, decision, remarks))


def _stopped_already(gang: GangIndex, job: Owner) -> PlanRefusal | None:
    for lever in registry.levers():
        how = lever.stopped(gang, job) if lever.stopped is not None else ""
        if how:
            return nothing_to_do(f"{label(job.meta.ref)} is {how}")
    return None


def _choose(
    gang: GangIndex, job: Owner, desired: DesiredAction, levers: list[Lever]
) -> tuple[Lever | PlanRefusal, tuple[str, ...]]:
    """Return the best lever that works here, and what to warn of because others do not."""
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
        if lever.passed_over is not None:
            remarks += lever.passed_over(gang, desired.levers)
    instead = f"suspend the whole {gang.name} instead" if _can_stop_all(gang) else ""
    begin = f"{label(job.meta.ref)} cannot be suspended here"
    return refusals.all_of(begin, reasons, instead), ()


def _can_stop_all(gang: GangIndex) -> bool:
    kind = kind_of(gang.owner)
    if gang.owner.suspended or kind is None:
        return False
    return bool(gang.entries) if gang.is_queued else bool(kind.levers)


def _completed(
    gang: GangIndex,
    job: Owner,
    kind: OwnerKind,
    lever: Lever,
    desired: DesiredAction,
    found: Decision,
    remarks: tuple[str, ...],
) -> Decision:
    """Return the decision of a lever with what kind and queue do meanwhile, and what to think about before."""
    chosen = desired.chosen
    warnings = [*remarks, *found.warnings]
    if lever.is_bare and lever.why_not(gang, job, desired.levers) is not None:
        warnings += job_warnings.about_force(gang, job, kind, lever, desired.levers)
    if not chosen:
        warnings += multi_job_consequences.warnings(gang, (job,), lever)
    warnings += kind.conduct.warnings(gang, job, lever, chosen)
    warnings += _of_queue(gang, job, lever)
    return replace(
        found,
        reactions=(*found.reactions, *_reactions(gang, job, kind, lever, chosen)),
        warnings=(*warnings, *found.remarks),
    )


def _reactions(
    gang: GangIndex, job: Owner, kind: OwnerKind, lever: Lever, chosen: frozenset[str]
) -> Iterator[str]:
    yield from kind.conduct.reactions(gang, job, lever, chosen)
    if not chosen:
        yield from kind.conduct.outcome(gang, (job,), lever)
    system = queue_system(gang)
    if gang.is_queued and system is not None and system.job_reactions is not None:
        yield from system.job_reactions(gang)


def _of_queue(gang: GangIndex, job: Owner, lever: Lever) -> tuple[str, ...]:
    system = queue_system(gang)
    concerned = gang.is_queued or job.meta.ref.uid in gang.queued_jobs
    if not concerned or system is None or system.job_warnings is None:
        return ()
    return system.job_warnings(gang, job, lever)
