"""The owner as a whole: by its queue, by its Jobs one by one, or by the best lever of its kind."""

from __future__ import annotations

from dataclasses import replace

from gangboard.domain.action import ClusterLevers, Verb
from gangboard.facts.gang_index import GangIndex
from gangboard.plugins import registry
from gangboard.plugins.lever import Lever
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.policy import owner_consequences as consequences
from gangboard.policy import refusals
from gangboard.policy.decision import DesiredAction, PlanRefusal
from gangboard.policy.indexing import kind_of, queue_system
from gangboard.policy.pulled import Pulled


def decide(gang: GangIndex, desired: DesiredAction) -> Pulled | PlanRefusal:
    """Return what is done to the topmost owner, or why nothing is."""
    refused = refusals.owner_out_of_reach(gang)
    if refused is not None:
        return refused
    kind, lever = kind_of(gang.owner), _lever_of(gang, desired.levers)
    against = kind.refuses(gang.owner, desired.verb) if kind is not None else ""
    if against:
        return PlanRefusal(against)
    if desired.until is not None and (lever is None or not lever.takes_end):
        return refusals.until_misplaced(desired.verb, gang.name)
    if kind is not None and kind.no_lever and not kind.levers and kind.needs_group:
        return refusals.no_lever(gang)
    if gang.is_queued and lever is None:
        return refusals.queue_decides(gang, queue_system(gang))
    if kind is None or lever is None:
        return refusals.no_lever(gang)
    return _pull(lever, gang, kind, desired)


def _lever_of(gang: GangIndex, levers: ClusterLevers) -> Lever | None:
    """Return the queue's lever; else one for single Jobs that goes first; else the best of the kind."""
    kind, system = kind_of(gang.owner), queue_system(gang)
    if gang.is_queued:
        return system.lever if system is not None else None
    for lever in of_jobs_that_go_first(gang, levers):
        if gang.jobs and not gang.owner.suspended:
            return lever
    return registry.lever(kind.levers[0]) if kind is not None and kind.levers else None


def of_jobs_that_go_first(gang: GangIndex, levers: ClusterLevers) -> tuple[Lever, ...]:
    """Return the levers for one Job of this owner that are the way for all of it, too."""
    kind = kind_of(gang.owner)
    found = (registry.lever(key) for key in (kind.child_levers if kind is not None else ()))
    return tuple(
        lever
        for lever in found
        if lever is not None and lever.goes_first is not None and lever.goes_first(gang, levers)
    )


def _pull(
    lever: Lever, gang: GangIndex, kind: OwnerKind, desired: DesiredAction
) -> Pulled | PlanRefusal:
    pull = lever.suspend if desired.verb is Verb.SUSPEND else lever.resume
    found = pull(gang, gang.owner, desired)
    if isinstance(found, PlanRefusal):
        return found
    own = None
    if lever.key in kind.levers:
        own = kind.reactions(gang.owner, gang.owner, desired.verb)
    return Pulled(
        lever,
        replace(
            found,
            reactions=(
                *(found.reactions if own is None else own),
                *consequences.of_maker(gang, desired.verb),
            ),
            warnings=(*found.warnings, *consequences.warnings(gang)),
        ),
    )
