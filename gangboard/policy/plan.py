"""Plans: what would be done to one object of a gang, or why it is not."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from gangboard.domain.action import ActionRequest, ClusterLevers, Plan, Verb
from gangboard.domain.objects import Meta
from gangboard.facts.build_gang import NO_OBJECTS, build_gang
from gangboard.facts.gang import Gang
from gangboard.policy import job_decisions, owner_decisions, refusals
from gangboard.policy.decision import DesiredAction, LeverDecision, PlanRefusal


def plan(
    gang: Gang,
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
    uids of the selection that it is part of, which `evaluate_selection` judges as a whole. An allowed plan has a lever and steps, a refused one neither.
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
    return _plan(_gang_or_maker(gang, uid), desired, uid, with_steps=True)


def offers(gang: Gang, levers: ClusterLevers, uid: str, now: datetime) -> tuple[Plan, Plan]:
    """Return the plans to suspend and to resume one object, without steps: for its buttons."""
    return _offers(_gang_or_maker(gang, uid), levers, uid, now)


def all_offers(gang: Gang, levers: ClusterLevers, now: datetime) -> Mapping[str, tuple[Plan, Plan]]:
    """Return the `offers` of the owner, of each of its current Jobs and of what makes such gangs, by uid."""
    uids = (gang.owner.meta.ref.uid, *gang.child_jobs)
    plans = {uid: _offers(gang, levers, uid, now) for uid in uids}
    if gang.maker is not None:
        uid = gang.maker.meta.ref.uid
        plans[uid] = offers(gang, levers, uid, now)
    return plans


def _gang_or_maker(gang: Gang, uid: str) -> Gang:
    """Return the gang for one object of it. The maker of such gangs stands alone: no action on it touches them."""
    maker = gang.maker
    if maker is None or maker.meta.ref.uid != uid:
        return gang
    return build_gang(maker, NO_OBJECTS, gang.cluster, gang.now)


def _offers(gang: Gang, levers: ClusterLevers, uid: str, now: datetime) -> tuple[Plan, Plan]:
    suspend, resume = (
        _plan(gang, DesiredAction(verb, levers, now), uid, with_steps=False)
        for verb in (Verb.SUSPEND, Verb.RESUME)
    )
    return suspend, resume


def _plan(gang: Gang, desired: DesiredAction, uid: str, *, with_steps: bool) -> Plan:
    between = next((one for one in gang.middle if one.meta.ref.uid == uid), None)
    if between is not None:
        return _refused(desired, between.meta, refusals.made_by_owner(gang, between))
    meta = _meta_of(gang, uid)
    if meta is None:
        owner = gang.owner.meta
        return _refused(desired, owner, refusals.not_in_gang(gang, uid))
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


def _meta_of(gang: Gang, uid: str) -> Meta | None:
    if uid == gang.owner.meta.ref.uid:
        return gang.owner.meta
    job = gang.child_jobs.get(uid)
    return job.meta if job is not None else None


def _decide(gang: Gang, desired: DesiredAction, uid: str) -> LeverDecision | PlanRefusal:
    job = gang.child_jobs.get(uid)
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
