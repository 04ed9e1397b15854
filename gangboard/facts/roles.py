"""Roles of an owner: unmet dependencies between them, and replicas as roles of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gangboard.domain.owner import Dependency, Owner, Role


@dataclass(frozen=True, slots=True)
class Progress:
    """How many objects of a role are in the state that another role waits for."""

    reached: int
    required: int
    noun: str
    """`Job` or `pod`."""


@dataclass(frozen=True, slots=True)
class UnmetDependency:
    """A dependency that is not met."""

    dependency: Dependency
    on: Role | None
    """The role that it names, or None if the owner has no such role."""
    progress: Progress | None
    """None if that is unknown."""


def unmet_dependencies(
    owner: Owner, ready_pods: Mapping[str, int]
) -> Mapping[str, tuple[UnmetDependency, ...]]:
    """Return role name → unmet dependencies, for each role that waits for others.

    The counts in the owner's status decide about roles with child Jobs. `ready_pods` decides about roles whose pods
    the owner creates itself.
    """
    dependent = [role for role in owner.roles if role.depends_on]
    roles = {role.name: role for role in owner.roles} if dependent else {}
    result = {}
    for role in dependent:
        unmet = tuple(
            dependency
            for dependency in (
                _unmet(dependency, roles.get(dependency.role), ready_pods)
                for dependency in role.depends_on
            )
            if dependency is not None
        )
        if unmet and not (role.needs_any and len(unmet) < len(role.depends_on)):
            result[role.name] = unmet
    return result


def _unmet(
    dependency: Dependency, on: Role | None, ready_pods: Mapping[str, int]
) -> UnmetDependency | None:
    progress = _progress(on, dependency, ready_pods) if on is not None else None
    if progress is not None and progress.reached >= progress.required:
        return None
    return UnmetDependency(dependency, on, progress)


def creates_pods(role: Role) -> bool:
    """Return whether the owner creates the pods of a role without Jobs."""
    return role.quorum is not None and not role.child_names


def _progress(on: Role, dependency: Dependency, ready_pods: Mapping[str, int]) -> Progress | None:
    """Return how far a role is. None if the status of its owner has no count."""
    if creates_pods(on):
        return Progress(ready_pods.get(on.name, 0), on.quorum or 0, "pod")
    reached = reached_jobs(on, dependency)
    return None if reached is None else Progress(reached, on.replicas, "Job")


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
