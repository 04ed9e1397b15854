"""Decisions about a whole owner: by its queue, Job by Job, or by the best lever of its kind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gangboard.domain.action import ClusterLevers, Verb
from gangboard.domain.owner import Owner
from gangboard.domain.queue_status import QueueStanding
from gangboard.domain.text import is_or_are, names
from gangboard.facts.gang import Gang
from gangboard.facts.jobs import is_paused
from gangboard.plugins import registry
from gangboard.plugins.lever import Lever
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.policy import refusals
from gangboard.policy.decision import DesiredAction, LeverDecision, PlanRefusal
from gangboard.policy.job_consequences import overlap_warnings
from gangboard.policy.registry_lookups import kind_of, queue_system
from gangboard.policy.suspended_groups import GroupConsequences, consequences_for_owner


def decide(gang: Gang, desired: DesiredAction) -> LeverDecision | PlanRefusal:
    """Return the decision about the topmost owner, or why no action is possible."""
    refused = refusals.owner_out_of_reach(gang)
    if refused is not None:
        return refused
    kind, lever = kind_of(gang.owner), _lever_of(gang, desired.levers)
    objection = kind.refuses(gang.owner, desired.verb) if kind is not None else ""
    if objection:
        return PlanRefusal(objection)
    if desired.until is not None and (lever is None or not lever.supports_end):
        return refusals.until_misplaced(desired.verb, gang.name)
    if kind is not None and kind.no_lever and not kind.levers and kind.needs_group:
        return refusals.no_lever(gang)
    if gang.queue.is_managed and lever is None:
        return refusals.queue_decides(gang, queue_system(gang))
    if kind is None or lever is None:
        return refusals.no_lever(gang)
    return _decide_with(lever, gang, kind, desired)


def _lever_of(gang: Gang, levers: ClusterLevers) -> Lever | None:
    """Return the lever for the whole owner: that of its queue, or the best one of its kind.

    A lever for single Jobs that also suspends owners comes before that of the kind.
    """
    kind, system = kind_of(gang.owner), queue_system(gang)
    if gang.queue.is_managed:
        return system.lever if system is not None else None
    for lever in job_by_job_levers(gang, levers):
        if gang.child_jobs and not gang.owner.suspended:
            return lever
    return registry.lever(kind.levers[0]) if kind is not None and kind.levers else None


def job_by_job_levers(gang: Gang, levers: ClusterLevers) -> tuple[Lever, ...]:
    """Return the levers for single Jobs that also suspend the whole owner."""
    kind = kind_of(gang.owner)
    candidates = (registry.lever(key) for key in (kind.child_levers if kind is not None else ()))
    return tuple(
        lever
        for lever in candidates
        if lever is not None and lever.applies_job_by_job(gang, levers)
    )


def _decide_with(
    lever: Lever, gang: Gang, kind: OwnerKind, desired: DesiredAction
) -> LeverDecision | PlanRefusal:
    decision = lever.decide(gang, gang.owner, desired)
    if isinstance(decision, PlanRefusal):
        return decision
    reactions = None
    if lever.key in kind.levers:
        reactions = kind.reactions(gang.owner, gang.owner, desired.verb)
    if reactions is None:
        reactions = decision.reactions
    groups = _group_consequences(lever, gang, kind, desired.verb)
    return LeverDecision(
        lever,
        replace(
            decision,
            reactions=(
                *reactions,
                *groups.reactions,
                *_maker_reactions(gang, desired.verb),
            ),
            warnings=(
                *decision.warnings,
                *groups.warnings,
                *_overlap_warnings(gang, desired.verb),
                *_warnings(gang),
            ),
        ),
    )


# Consequences


def _group_consequences(lever: Lever, gang: Gang, kind: OwnerKind, verb: Verb) -> GroupConsequences:
    """Return what a suspend does to the groups of the gang."""
    if verb is not Verb.SUSPEND:
        return GroupConsequences()
    is_whole = lever.key in kind.levers or gang.queue.is_managed
    return consequences_for_owner(gang, job_by_job=not is_whole)


def _maker_reactions(gang: Gang, verb: Verb) -> tuple[str, ...]:
    """Return the reactions of the owner's maker, such as a CronJob."""
    maker = gang.maker
    if maker is None:
        return ()
    kind = kind_of(maker)
    return (kind.reactions(maker, gang.owner, verb) or ()) if kind is not None else ()


def _warnings(gang: Gang) -> tuple[str, ...]:
    """Return warnings about Jobs that do not follow their owner, and about queues."""
    warnings = []
    held = _names(job for job in gang.child_jobs.values() if gang.holds_on(job))
    if held:
        warnings.append(f"Held Jobs stay suspended when {gang.name} is resumed: {held}.")
    paused = _names(job for job in gang.child_jobs.values() if is_paused(job))
    if paused:
        warnings.append(f"Jobs paused by parallelism 0 get no pods when it is resumed: {paused}.")
    queued = () if gang.queue.is_managed else gang.queued_jobs.values()
    if queued:
        warnings.append(
            f"{_names(queued)} {is_or_are(len(queued))} queued by {gang.queue_system} on "
            f"{'its' if len(queued) == 1 else 'their'} own: {gang.queue_system} and {gang.name} may "
            "undo each other."
        )
    if gang.queue.standing is QueueStanding.NOT_SERVED:
        warnings += _takeover_warnings(gang)
    return tuple(warnings)


def _overlap_warnings(gang: Gang, verb: Verb) -> list[str]:
    """Return a warning if a resume makes pods of Jobs beside their old ones. Held Jobs stay suspended."""
    if verb is not Verb.RESUME:
        return []
    return overlap_warnings(job for job in gang.jobs if not gang.holds_on(job))


def _takeover_warnings(gang: Gang) -> list[str]:
    """Return the effects of admission systems that may be installed later."""
    suspended, name = not gang.owner.suspended, gang.name
    return [
        text
        for system in registry.admission_systems()
        if (text := system.takes_over(name, gang.queue.queue, suspended))
    ]


def _names(jobs: Iterable[Owner]) -> str:
    return names(job.meta.ref.name for job in jobs)
