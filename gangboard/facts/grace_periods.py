"""How long a young state is given before it is news, and when to look again."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from gangboard.domain.pod import Pod
from gangboard.facts.attempts import attempt_start, latest
from gangboard.facts.dependencies import followers_due
from gangboard.facts.unit import Unit, pods_on_unready_nodes

COUNT_GRACE = timedelta(seconds=30)
"""Pods and groups come one by one: a count below what is needed is news after this long."""
CREATION_GRACE = timedelta(minutes=2)
"""A controller that has made nothing for this long will not without somebody's help."""
ATTEMPT_GRACE = timedelta(seconds=60)
"""A scheduler that says nothing about a pod for this long has not tried it."""
RESIZE_GRACE = timedelta(minutes=2)
"""A gang at its quorum that changed within this time is still growing."""


def unchanged_since(unit: Unit) -> datetime | None:
    """Return since when the number of pods has not changed."""
    seen, newest = _seen_to_change(unit), newest_creation(unit.current)
    return latest((seen, newest)) if seen is not None else newest or attempt_start(unit)


def _seen_to_change(unit: Unit) -> datetime | None:
    """Return when the number of pods was seen to change last: now, where it is not as remembered.

    None when it never was. What was remembered at the very first sight says only when gangboard
    came: then the newest pod tells more.
    """
    remembered, first_sight = unit.memory.created_since, unit.gang.memory_since
    if remembered is None:
        return None
    if unit.memory.created != len(unit.current):
        return unit.now
    return None if first_sight is not None and remembered <= first_sight else remembered


def creation_due(unit: Unit) -> datetime | None:
    """Return when its controller should have made everything that can be made now."""
    owner = unit.owner
    times: list[datetime | None] = [attempt_start(unit), owner.meta.created_at, owner.resumed_at]
    times += [one.since for one in owner.conditions]
    times += [pod.meta.deleting_since for pod in unit.pods]
    times += [*_dependencies_met(unit), followers_due(unit)]
    start = latest((*times, _seen_to_change(unit)))
    return start + CREATION_GRACE if start is not None else None


def _dependencies_met(unit: Unit) -> Iterator[datetime | None]:
    """Return when the roles that this unit depended on moved last."""
    names = {dependency.role for role in unit.roles for dependency in role.depends_on}
    jobs = [job for job in unit.gang.jobs if job.role_name in names] if names else []
    yield from (job.finish.at for job in jobs if job.finish is not None)
    uids = {job.meta.ref.uid for job in jobs}
    for pod in unit.gang.pods if uids else ():
        if pod.meta.controller is not None and pod.meta.controller.uid in uids:
            yield pod.ready.since if pod.ready is not None else None


def growing_until(unit: Unit) -> datetime | None:
    """Return until when a gang at its quorum counts as still growing; None when it is not.

    A member that is on its way out, or on a node that is not ready, is a loss and no growth.
    """
    if pods_on_unready_nodes(unit) or any(pod.is_live and pod.is_terminating for pod in unit.pods):
        return None
    placed = [pod.scheduled.since for pod in unit.placed if pod.scheduled is not None]
    last = latest((unchanged_since(unit), newest_creation(unit.current), *placed))
    return last + RESIZE_GRACE if last is not None else None


def newest_creation(pods: tuple[Pod, ...]) -> datetime | None:
    """Return when the newest of these pods was made; None without pods or times."""
    return latest(pod.meta.created_at for pod in pods)


def next_recheck(unit: Unit) -> datetime | None:
    """Return the next time at which waiting alone can change what is said of its start."""
    newest, unchanged = newest_creation(unit.unplaced), unchanged_since(unit)
    times = (
        creation_due(unit) if unit.missing else None,
        newest + ATTEMPT_GRACE if newest is not None else None,
        unchanged + COUNT_GRACE if unchanged is not None else None,
    )
    later = [time for time in times if time is not None and time > unit.now]
    return min(later) if later else None
