"""Objects that a unit waits for: another role, the leader of its role, or a missing group."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.owner import Dependency, LeaderState, Role
from gangboard.domain.pod import Pod
from gangboard.facts.roles import Progress, creates_pods
from gangboard.facts.unit import Unit


@dataclass(frozen=True, slots=True)
class Waiting:
    """A role that waits for another role of the same owner."""

    role: Role
    dependency: Dependency
    on: Role | None
    """The role it waits for, or None if the owner has no role of that name."""
    progress: Progress | None
    """How far the other role is. None if that is unknown."""


def waiting_roles(unit: Unit) -> tuple[Waiting, ...]:
    """Return roles whose Jobs or pods are not created or not started because of a dependency."""
    unmet = unit.gang.unmet
    waiting = [role for role in unit.roles if role.name in unmet]
    if not waiting:
        return ()
    absent = frozenset(unit.missing_jobs)
    suspended = {job.role_name for job in unit.jobs if job.suspended}
    return tuple(
        Waiting(role, item.dependency, item.on, item.progress)
        for role in waiting
        if role.name in suspended
        or not absent.isdisjoint(role.child_names)
        or _lacking_pods(unit, role)
        for item in unmet[role.name]
    )


def _lacking_pods(unit: Unit, role: Role) -> int:
    """Return the number of missing pods of a role whose pods the owner creates itself, else 0.

    Pods that terminate or have ended are not missing, because they keep their names.
    """
    if not creates_pods(role):
        return 0
    names = Counter(unit.gang.roles_of_pods.get(pod.meta.ref.uid, "") for pod in unit.pods)
    return max(0, role.replicas * role.pods - names[role.name])


def unexplained_jobs(unit: Unit) -> tuple[str, ...]:
    """Return missing child Jobs that do not wait for another role."""
    waiting = {name for wait in waiting_roles(unit) for name in wait.role.child_names}
    return tuple(name for name in unit.missing_jobs if name not in waiting)


def held_back_pods(unit: Unit) -> int:
    """Return the number of wanted pods that are not created because their role waits for another."""
    roles = {wait.role.name: wait.role for wait in waiting_roles(unit)}
    absent = frozenset(unit.missing_jobs) if roles else frozenset()
    of_jobs = sum(role.pods * len(absent.intersection(role.child_names)) for role in roles.values())
    return of_jobs + sum(_lacking_pods(unit, role) for role in roles.values()) + _followers(unit)


def _followers(unit: Unit) -> int:
    """Return the number of pods that a role creates once its existing first pod is placed or ready."""
    if len(unit.roles) != 1 or len(unit.current) != 1:
        return 0
    (role,), (leader,) = unit.roles, unit.current
    met = {LeaderState.PLACED: leader.is_placed, LeaderState.READY: leader.is_ready}
    return 0 if role.followers_wait is None or met[role.followers_wait] else role.pods - 1


def followers_due(unit: Unit) -> datetime | None:
    """Return when the only pod of a role reached the state that the other pods waited for, or None."""
    if len(unit.roles) != 1 or len(unit.current) != 1:
        return None
    (role,), (leader,) = unit.roles, unit.current
    reached = {LeaderState.PLACED: leader.scheduled, LeaderState.READY: leader.ready}
    condition = reached[role.followers_wait] if role.followers_wait is not None else None
    return condition.since if condition is not None and condition.is_true else None


def waiting_for_missing_group(unit: Unit) -> tuple[Pod, ...]:
    """Return the waiting pods that name a missing group of the unit. Empty if gangboard would not know the group."""
    if not unit.group_name or unit.group is not None:
        return ()
    waiting = tuple(pod for pod in unit.unplaced if pod.group_name == unit.group_name)
    return waiting if waiting and _would_be_known(unit, waiting[0].group_kind) else ()


def _would_be_known(unit: Unit, kind: str) -> bool:
    """Return whether groups of that kind (`Pod.group_kind`) are served, and all of them can be read."""
    gang = unit.gang
    if kind:
        return kind in gang.cluster.known_kinds
    return bool(gang.cluster.gang_api_version) and not gang.cluster.groups_unobserved
