"""Phrases in sentences about owners and single Jobs."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from gangboard.domain.owner import Owner
from gangboard.domain.text import count, is_or_are
from gangboard.facts.gang import Gang, asks_for_pods, is_paused, seats_of


def pods_deleted(pods: int | None, grace_seconds: int) -> str:
    """Return a sentence about this many deleted pods; None if the number is unknown."""
    if pods == 0:
        return "It has no pods now."
    subject = "Its pods are" if pods is None else f"Its {count(pods, 'pod')} {is_or_are(pods)}"
    when = f"with up to {grace_seconds} s to end" if grace_seconds else "at once"
    return f"{subject} deleted, {when}; unsaved work is lost."


def pods_made(pods: int) -> str:
    """Return a sentence about this many new pods; 0 if the number is unknown."""
    subject = f"Its {count(pods, 'pod')} {is_or_are(pods)}" if pods else "Its pods are"
    need = "it needs" if pods == 1 else "they need"
    return f"{subject} made: {need} room, may have to wait, and may get other nodes."


def moment(time: datetime) -> str:
    """Return `2026-11-21 18:00 UTC`, with seconds unless they are 0."""
    utc = time.astimezone(UTC)
    return utc.strftime("%Y-%m-%d %H:%M:%S UTC" if utc.second else "%Y-%m-%d %H:%M UTC")


def they_are(jobs: Collection[Owner]) -> str:
    """Return `it is` or `they are` for these Jobs."""
    return "it is" if len(jobs) == 1 else "they are"


def pods_of_job(gang: Gang, job: Owner) -> str:
    """Return what happens to the pods of a stopped Job."""
    if job.suspended:
        wait = gang.wait_of(job)
        so = f"It is suspended already ({wait.why})" if wait else "It is suspended already"
        return f"{so}: this keeps it so."
    if not asks_for_pods(job):
        return "It asks for no pods now (parallelism 0)."
    return pods_deleted(job.active_pods, job.grace_seconds)


def job_resumed(gang: Gang, job: Owner) -> tuple[str, ...]:
    """Return what a resume of a suspended or paused Job brings."""
    wait = gang.wait_of(job)
    if wait is not None:
        return (f"{wait.why}: it starts when {wait.until}.",)
    if job.suspended and job.parallelism == 0:
        return ("It asks for no pods (parallelism 0).",)
    return (pods_made(_pods_to_come(job)),)


def _pods_to_come(job: Owner) -> int:
    if not is_paused(job):
        return seats_of(job)
    parallelism = job.paused_parallelism or 0
    return (
        parallelism
        if job.completions is None
        else min(parallelism, job.completions - job.succeeded_pods)
    )


def gang_stopped(gang: Gang) -> str:
    """Return what happens to the pods of a stopped gang."""
    workers = [job for job in _workers(gang) if asks_for_pods(job)]
    known = [job.active_pods for job in workers if job.active_pods is not None]
    is_counted = len(known) == len(workers) and not _pods_without_job(gang)
    pods = sum(known) if is_counted else None
    return pods_deleted(pods, gang.owner.grace_seconds)


def gang_resumed(gang: Gang) -> str:
    """Return what a resume of a whole gang brings."""
    number = sum(
        seats_of(job) for job in _workers(gang) if job.parallelism != 0 and not gang.holds_on(job)
    )
    return pods_made(number + (_pods_without_job(gang) if gang.child_jobs else 0))


def _pods_without_job(gang: Gang) -> int:
    """Return the number of pods in roles without Jobs."""
    roles = (role for role in gang.owner.roles if not role.child_names)
    return sum(role.replicas * role.pods for role in roles)


def _workers(gang: Gang) -> list[Owner]:
    """Return its unfinished Jobs, or the owner if it has none."""
    jobs = [job for job in gang.child_jobs.values() if job.finish is None]
    return jobs or [gang.owner]
