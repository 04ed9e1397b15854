"""Plans: what would be done to one object of a gang, or why it is not."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from gangboard.domain.action import ActionContext, ActionRequest, ClusterLevers, Plan, Verb
from gangboard.domain.objects import Meta
from gangboard.facts.gang_index import GangIndex
from gangboard.policy import job_decisions, owner_decisions, refusals
from gangboard.policy.decision import DesiredAction, PlanRefusal, Pulled
from gangboard.policy.indexing import gang_of


def plan(
    context: ActionContext,
    levers: ClusterLevers,
    action_request: ActionRequest,
    *,
    by: str,
    action: str,
    now: datetime,
    chosen: frozenset[str] = frozenset(),
) -> Plan:
    """Return what is done to the object that is asked for: the topmost owner or one of its Jobs.

    `by` is who asks, for a new Hold; `action` is the id that is left in annotations; `chosen` are the
    uids of the selection that it is part of, which `of_selection` judges as a whole. An allowed plan has a lever and steps, a refused one neither.
    The same arguments give the same plan, to the byte.
    """
    desired = DesiredAction(
        action_request.verb,
        levers,
        now,
        by=by,
        reason=action_request.reason,
        until=action_request.until,
        ended_hold=action_request.ended_hold,
        action=action,
        chosen=chosen,
    )
    uid = action_request.target.uid
    gang = gang_of(_context_of(context, uid), levers.queue_visibility)
    return _plan(gang, desired, uid, with_steps=True)


def offers(
    context: ActionContext, levers: ClusterLevers, uid: str, now: datetime
) -> tuple[Plan, Plan]:
    """Return the plans to suspend and to resume one object, without steps: for its buttons."""
    gang = gang_of(_context_of(context, uid), levers.queue_visibility)
    return _offers(gang, levers, uid, now)


def all_offers(
    context: ActionContext, levers: ClusterLevers, now: datetime
) -> Mapping[str, tuple[Plan, Plan]]:
    """Return the `offers` of the owner, of each of its current Jobs and of what makes such gangs, by uid."""
    gang = gang_of(context, levers.queue_visibility)
    uids = (context.owner.meta.ref.uid, *gang.jobs)
    found = {uid: _offers(gang, levers, uid, now) for uid in uids}
    if context.maker is not None:
        uid = context.maker.meta.ref.uid
        found[uid] = offers(context, levers, uid, now)
    return found


def _context_of(context: ActionContext, uid: str) -> ActionContext:
    """Return the objects that matter for one: what makes gangs stands alone, none of them is touched by it."""
    maker = context.maker
    if maker is None or maker.meta.ref.uid != uid:
        return context
    return ActionContext(owner=maker, api_versions=context.api_versions)


def _offers(gang: GangIndex, levers: ClusterLevers, uid: str, now: datetime) -> tuple[Plan, Plan]:
    suspend, resume = (
        _plan(gang, DesiredAction(verb, levers, now), uid, with_steps=False)
        for verb in (Verb.SUSPEND, Verb.RESUME)
    )
    return suspend, resume


def _plan(gang: GangIndex, desired: DesiredAction, uid: str, *, with_steps: bool) -> Plan:
    between = next((one for one in gang.context.middle if one.meta.ref.uid == uid), None)
    if between is not None:
        return _refused(desired, between.meta, refusals.made_by_owner(gang, between))
    meta = _meta_of(gang, uid)
    if meta is None:
        owner = gang.owner.meta
        return _refused(desired, owner, refusals.not_of_gang(gang, uid))
    decided = (
        refusals.cluster_closed(desired.levers)
        or refusals.unknown_version(gang)
        or _decide(gang, desired, uid)
    )
    if isinstance(decided, PlanRefusal):
        return _refused(desired, meta, decided)
    found = decided.decision
    return Plan(
        verb=desired.verb,
        subject=meta.ref,
        generation=meta.generation,
        lever=decided.lever.key,
        steps=found.steps() if with_steps else (),
        reactions=found.reactions,
        warnings=found.warnings,
        before=found.before,
        after=found.after,
        watch_seconds=found.watch_seconds,
        label=found.label,
        meaning=found.meaning,
    )


def _meta_of(gang: GangIndex, uid: str) -> Meta | None:
    if uid == gang.owner.meta.ref.uid:
        return gang.owner.meta
    job = gang.jobs.get(uid)
    return job.meta if job is not None else None


def _decide(gang: GangIndex, desired: DesiredAction, uid: str) -> Pulled | PlanRefusal:
    job = gang.jobs.get(uid)
    if job is None:
        return owner_decisions.decide(gang, desired)
    return job_decisions.decide(gang, job, desired)


def _refused(desired: DesiredAction, meta: Meta, refusal: PlanRefusal) -> Plan:
    return Plan(
        verb=desired.verb,
        subject=meta.ref,
        generation=meta.generation,
        why_not=refusal.why,
        needs=refusal.needs,
    )
