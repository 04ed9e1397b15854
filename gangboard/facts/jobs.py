"""Readings of a single Job, and the key by which Holds refer to it."""

from __future__ import annotations

from gangboard.domain.hold import Hold
from gangboard.domain.owner import Owner

JobKey = tuple[str, str, str]
"""(uid of the controller, namespace, name) of a Job."""


def job_key(job: Owner) -> JobKey:
    """Return the key of a Job in `Gang.holds_by_job`."""
    ref, controller = job.meta.ref, job.meta.controller
    return controller.uid if controller else "", ref.namespace, ref.name


def hold_key(hold: Hold) -> JobKey:
    """Return the key of the Job that a Hold is for."""
    return hold.owner_uid, hold.meta.ref.namespace, hold.job_name


def age_of_hold(hold: Hold) -> tuple[bool, float, str]:
    """Return the sort key by which the oldest Hold comes first."""
    created = hold.meta.created_at
    return created is None, created.timestamp() if created else 0.0, hold.meta.ref.name


def is_paused(job: Owner) -> bool:
    """Return whether gangboard set the parallelism to 0. The annotation alone can be a leftover."""
    return job.parallelism == 0 and bool(job.paused_parallelism)


def asks_for_pods(job: Owner) -> bool:
    """Return whether a Job is neither suspended nor at parallelism 0."""
    return not job.suspended and job.parallelism != 0


def seats_of(job: Owner) -> int:
    """Return the number of pods that a Job has or will have at a time, without succeeded ones."""
    return max(0, job.desired - job.succeeded_pods)
