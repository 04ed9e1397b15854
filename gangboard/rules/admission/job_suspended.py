"""`job-suspended`: some child Jobs are suspended, and everything that is not suspended runs.

It is silent while anything else of the unit lacks a member: that is then the news. A child Job
that JobSet keeps suspended because its part depends on another one is not meant.
"""

from __future__ import annotations

from datetime import datetime

from gangboard.domain.facts import Unit
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import find_condition
from gangboard.domain.owner import Owner
from gangboard.domain.reading.dependencies import waiting_parts
from gangboard.domain.reading.findings import unit_finding
from gangboard.domain.reading.progress import is_full, missing
from gangboard.domain.reading.wording import is_or_are, names, out_of, pods_left, sentence
from gangboard.domain.registry import UnitRule
from gangboard.domain.verdict import Evidence, Finding


def find(unit: Unit) -> Finding | None:
    """Return a finding when the unit has suspended Jobs and lacks nothing else."""
    waiting = {wait.part.name for wait in waiting_parts(unit)}
    suspended = [
        job
        for job in unit.jobs
        if job.suspended and job.finish is None and job.part_name not in waiting
    ]
    if not suspended or unit.owner.suspended or not is_full(unit) or missing(unit):
        return None
    held = [job for job in unit.facts.jobs if job.suspended and job.finish is None]
    listed = names(job.meta.ref.name for job in held)
    number = len(held)
    message = (
        f"{out_of(number, len(unit.facts.jobs), 'Job')} {is_or_are(number)} suspended: {listed}."
    )
    leaving = pods_left(tuple(pod for pod in unit.pods if pod.is_terminating))
    if leaving:
        message = sentence(f"{message} {leaving}")
    return unit_finding(
        RULE,
        unit,
        message,
        evidence=tuple(Evidence("spec.suspend", "true", job.meta.ref) for job in suspended),
        since=_since(suspended),
    )


def _since(suspended: list[Owner]) -> datetime | None:
    conditions = [find_condition(job.conditions, "Suspended") for job in suspended]
    times = [one.since for one in conditions if one is not None and one.is_true and one.since]
    return max(times, default=None)


RULE = UnitRule(
    "job-suspended", Stage.ADMISSION, "Job suspended", 10, find, health=Health.SUSPENDED
)
