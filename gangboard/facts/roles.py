"""Roles of an owner: unmet dependencies between them, and replicas as roles of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gangboard.domain.owner import Dependency, Owner, Role

UnmetDependency = tuple[Dependency, Role | None]
"""An unmet dependency with the role it names, or None if the owner has no such role."""


def unmet_dependencies(owner: Owner) -> Mapping[str, tuple[UnmetDependency, ...]]:
    """Return role name → unmet dependencies, for each role that waits for others.

    The counts in the owner's status decide.
    """
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
    """Return the number of a role's Jobs in the required state, or None if the status has no count.

    A succeeded Job counts as ready (JobSet, allReplicasStarted).
    """
    done = on.succeeded
    if dependency.status == "Complete":
        return done
    if on.ready is None and done is None:
        return None
    return (on.ready or 0) + (done or 0)


MOST_NAMED = 64
"""Limit for missing replicas of one owner that get a role of their own. The rest share one role.

A number in an object must not decide how much work the object causes."""
_LONGEST_INDEX = 10
"""Digits of the largest int32."""


def name_replicas(
    replica: Role, names: Iterable[str], number: int, existing: Mapping[str, Role], most: int
) -> list[Role]:
    """Return a role for each existing replica and for the first `most` missing ones, and one for the rest.

    `names` yields the names of all `number` replicas, and is read no further than needed. `existing` has the existing
    replicas by name.
    """
    named: dict[str, Role] = {}
    absent, following = 0, ""
    for name in names if number else ():
        if name not in existing:
            if absent == most:
                following = name
                break
            absent += 1
        named[name] = existing[name] if name in existing else replace(replica, name=name)
    named.update((name, role) for name, role in existing.items() if name not in named)
    rest = number - len(named)
    return [*named.values(), *([several(replica, following, rest)] if rest > 0 else [])]


def several(replica: Role, name: str, number: int) -> Role:
    """Return some missing replicas as one role with the name of the first."""
    quorum = None if replica.quorum is None else replica.quorum * number
    return replace(
        replica, name=several_replicas_name(name, number), replicas=number, quorum=quorum
    )


def several_replicas_name(name: str, number: int) -> str:
    """Return `run-64 and 935 more like it`."""
    return name if number == 1 else f"{name} and {number - 1:,} more like it"


def replica_index(text: str) -> int | None:
    """Return the index at the end of a replica's name, or None."""
    is_index = text.isascii() and text.isdecimal() and len(text) <= _LONGEST_INDEX
    return int(text) if is_index and (text == "0" or text[0] != "0") else None


def numbered_replicas(role: Role, existing_names: Iterable[str], most: int) -> list[Role]:
    """Return the replicas `<role>-<index>` of a role as roles of their own."""
    prefix, replica = f"{role.name}-", replace(role, replicas=1)
    indexes = {name: replica_index(name.removeprefix(prefix)) for name in existing_names}
    existing = {
        name: replace(replica, name=name)
        for name, index in indexes.items()
        if index is not None and index < role.replicas and name.startswith(prefix)
    }
    names = (f"{prefix}{index}" for index in range(role.replicas))
    return name_replicas(replica, names, role.replicas, existing, most)
