"""`job-suspended`: some child Jobs are suspended, and everything that is not suspended runs.

The rule is silent while the unit lacks another member, because that is more important. Two kinds of Jobs do not
count: those that JobSet keeps suspended for a dependency of their role, and those that their queue has not
admitted.

The sentence says who holds or suspended each Job, or that this is unknown. The finding has the stage `run`,
because all that should run does.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import find_condition
from gangboard.domain.owner import Owner
from gangboard.domain.text import is_or_are, out_of, remaining_pods_text, sentence
from gangboard.domain.verdict import Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.gang import Gang
from gangboard.facts.job_holds import (
    hold_evidence,
    jobs_with_holders_text,
    recreated_under_hold_text,
    resume_advice,
)
from gangboard.facts.queue_sentences import jobs_suspended_by_queue
from gangboard.facts.silent_nodes import report_overdue
from gangboard.facts.suspensions import suspend_evidence
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import UnitRule


def find(unit: Unit) -> Finding | None:
    """Return a finding if the unit has suspended Jobs and lacks no other member."""
    suspended = _suspended_jobs(unit.gang, unit.jobs)
    if not suspended or unit.owner.suspended or not unit.is_full or unit.missing:
        return None
    all_suspended = _suspended_jobs(unit.gang, unit.gang.jobs)
    listed = jobs_with_holders_text(unit.gang, all_suspended)
    number = len(all_suspended)
    pods_by_job = unit.gang.pods_by_job
    old_pods = [pod for job in all_suspended for pod in pods_by_job.get(job.meta.ref.uid, ())]
    overdue = report_overdue(unit.gang, old_pods)
    sentences = (
        f"{out_of(number, len(unit.gang.jobs), 'Job')} {is_or_are(number)} suspended: {listed}.",
        recreated_under_hold_text(unit.gang, all_suspended),
        sentence(remaining_pods_text(tuple(pod for pod in unit.pods if pod.is_terminating))),
        overdue.text,
    )
    return unit_finding(
        RULE,
        unit,
        " ".join(filter(None, sentences)),
        advice=(*resume_advice(unit.gang, all_suspended), *overdue.steps),
        evidence=(
            *(suspend_evidence(unit.gang, job) for job in suspended),
            *hold_evidence(unit.gang, suspended),
            *overdue.evidence,
        ),
        recheck_at=overdue.recheck_at,
        since=_since(suspended),
        stage=Stage.RUN,
    )


def _suspended_jobs(gang: Gang, jobs: Sequence[Owner]) -> list[Owner]:
    """Return the suspended Jobs, without those that wait for a queue or for another role."""
    suspended = [job for job in jobs if job.suspended and job.finish is None]
    if not suspended:
        return []
    queued_uids = {job.meta.ref.uid for job in jobs_suspended_by_queue(gang, suspended)}
    return [
        job
        for job in suspended
        if job.meta.ref.uid not in queued_uids
        and (job.role_name not in gang.unmet or gang.hold_of(job) is not None)
    ]


def _since(suspended: list[Owner]) -> datetime | None:
    conditions = [find_condition(job.conditions, "Suspended") for job in suspended]
    times = [
        condition.since
        for condition in conditions
        if condition is not None and condition.is_true and condition.since
    ]
    return max(times, default=None)


RULE = UnitRule(
    "job-suspended", Stage.ADMISSION, "Job suspended", 30, find, health=Health.SUSPENDED
)
