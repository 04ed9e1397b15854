"""History of a unit in its current attempt: earlier completeness, losses, restarts and retries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from gangboard.domain.objects import ObjectRef
from gangboard.facts.unit import Unit, pods_on_unready_nodes, ready_count

# API servers, kubelets and gangboard have clocks of their own.
_SKEW = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Restart:
    """A restart or retry in progress."""

    word: str
    """`Restart` of an owner or Job by its owner, `Retry` of pods by their Job."""
    number: int
    """0 if the number is unknown."""
    limit: int | None
    source: ObjectRef
    counted: int | None = None
    """Number of restarts of the owner that count towards the limit."""

    @property
    def text(self) -> str:
        """Return `Restart 1 of 3`, or with restarts that are not counted `Restart 5 (2 of 3 counted)`."""
        if not self.number:
            return f"{self.word}ing"
        if self.limit is None:
            return f"{self.word} {self.number}"
        if self.counted is not None and self.counted != self.number:
            return f"{self.word} {self.number} ({self.counted} of {self.limit} counted)"
        return f"{self.word} {min(self.number, self.limit)} of {self.limit}"


def attempt_start(unit: Unit) -> datetime | None:
    """Return when the current attempt began: a restart makes new Jobs, a resume new pods."""
    jobs = unit.active_jobs or (unit.owner,)
    return latest([time for job in jobs for time in (job.meta.created_at, job.resumed_at)])


def was_whole_in_attempt(unit: Unit) -> bool:
    """Return whether its quorum (without a quorum: its size) was seen ready since the attempt began."""
    if unit.missing_jobs and not unit.active_jobs:
        return False
    start, memory = attempt_start(unit), unit.memory
    whole_at = memory.whole_attempt or memory.whole_at
    return whole_at is not None and (start is None or whole_at >= start)


def was_placed_whole(unit: Unit) -> bool:
    """Return whether the scheduler placed the gang since the attempt began.

    The condition stays True for ever (1.37), even across suspends and restarts (observed on 1.36.3). So a condition
    from before the attempt is no proof. The condition of a basic group is never a proof.
    """
    placed = unit.group.placed if unit.group is not None else None
    if unit.quorum is None or placed is None or not placed.is_true:
        return False
    start = attempt_start(unit)
    return start is None or placed.since is None or placed.since >= start


def has_lost(unit: Unit) -> bool:
    """Return whether it ran, fell below its quorum (without a quorum: its size), and some member still runs.

    The need can have grown since it was whole. So a loss means that fewer members run or have succeeded than then.
    If gangboard has not seen it run, an unready member may never have been ready. In this case only members without a
    node count as lost, and members that were ready when their node went silent.
    """
    present = ready_count(unit) + unit.succeeded
    if unit.given_up and (unit.ready or unit.is_full):
        return present < unit.needed
    if unit.is_full or not (unit.ready or _others_run(unit)):
        return False
    if _was_whole_before_silence(unit):
        return present < unit.needed
    if was_whole_in_attempt(unit):
        before = unit.memory.whole_count
        return present < (unit.needed if before is None else min(unit.needed, before))
    if not was_placed_whole(unit):
        return False
    foreign = sum(pod.is_live and pod.is_placed for pod in unit.foreign_pods)
    sick = pods_on_unready_nodes(unit)
    placed = sum(pod not in sick for pod in unit.placed)
    return placed + unit.succeeded + foreign < unit.needed


def _others_run(unit: Unit) -> bool:
    """Return whether members of the gang run that are in no group and not in this unit.

    Without groups the gang is all that runs, even if one of its Jobs has lost all of its pods.
    """
    if unit.group is not None or unit.group_name:
        return False
    return unit.gang.ready > 0 and (was_whole_in_attempt(unit) or _was_whole_before_silence(unit))


def _was_whole_before_silence(unit: Unit) -> bool:
    """Return whether silent nodes are the only cause that it is not ready.

    On a silent node only `Ready` of a pod turns False. The containers keep the ready state that the kubelet reported
    last (observed on 1.37.0).
    """
    silent = sum(
        bool(pod.containers)
        and all(container.ready for container in pod.containers if not container.init)
        for pod in pods_on_unready_nodes(unit)
    )
    return silent > 0 and ready_count(unit) + unit.succeeded + silent >= unit.needed


def restart_under_way(unit: Unit) -> Restart | None:
    """Return the restart or retry from which the unit still recovers, or None."""
    if unit.is_full or not (unit.active_jobs or unit.missing_jobs or _restarts_pods(unit)):
        return None
    return _restart_of_owner(unit) or _restart_of_job(unit) or _retry(unit)


def _restarts_pods(unit: Unit) -> bool:
    """Return whether the owner makes pods without Jobs again, one by one in the same attempt."""
    return unit.owner.restarting and not unit.gang.jobs


def _restart_of_owner(unit: Unit) -> Restart | None:
    owner = unit.owner
    if _restarts_pods(unit):
        return Restart("Restart", owner.restarts, owner.max_restarts, owner.meta.ref)
    if was_whole_in_attempt(unit):
        return None
    # JobSet reports the end of a restart since v0.12. Older versions have a count only.
    says_over = any(
        condition.type.startswith("Restarting") and condition.is_false
        for condition in owner.conditions
    )
    if owner.restarting or (owner.restarts and not says_over):
        number = max(owner.restarts, owner.counted_restarts, 1)
        limit, counted = owner.max_restarts, owner.counted_restarts
        return Restart("Restart", number, limit, owner.meta.ref, counted)
    return None


def _restart_of_job(unit: Unit) -> Restart | None:
    if was_whole_in_attempt(unit):
        return None
    owner = unit.owner
    do_all_count = owner.restarts + sum(owner.job_restarts.values()) <= owner.counted_restarts
    for job in unit.active_jobs:
        restarts = owner.job_restarts.get(job.meta.ref.name, 0)
        if restarts:
            limit = owner.max_restarts if do_all_count else None
            return Restart("Restart", restarts, limit, job.meta.ref)
    return None


def _retry(unit: Unit) -> Restart | None:
    """Return the retry of a Job whose pods failed, and that was not whole since."""
    retrying = [job for job in unit.active_jobs if job.retries > job.failed_index_count]
    if not retrying or (was_whole_in_attempt(unit) and not _failed_lately(unit)):
        return None
    job = max(retrying, key=lambda job: job.retries)
    return Restart("Retry", job.retries, job.max_retries, job.meta.ref)


def _failed_lately(unit: Unit) -> bool:
    """Return whether a pod failed after the unit was last whole, allowing for clock skew."""
    whole_at = unit.memory.whole_at
    failures = [
        pod.ready.since if pod.ready is not None else pod.meta.created_at
        for pod in unit.pods
        if pod.phase == "Failed"
    ]
    return whole_at is not None and any(
        time is not None and time >= whole_at - _SKEW for time in failures
    )


def latest(times: Iterable[datetime | None]) -> datetime | None:
    """Return the latest known time, or None."""
    known = [time for time in times if time is not None]
    return max(known) if known else None
