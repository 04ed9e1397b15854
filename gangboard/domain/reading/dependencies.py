"""What is not made yet on purpose: roles that wait for another role, and pods that wait for their leader."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.facts import Unit
from gangboard.domain.owner import Dependency, LeaderState, Owner, Role


@dataclass(frozen=True, slots=True)
class Waiting:
    """A role that waits for another role of the same owner."""

    role: Role
    dependency: Dependency
    on: Role | None
    """The role it waits for; None when the owner has no role of that name."""


def waiting_roles(unit: Unit) -> tuple[Waiting, ...]:
    """Return roles of which Jobs are not made, or not started, because they depend on another."""
    return tuple(
        Waiting(role, dependency, on)
        for role in unit.roles
        if role.depends_on and _is_held_back(unit, role)
        for dependency, on in _unmet(unit.owner, role)
    )


def dependent_roles(owner: Owner) -> frozenset[str]:
    """Return the names of the roles whose Jobs JobSet leaves suspended until another role is there."""
    dependent = (role for role in owner.roles if role.depends_on)
    return frozenset(role.name for role in dependent if any(_unmet(owner, role)))


def _is_held_back(unit: Unit, role: Role) -> bool:
    """Whether child Jobs of the role do not exist, or exist suspended (after a resume)."""
    if any(name in unit.missing_jobs for name in role.child_names):
        return True
    return any(job.role_name == role.name and job.suspended for job in unit.jobs)


def _unmet(owner: Owner, role: Role) -> Iterator[tuple[Dependency, Role | None]]:
    roles = {one.name: one for one in owner.roles} if role.depends_on else {}
    for dependency in role.depends_on:
        on = roles.get(dependency.role)
        reached = reached_jobs(on, dependency) if on is not None else None
        if on is None or reached is None or reached < on.replicas:
            yield dependency, on


def reached_jobs(on: Role, dependency: Dependency) -> int | None:
    """Return how many Jobs of a role are in the state asked for; None when nobody says.

    A Job that succeeded counts as one that was ready (JobSet, allReplicasStarted).
    """
    done = on.succeeded
    if dependency.status == "Complete":
        return done
    if on.ready is None and done is None:
        return None
    return (on.ready or 0) + (done or 0)


def unexplained_jobs(unit: Unit) -> tuple[str, ...]:
    """Return missing child Jobs that do not wait for another role."""
    waiting = {name for wait in waiting_roles(unit) for name in wait.role.child_names}
    return tuple(name for name in unit.missing_jobs if name not in waiting)


def held_back_pods(unit: Unit) -> int:
    """Return how many of the wanted pods are not made because their role waits for another."""
    roles = {wait.role.name: wait.role for wait in waiting_roles(unit)}
    of_jobs = sum(
        role.pods * sum(name in unit.missing_jobs for name in role.child_names)
        for role in roles.values()
    )
    return of_jobs + _followers(unit)


def _followers(unit: Unit) -> int:
    """Return the pods of a role that are not made until its first pod, which is there, is placed or ready."""
    if len(unit.roles) != 1 or len(unit.current) != 1:
        return 0
    (role,), (leader,) = unit.roles, unit.current
    met = {LeaderState.PLACED: leader.is_placed, LeaderState.READY: leader.is_ready}
    return 0 if role.followers_wait is None or met[role.followers_wait] else role.pods - 1


def followers_due(unit: Unit) -> datetime | None:
    """Return when the only pod of a role came to be what its other pods waited for; None for none."""
    if len(unit.roles) != 1 or len(unit.current) != 1:
        return None
    (role,), (leader,) = unit.roles, unit.current
    reached = {LeaderState.PLACED: leader.scheduled, LeaderState.READY: leader.ready}
    condition = reached[role.followers_wait] if role.followers_wait is not None else None
    return condition.since if condition is not None and condition.is_true else None
