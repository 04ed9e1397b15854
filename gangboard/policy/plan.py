"""Plans: the requests for one object of a gang and their consequences, or a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from gangboard.domain.action import ActionRequest, ClusterLevers, Plan, Verb
from gangboard.domain.objects import Meta
from gangboard.facts.build_gang import NO_OBJECTS, build_gang
from gangboard.facts.gang import Gang
from gangboard.facts.surroundings import Surroundings
from gangboard.policy import job_decisions, owner_decisions, refusals, relocation_decisions
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
    surroundings: Surroundings | None = None,
) -> Plan:
    """Return the plan for the requested object, the topmost owner or one of its Jobs.

    - `by` is the requesting user, for a new Hold.
    - `action` is the id of the action, which goes into annotations.
    - `chosen` are the uids of the selection that the object is part of. `evaluate_selection` assesses them
      together.
    - `surroundings` are the nodes and pods that a relocation needs.

    An allowed plan has a lever and steps, a refused one has neither. The same arguments give the same plan,
    byte for byte.
    """
    desired = DesiredAction(
        action_request.verb,
        levers,
        now,
        by=by,
        reason=action_request.reason,
        until=action_request.until,
        avoid=action_request.avoid,
        surroundings=surroundings,
        ended_hold=action_request.ended_hold,
        action=action,
        chosen=chosen,
    )
    uid = action_request.target.uid
    return _plan(_gang_or_maker(gang, uid), desired, uid, with_steps=True)


def offers(gang: Gang, levers: ClusterLevers, uid: str, now: datetime) -> tuple[Plan, ...]:
    """Return the plans for the buttons of one object, without steps.

    These are suspend, resume, and for a Job of a kind with such a lever relocate.
    """
    return _offers(_gang_or_maker(gang, uid), levers, uid, now)


def all_offers(gang: Gang, levers: ClusterLevers, now: datetime) -> Mapping[str, tuple[Plan, ...]]:
    """Return uid → `offers` of the owner, of each of its current Jobs, and of the maker of such gangs."""
    uids = (gang.owner.meta.ref.uid, *gang.child_jobs)
    plans = {uid: _offers(gang, levers, uid, now) for uid in uids}
    if gang.maker is not None:
        uid = gang.maker.meta.ref.uid
        plans[uid] = offers(gang, levers, uid, now)
    return plans


def _gang_or_maker(gang: Gang, uid: str) -> Gang:
    """Return the gang with this object.

    The maker of such gangs gets a gang of its own, because actions on it do not touch the gangs that it made.
    """
    maker = gang.maker
    if maker is None or maker.meta.ref.uid != uid:
        return gang
    return build_gang(maker, NO_OBJECTS, gang.cluster, gang.now)


def _offers(gang: Gang, levers: ClusterLevers, uid: str, now: datetime) -> tuple[Plan, ...]:
    verbs = [Verb.SUSPEND, Verb.RESUME]
    if relocation_decisions.has_lever(gang, uid):
        verbs.append(Verb.RELOCATE)
    return tuple(
        _plan(gang, DesiredAction(verb, levers, now), uid, with_steps=False) for verb in verbs
    )


def _plan(gang: Gang, desired: DesiredAction, uid: str, *, with_steps: bool) -> Plan:
    middle = next((candidate for candidate in gang.middle if candidate.meta.ref.uid == uid), None)
    if middle is not None:
        return _refused(desired, middle.meta, refusals.made_by_owner(gang, middle))
    meta = _meta_of(gang, uid)
    if meta is None:
        owner = gang.owner.meta
        return _refused(desired, owner, refusals.not_in_gang(gang, uid))
    result = (
        refusals.cluster_closed(desired.levers)
        or refusals.unknown_version(gang)
        or _decide(gang, desired, uid)
    )
    if isinstance(result, PlanRefusal):
        return _refused(desired, meta, result)
    decision = result.decision
    has_place = desired.verb is not Verb.RELOCATE or desired.avoid is not None
    return Plan(
        verb=desired.verb,
        subject=meta.ref,
        generation=meta.generation,
        lever=result.lever.key,
        steps=decision.steps() if with_steps and has_place else (),
        reactions=decision.reactions,
        warnings=decision.warnings,
        before=decision.before,
        after=decision.after,
        watch_seconds=decision.watch_seconds,
        label=decision.label,
        meaning=decision.meaning,
    )


def _meta_of(gang: Gang, uid: str) -> Meta | None:
    if uid == gang.owner.meta.ref.uid:
        return gang.owner.meta
    job = gang.child_jobs.get(uid)
    return job.meta if job is not None else None


def _decide(gang: Gang, desired: DesiredAction, uid: str) -> LeverDecision | PlanRefusal:
    job = gang.child_jobs.get(uid)
    if desired.verb is Verb.RELOCATE:
        return relocation_decisions.decide(gang, gang.owner if job is None else job, desired)
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
