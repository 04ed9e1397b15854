"""Phrases that sentences about owners and about single Jobs share."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from gangboard.domain.owner import Owner
from gangboard.domain.text import count, is_or_are
from gangboard.facts.gang import Gang, asks_for_pods, is_paused, seats_of


def pods_deleted(pods: int | None, grace_seconds: int) -> str:
    """Return the words for so many deleted pods; `pods` is None when nobody counts them."""
    if pods == 0:
        return "It has no pods now."
    what = "Its pods are" if pods is None else f"Its {count(pods, 'pod')} {is_or_are(pods)}"
    when = f"with up to {grace_seconds} s to end" if grace_seconds else "at once"
    return f"{what} deleted, {when}; unsaved work is lost."


def pods_made(pods: int) -> str:
    """Return the words for so many pods that are made; `pods` is 0 when nobody knows how many."""
    what = f"Its {count(pods, 'pod')} {is_or_are(pods)}" if pods else "Its pods are"
    room = "it needs" if pods == 1 else "they need"
    return f"{what} made: {room} room, may have to wait, and may get other nodes."


def moment(time: datetime) -> str:
    """Return `2026-11-21 18:00 UTC`, with seconds where they count."""
    utc = time.astimezone(UTC)
    return utc.strftime("%Y-%m-%d %H:%M:%S UTC" if utc.second else "%Y-%m-%d %H:%M UTC")


def they_are(jobs: Collection[Owner]) -> str:
    """Return the words for Jobs that were named before."""
    return "it is" if len(jobs) == 1 else "they are"


def pods_of_job(gang: Gang, job: Owner) -> str:
    """Say what becomes of the pods of a Job that is stopped."""
    if job.suspended:
        wait = gang.wait_of(job)
        so = f"It is suspended already ({wait.why})" if wait else "It is suspended already"
        return f"{so}: this keeps it so."
    if not asks_for_pods(job):
        return "It asks for no pods now (parallelism 0)."
    return pods_deleted(job.active_pods, job.grace_seconds)


def job_resumed(gang: Gang, job: Owner) -> tuple[str, ...]:
    """Say what a resume brings: of a Job that is suspended, or else paused."""
    wait = gang.wait_of(job)
    if wait is not None:
        return (f"{wait.why}: it starts when {wait.until}.",)
    if job.suspended and job.parallelism == 0:
        return ("It asks for no pods (parallelism 0).",)
    return (pods_made(_pods_to_come(job)),)


def _pods_to_come(job: Owner) -> int:
    if not is_paused(job):
        return seats_of(job)
    kept = job.paused_parallelism or 0
    return kept if job.completions is None else min(kept, job.completions - job.succeeded_pods)


def gang_stopped(gang: Gang) -> str:
    """Say what becomes of the pods of a gang that is stopped as a whole."""
    workers = [job for job in _workers(gang) if asks_for_pods(job)]
    known = [job.active_pods for job in workers if job.active_pods is not None]
    is_counted = len(known) == len(workers) and not _pods_without_job(gang)
    pods = sum(known) if is_counted else None
    return pods_deleted(pods, gang.owner.grace_seconds)


def gang_resumed(gang: Gang) -> str:
    """Say what a resume of a gang as a whole brings."""
    number = sum(
        seats_of(job) for job in _workers(gang) if job.parallelism != 0 and not gang.holds_on(job)
    )
    return pods_made(number + (_pods_without_job(gang) if gang.child_jobs else 0))


def _pods_without_job(gang: Gang) -> int:
    """Return how many pods its roles ask for that no Job makes."""
    roles = (role for role in gang.owner.roles if not role.child_names)
    return sum(role.replicas * role.pods for role in roles)


def _workers(gang: Gang) -> list[Owner]:
    """Return what makes pods: its unfinished Jobs, or the owner itself when it has none."""
    jobs = [job for job in gang.child_jobs.values() if job.finish is None]
    return jobs or [gang.owner]
