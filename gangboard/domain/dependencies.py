"""Roles of an owner that wait for another of its roles, by the counts of the controller."""

from __future__ import annotations

from collections.abc import Mapping

from gangboard.domain.owner import Dependency, Owner, Role

Unmet = tuple[Dependency, Role | None]
"""A dependency that is not met, and the role it names; None when the owner has no role of that name."""


def unmet_dependencies(owner: Owner) -> Mapping[str, tuple[Unmet, ...]]:
    """Return the name of each role that waits for others → the dependencies that are not met yet."""
    dependent = [role for role in owner.roles if role.depends_on]
    roles = {role.name: role for role in owner.roles} if dependent else {}
    unmet = {
        role.name: tuple(
            (dependency, roles.get(dependency.role))
            for dependency in role.depends_on
            if not _is_met(roles.get(dependency.role), dependency)
        )
        for role in dependent
    }
    return {name: dependencies for name, dependencies in unmet.items() if dependencies}


def _is_met(on: Role | None, dependency: Dependency) -> bool:
    reached = reached_jobs(on, dependency) if on is not None else None
    return on is not None and reached is not None and reached >= on.replicas


def reached_jobs(on: Role, dependency: Dependency) -> int | None:
    """Return how many Jobs of a role are in the state asked for; None if the status has no count.

    A Job that succeeded counts as one that was ready (JobSet, allReplicasStarted).
    """
    done = on.succeeded
    if dependency.status == "Complete":
        return done
    if on.ready is None and done is None:
        return None
    return (on.ready or 0) + (done or 0)
