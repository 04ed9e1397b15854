"""Since when a unit is as it is, as far as its objects tell; None where they do not.

A condition's `lastTransitionTime` changes only with its status, so a pod's `Ready` tells since when it
is ready, and `PodScheduled` False tells when it was refused first, however often it is tried again
(facts of the API: metav1.Condition, PodCondition).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from gangboard.domain.objects import find_condition
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.facts.attempts import attempt_start, latest
from gangboard.facts.containers import ContainerProblem
from gangboard.facts.scheduler_text import SchedulerMessage
from gangboard.facts.unit import Unit, ready_count


def refused_since(unit: Unit, said: Iterable[SchedulerMessage]) -> datetime | None:
    """Return since when the scheduler refuses members that wait: by the first that it refused.

    The condition of a group stays False from one attempt to the next: nobody waits for longer than
    the oldest of the pods that wait is there.
    """
    first = min((one.since for one in said if one.since is not None), default=None)
    if first is None:
        return None
    return latest((first, first_creation(unit.unplaced)))


def first_creation(pods: Iterable[Pod]) -> datetime | None:
    """Return when the oldest of these pods was made; None where one does not say it."""
    return _first(pod.meta.created_at for pod in pods)


def whole_since(unit: Unit) -> datetime | None:
    """Return since when a unit that is full lacks nobody.

    Where some are done it is known only when they ended before the last one became ready: since
    when they had been ready no object says any more.
    """
    is_told = unit.succeeded_pods >= unit.succeeded > 0
    done = [pod for pod in unit.pods if pod.phase == "Succeeded"] if is_told else []
    ended = _last(_unready_since(pod) for pod in done) if done else None
    if not unit.expected_pods:
        return ended or _last(job.finish.at if job.finish else None for job in unit.jobs)
    times = [pod.ready.since if pod.ready is not None else None for pod in unit.ready]
    known = sorted([at for at in times if at is not None])
    if len(known) < len(times):
        return None
    up = known[unit.expected_pods - 1]
    if not unit.succeeded:
        return up
    return up if ended is not None and ended <= up else None


def starts_since(unit: Unit) -> datetime | None:
    """Return since when members that have their nodes are not all ready.

    That is since the last of them got its node, or later, if they were ready in between.
    """
    unready = [pod for pod in unit.placed if not pod.is_ready]
    placed = _last(pod.scheduled.since if pod.scheduled else None for pod in unit.placed)
    if not unready or placed is None:
        return None
    lost = [_unready_since(pod) for pod in unready]
    known = [at for at in lost if at is not None]
    return latest((placed, min(known))) if len(known) == len(lost) else placed


def quorum_since(unit: Unit) -> datetime | None:
    """Return since when a gang at its quorum and below its size is both."""
    times = sorted(
        pod.ready.since
        for pod in unit.ready
        if pod.ready is not None and pod.ready.since is not None
    )
    needed, lacking = unit.needed - unit.succeeded, _lacking(unit)
    if unit.foreign_pods or not lacking or not 0 < needed <= len(times):
        return None
    return latest((times[needed - 1], lacking[0]))


def below_quorum_since(unit: Unit) -> datetime | None:
    """Return since when it has fewer members than it needs, by those that it lacks now."""
    lacking, spare = _lacking(unit), max(0, unit.wanted - unit.needed)
    if unit.foreign_pods or len(lacking) <= spare:
        return None
    return lacking[spare]


def _lacking(unit: Unit) -> list[datetime]:
    """Return when each member that it lacks began to be lacking, the first first; empty when not known.

    One that takes the place of another is lacking since it was made.
    """
    times = [
        _unready_since(pod) if pod.is_placed and pod.ready is not None else pod.meta.created_at
        for pod in unit.current
        if not pod.is_ready
    ]
    known = sorted(at for at in times if at is not None)
    is_all = len(known) >= unit.wanted - ready_count(unit) - unit.succeeded
    return known if is_all and len(known) == len(times) else []


def not_formed_since(unit: Unit) -> datetime | None:
    """Return since when a group has some pods and never had enough: none of them was ever tried.

    The scheduler tries none before the quorum is there; once it did, pods may have gone at any time.
    """
    tried = unit.group is not None and unit.group.placed is not None
    if tried or not unit.live or any(pod.is_placed or not pod.is_untried for pod in unit.live):
        return None
    made = unit.group.meta.created_at if unit.group is not None else None
    return latest((attempt_start(unit), made, first_creation(unit.live)))


def creation_overdue_since(unit: Unit, due: datetime | None) -> datetime | None:
    """Return `due`, when its controller should have begun, if it is seen that it made no others before.

    No object says when pods that were there have gone; their Job still counts them.
    """
    there = len(unit.current)
    counted = sum(job.active_pods or 0 for job in unit.jobs)
    if counted > there or any(job.failed_pods or job.retries for job in unit.jobs):
        return None
    is_other_gone = bool(unit.missing_jobs and unit.gang.pods) or unit.owner.restarts
    return None if is_other_gone else due


def problem_since(problem: ContainerProblem) -> datetime | None:
    """Return since when a container that never ran cannot be made, by the first of the pods.

    Unknown where others had to end before it, or where it ran and was restarted.
    """
    if any(one.restarts or any(c.init for c in pod.containers) for pod, one in problem.found):
        return None
    return _first(
        latest((pod.scheduled.since if pod.scheduled else None, _unready_since(pod)))
        for pod, _ in problem.found
    )


def ending_announced_since(owner: Owner) -> datetime | None:
    """Return when its controller said how it ends, while its pods still terminate (KEP-3998)."""
    said = (
        find_condition(owner.conditions, name) for name in ("SuccessCriteriaMet", "FailureTarget")
    )
    return latest(one.since for one in said if one is not None and one.is_true)


def _unready_since(pod: Pod) -> datetime | None:
    return pod.ready.since if pod.ready is not None and not pod.ready.is_true else None


def _first(times: Iterable[datetime | None]) -> datetime | None:
    """Return the first of the times; None where there are none, or one is not known."""
    found = list(times)
    known = [at for at in found if at is not None]
    return min(known, default=None) if len(known) == len(found) else None


def _last(times: Iterable[datetime | None]) -> datetime | None:
    """Return the last of the times; None where there are none, or one is not known."""
    found = list(times)
    known = [at for at in found if at is not None]
    return max(known, default=None) if len(known) == len(found) else None
