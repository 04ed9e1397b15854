"""Phrases about owners and single Jobs, for the sentences of decisions."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime

from gangboard.domain.owner import Owner
from gangboard.domain.queue_status import QueueStanding
from gangboard.domain.text import count, is_or_are, label, names
from gangboard.facts.gang import Gang
from gangboard.facts.jobs import expected_pods, is_paused, requests_pods


@dataclass(frozen=True, slots=True)
class WaitReason:
    """Why a Job may not run now, regardless of its own spec."""

    why: str
    """Half a sentence: `Kueue has not admitted JobSet run`."""
    until: str
    """The event after which it starts: `the JobSet does`."""


def wait_of(gang: Gang, job: Owner) -> WaitReason | None:
    """Return why a child Job may not run now because of its owner or its own queue, or None."""
    gang_wait, own = wait_of_gang(gang), gang.queue_statuses[job.meta.ref.uid]
    if gang_wait is not None or own.may_run or not job.suspended:
        return gang_wait
    name = label(job.meta.ref)
    if own.standing is QueueStanding.UNKNOWN:
        return WaitReason(f"{name} may wait in queue {own.queue}", "that has admitted it")
    if own.standing is QueueStanding.DEACTIVATED:
        entries = names(entry.meta.ref.name for entry in own.entries)
        why = f"{own.entries[0].meta.ref.kind} {entries} of {name} is deactivated"
        return WaitReason(why, "that is activated and admitted")
    return WaitReason(f"{gang.queue_system} has not admitted {name}", "it is admitted")


def wait_of_gang(gang: Gang) -> WaitReason | None:
    """Return why no child Job may run now, or None."""
    until = f"the {gang.owner.meta.ref.kind} does"
    if gang.queue.standing is QueueStanding.UNKNOWN:
        why = f"{gang.name} is suspended, and may wait in queue {gang.queue.queue}"
        return WaitReason(why, until)
    if not gang.queue.may_run:
        return WaitReason(f"{gang.queue_system} has not admitted {gang.name}", until)
    return WaitReason(f"{gang.name} is suspended", until) if gang.owner.suspended else None


def pods_deleted(pods: int | None, grace_seconds: int) -> str:
    """Return a sentence about the deletion of this many pods. None means that the number is unknown."""
    if pods == 0:
        return "It has no pods now."
    subject = "Its pods are" if pods is None else f"Its {count(pods, 'pod')} {is_or_are(pods)}"
    when = f"with up to {grace_seconds} s to end" if grace_seconds else "at once"
    return f"{subject} deleted, {when}; unsaved work is lost."


def pods_made(pods: int) -> str:
    """Return a sentence about the creation of this many pods. 0 means that the number is unknown."""
    subject = f"Its {count(pods, 'pod')} {is_or_are(pods)}" if pods else "Its pods are"
    need = "it needs" if pods == 1 else "they need"
    return f"{subject} created: {need} capacity, may have to wait, and may get other nodes."


def moment(time: datetime) -> str:
    """Return `2026-11-21 18:00 UTC`, with seconds unless they are 0."""
    utc = time.astimezone(UTC)
    return utc.strftime("%Y-%m-%d %H:%M:%S UTC" if utc.second else "%Y-%m-%d %H:%M UTC")


def they_are(jobs: Collection[Owner]) -> str:
    """Return `it is` or `they are` for these Jobs."""
    return "it is" if len(jobs) == 1 else "they are"


def pods_of_job(gang: Gang, job: Owner) -> str:
    """Return the effect of a stop on the pods of a Job."""
    if job.suspended:
        wait = wait_of(gang, job)
        state = f"It is suspended already ({wait.why})" if wait else "It is suspended already"
        return f"{state}: this keeps it so."
    if not requests_pods(job):
        return "It requests no pods now (parallelism 0)."
    return pods_deleted(job.active_pods, job.grace_seconds)


def job_resumed(gang: Gang, job: Owner) -> tuple[str, ...]:
    """Return the effect of a resume on a suspended or paused Job."""
    wait = wait_of(gang, job)
    if wait is not None:
        return (f"{wait.why}: it starts when {wait.until}.",)
    if job.suspended and job.parallelism == 0:
        return ("It requests no pods (parallelism 0).",)
    return (pods_made(_resumed_pods(job)),)


def _resumed_pods(job: Owner) -> int:
    if not is_paused(job):
        return expected_pods(job)
    parallelism = job.paused_parallelism or 0
    return (
        parallelism
        if job.completions is None
        else min(parallelism, job.completions - job.succeeded_pods)
    )


def gang_stopped(gang: Gang) -> str:
    """Return the effect of a stop on the pods of a gang."""
    workers = [job for job in _workloads_of(gang) if requests_pods(job)]
    known = [job.active_pods for job in workers if job.active_pods is not None]
    is_counted = len(known) == len(workers) and not _pods_without_job(gang)
    pods = sum(known) if is_counted else None
    return pods_deleted(pods, gang.owner.grace_seconds)


def gang_resumed(gang: Gang) -> str:
    """Return the effect of a resume on a whole gang."""
    number = sum(
        expected_pods(job)
        for job in _workloads_of(gang)
        if job.parallelism != 0 and not gang.holds_on(job)
    )
    return pods_made(number + (_pods_without_job(gang) if gang.child_jobs else 0))


def _pods_without_job(gang: Gang) -> int:
    """Return the number of pods in roles without Jobs."""
    roles = (role for role in gang.owner.roles if not role.child_names)
    return sum(role.replicas * role.pods for role in roles)


def _workloads_of(gang: Gang) -> list[Owner]:
    """Return the unfinished Jobs of a gang, or the owner if it has none."""
    jobs = [job for job in gang.child_jobs.values() if job.finish is None]
    return jobs or [gang.owner]
