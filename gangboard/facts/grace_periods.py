"""Grace periods before a young state counts as a problem, and the times to recheck it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from gangboard.domain.pod import Pod
from gangboard.facts.attempts import attempt_start, latest
from gangboard.facts.dependencies import followers_due
from gangboard.facts.unit import Unit, pods_on_unready_nodes

COUNT_GRACE = timedelta(seconds=30)
"""Controllers create pods and groups one by one, so a low count is a problem only after this time."""
CREATION_GRACE = timedelta(minutes=2)
"""A controller that has created no object for this time will not do so without a change."""
ATTEMPT_GRACE = timedelta(seconds=60)
"""A scheduler that has not reported about a pod for this time has not tried it."""
RESIZE_GRACE = timedelta(minutes=2)
"""A gang at its quorum that changed within this time is still growing."""


def unchanged_since(unit: Unit) -> datetime | None:
    """Return when the number of pods last changed."""
    observed, newest = _observed_change(unit), newest_creation(unit.current)
    return latest((observed, newest)) if observed is not None else newest or attempt_start(unit)


def _observed_change(unit: Unit) -> datetime | None:
    """Return when gangboard last observed a change of the number of pods, or None if it has not.

    The time is now if the number differs from the stored one. The time stored at the first observation only says when
    gangboard came, so it does not count, and the newest pod is better evidence.
    """
    remembered, first_sight = unit.memory.created_since, unit.gang.memory_since
    if remembered is None:
        return None
    if unit.memory.created != len(unit.current):
        return unit.now
    return None if first_sight is not None and remembered <= first_sight else remembered


def creation_due(unit: Unit) -> datetime | None:
    """Return when its controller should have created all objects that it can create now."""
    owner = unit.owner
    times: list[datetime | None] = [attempt_start(unit), owner.meta.created_at, owner.resumed_at]
    times += [condition.since for condition in owner.conditions]
    times += [pod.meta.deleting_since for pod in unit.pods]
    if unit.missing_jobs:
        times += [pod.meta.deleting_since for pod in unit.gang.old_pods]
    times += [*_dependencies_met(unit), followers_due(unit)]
    start = latest((*times, _observed_change(unit)))
    return start + CREATION_GRACE if start is not None else None


def _dependencies_met(unit: Unit) -> Iterator[datetime | None]:
    """Yield the last changes of the roles that this unit depended on."""
    names = {dependency.role for role in unit.roles for dependency in role.depends_on}
    if not names:
        return
    jobs = [job for job in unit.gang.jobs if job.role_name in names]
    yield from (job.finish.at for job in jobs if job.finish is not None)
    uids = {job.meta.ref.uid for job in jobs}
    roles = unit.gang.roles_of_pods
    for pod in unit.gang.pods:
        is_of_job = pod.meta.controller is not None and pod.meta.controller.uid in uids
        if is_of_job or roles.get(pod.meta.ref.uid) in names:
            yield pod.ready.since if pod.ready is not None else None


def growing_until(unit: Unit) -> datetime | None:
    """Return until when a gang at its quorum counts as still growing, or None if it is not growing.

    A terminating member, or a member on a node that is not ready, is a loss instead.
    """
    if pods_on_unready_nodes(unit) or unit.terminating:
        return None
    placed = [pod.scheduled.since for pod in unit.placed if pod.scheduled is not None]
    last = latest((unchanged_since(unit), newest_creation(unit.current), *placed))
    return last + RESIZE_GRACE if last is not None else None


def newest_creation(pods: tuple[Pod, ...]) -> datetime | None:
    """Return when the newest of these pods was created. None without pods or times."""
    return latest(pod.meta.created_at for pod in pods)


def next_recheck(unit: Unit) -> datetime | None:
    """Return the next time at which a finding about its start can change without an event."""
    newest, unchanged = newest_creation(unit.unplaced), unchanged_since(unit)
    times = (
        creation_due(unit) if unit.missing else None,
        newest + ATTEMPT_GRACE if newest is not None else None,
        unchanged + COUNT_GRACE if unchanged is not None else None,
    )
    later = [time for time in times if time is not None and time > unit.now]
    return min(later) if later else None
