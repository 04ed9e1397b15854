"""Consequences of one confirmation for several Jobs of a gang."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.action import ClusterLevers, Plan, Verb
from gangboard.domain.owner import Owner
from gangboard.facts.gang import Gang
from gangboard.plugins import registry
from gangboard.policy import job_consequences
from gangboard.policy.owner_decisions import job_by_job_levers
from gangboard.policy.plan import all_offers
from gangboard.policy.registry_lookups import kind_above


@dataclass(frozen=True, slots=True)
class Selection:
    """Jobs of one gang that one confirmation would stop."""

    jobs: tuple[Owner, ...]
    """The chosen Jobs that can be stopped, by name."""
    sentences: tuple[str, ...]
    """Consequences of the whole set, the gravest first."""
    owner_plan: Plan | None
    """A plan to suspend their owner instead, if that is possible and no other Job of it would run."""


def evaluate_selection(
    gang: Gang,
    levers: ClusterLevers,
    chosen: Collection[str],
    verb: Verb,
    now: datetime,
) -> Selection | None:
    """Return the consequences for the chosen uids of a gang.

    Returns None for a resume, for a selection that contains the owner, and if no chosen Job can be stopped. A
    forced suspend starts with the warning that it likely does not last.
    """
    owner = gang.owner.meta.ref.uid
    if verb is not Verb.SUSPEND or owner in chosen:
        return None
    plans = {uid: suspend for uid, (suspend, *_) in all_offers(gang, levers, now).items()}
    jobs = tuple(
        job for uid, job in gang.child_jobs.items() if uid in chosen and plans[uid].allowed
    )
    key = next((plans[job.meta.ref.uid].lever for job in jobs), None)
    lever = registry.lever(key) if key is not None else None
    if lever is None:
        return None
    kind = kind_above(jobs[0].meta.controller)
    sentences = job_consequences.set_warnings(gang, jobs, lever)
    if kind is not None:
        sentences += kind.conduct.outcome(gang, jobs, lever)
        is_forced = sentences and levers.forced and kind.conduct.manager
        if is_forced and not job_by_job_levers(gang, levers):
            sentences = (job_consequences.while_it_lasts(gang, kind.conduct), *sentences)
    owner_plan = None
    if job_consequences.stops_all(gang, jobs, lever):
        plan = plans[owner]
        # A suspend of the owner Job by Job has no advantage.
        owner_plan = plan if plan.allowed and plan.lever != lever.key else None
    return Selection(jobs, sentences, owner_plan)
