"""Start times of the states of a unit, by its objects. None if the objects do not show the time.

The `lastTransitionTime` of a condition changes only with its status (metav1.Condition, PodCondition). So `Ready` shows
since when a pod is ready. `PodScheduled` False shows when the pod was first refused, however often it is retried.
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


def refused_since(unit: Unit, messages: Iterable[SchedulerMessage]) -> datetime | None:
    """Return when the scheduler first refused a waiting member.

    The condition of a group stays False from one attempt to the next. So the time is not before the creation of the
    oldest waiting pod.
    """
    times = (message.since for message in messages)
    first = min((time for time in times if time is not None), default=None)
    if first is None:
        return None
    return latest((first, first_creation(unit.unplaced)))


def first_creation(pods: Iterable[Pod]) -> datetime | None:
    """Return when the oldest of these pods was created. None if any time is unknown."""
    return _first(pod.meta.created_at for pod in pods)


def whole_since(unit: Unit) -> datetime | None:
    """Return since when a full unit has been full.

    If some members have succeeded, the time is known only if they ended before the last one became ready. No object
    has the time at which finished pods became ready.
    """
    all_exist = unit.succeeded_pods >= unit.succeeded > 0
    done = [pod for pod in unit.pods if pod.phase == "Succeeded"] if all_exist else []
    ended = _last(_unready_since(pod) for pod in done) if done else None
    if not unit.expected_pods:
        return ended or _last(job.finish.at if job.finish else None for job in unit.jobs)
    times = [pod.ready.since if pod.ready is not None else None for pod in unit.ready]
    known = sorted([time for time in times if time is not None])
    if len(known) < len(times):
        return None
    up = known[unit.expected_pods - 1]
    if not unit.succeeded:
        return up
    return up if ended is not None and ended <= up else None


def starts_since(unit: Unit) -> datetime | None:
    """Return since when some members on nodes are not ready.

    The time is when the last of them got its node, or later if all were ready in between.
    """
    unready = [pod for pod in unit.placed if not pod.is_ready]
    placed = _last(pod.scheduled.since if pod.scheduled else None for pod in unit.placed)
    if not unready or placed is None:
        return None
    lost = [_unready_since(pod) for pod in unready]
    known = [time for time in lost if time is not None]
    return latest((placed, min(known))) if len(known) == len(lost) else placed


def quorum_since(unit: Unit) -> datetime | None:
    """Return since when a gang has been at its quorum and below its size."""
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
    """Return since when it has had fewer members than it needs, by the members that it lacks now."""
    lacking, spare = _lacking(unit), max(0, unit.wanted - unit.needed)
    if unit.foreign_pods or len(lacking) <= spare:
        return None
    return lacking[spare]


def _lacking(unit: Unit) -> list[datetime]:
    """Return the time since which each missing member is missing, in order. Empty if any is unknown.

    A pod that replaces another is missing since its creation.
    """
    times = [
        _unready_since(pod) if pod.is_placed and pod.ready is not None else pod.meta.created_at
        for pod in unit.current
        if not pod.is_ready
    ]
    known = sorted(time for time in times if time is not None)
    is_all = len(known) >= unit.wanted - ready_count(unit) - unit.succeeded
    return known if is_all and len(known) == len(times) else []


def not_formed_since(unit: Unit) -> datetime | None:
    """Return since when a group has some pods and never had enough. None if the scheduler has tried any.

    The scheduler tries no pod before the quorum exists. After an attempt, pods may have been deleted at any time.
    """
    tried = unit.group is not None and unit.group.placed is not None
    if tried or not unit.live or any(pod.is_placed or not pod.is_untried for pod in unit.live):
        return None
    created = unit.group.meta.created_at if unit.group is not None else None
    return latest((attempt_start(unit), created, first_creation(unit.live)))


def creation_overdue_since(unit: Unit, due: datetime | None) -> datetime | None:
    """Return `due`, the time by which its controller should have started, if it has created no pods before.

    No object has the time at which former pods were deleted, but their Job still counts them.
    """
    existing = len(unit.current)
    counted = sum(job.active_pods or 0 for job in unit.jobs)
    if counted > existing or any(job.failed_pods or job.retries for job in unit.jobs):
        return None
    had_other_pods = bool(unit.missing_jobs and unit.gang.pods) or unit.owner.restarts
    return None if had_other_pods else due


def problem_since(problem: ContainerProblem) -> datetime | None:
    """Return since when a container that has never run cannot start, by the first of its pods.

    None if init containers ran before it, or if it ran and restarted.
    """
    if any(
        container.restarts or any(other.init for other in pod.containers)
        for pod, container in problem.found
    ):
        return None
    return _first(
        latest((pod.scheduled.since if pod.scheduled else None, _unready_since(pod)))
        for pod, _ in problem.found
    )


def ending_announced_since(owner: Owner) -> datetime | None:
    """Return when its controller announced the end, while its pods still terminate (KEP-3998)."""
    conditions = (
        find_condition(owner.conditions, name) for name in ("SuccessCriteriaMet", "FailureTarget")
    )
    return latest(
        condition.since for condition in conditions if condition is not None and condition.is_true
    )


def _unready_since(pod: Pod) -> datetime | None:
    return pod.ready.since if pod.ready is not None and not pod.ready.is_true else None


def _first(times: Iterable[datetime | None]) -> datetime | None:
    """Return the first time, or None if there is none or any is unknown."""
    candidates = list(times)
    known = [time for time in candidates if time is not None]
    return min(known, default=None) if len(known) == len(candidates) else None


def _last(times: Iterable[datetime | None]) -> datetime | None:
    """Return the last time, or None if there is none or any is unknown."""
    candidates = list(times)
    known = [time for time in candidates if time is not None]
    return max(known, default=None) if len(known) == len(candidates) else None
