"""What comes of Jobs of one gang that are asked for with one confirmation."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.action import ActionContext, ClusterLevers, Plan, Verb
from gangboard.domain.owner import Owner
from gangboard.plugins import registry
from gangboard.policy import multi_job_consequences
from gangboard.policy.indexing import gang_of, kind_above
from gangboard.policy.owner_decisions import of_jobs_that_go_first
from gangboard.policy.plan import all_offers


@dataclass(frozen=True, slots=True)
class Selection:
    """Jobs of one gang that would be stopped together."""

    jobs: tuple[Owner, ...]
    """Those of the chosen that can be stopped, by name."""
    sentences: tuple[str, ...]
    """What comes of all of them together: that it does not last, then the gravest first."""
    whole: Plan | None
    """To suspend their owner instead, where that is better (nothing of it would run) and possible."""


def of_selection(
    context: ActionContext,
    levers: ClusterLevers,
    chosen: Collection[str],
    verb: Verb,
    now: datetime,
) -> Selection | None:
    """Judge the chosen uids of a gang as a whole.

    None where there is nothing to say of a set: a resume, the owner itself among them, or none that
    can be stopped. Of a lever that is forced it is said first that it likely does not last.
    """
    owner = context.owner.meta.ref.uid
    if verb is not Verb.SUSPEND or owner in chosen:
        return None
    gang = gang_of(context, levers.queue_visibility)
    plans = {uid: suspend for uid, (suspend, _) in all_offers(context, levers, now).items()}
    jobs = tuple(job for uid, job in gang.jobs.items() if uid in chosen and plans[uid].allowed)
    key = next((plans[job.meta.ref.uid].lever for job in jobs), None)
    lever = registry.lever(key) if key is not None else None
    if lever is None:
        return None
    kind = kind_above(jobs[0].meta.controller)
    sentences = multi_job_consequences.warnings(gang, jobs, lever)
    if kind is not None:
        sentences += kind.conduct.outcome(gang, jobs, lever)
        is_forced = sentences and levers.forced and kind.conduct.manager
        if is_forced and not of_jobs_that_go_first(gang, levers):
            sentences = (multi_job_consequences.while_it_lasts(gang, kind.conduct), *sentences)
    whole = None
    if multi_job_consequences.stops_all(gang, jobs, lever):
        plan = plans[owner]
        # An owner whose Jobs are suspended one by one is no better off than these Jobs.
        whole = plan if plan.allowed and plan.lever != lever.key else None
    return Selection(jobs, sentences, whole)
