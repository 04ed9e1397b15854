"""Parts of an owner that wait for another part: JobSet's dependsOn and startup order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gangboard.domain.facts import Unit
from gangboard.domain.owner import Dependency, Owner, Part


@dataclass(frozen=True, slots=True)
class Waiting:
    """A part that waits for another part of the same owner."""

    part: Part
    dependency: Dependency
    on: Part | None
    """The part it waits for; None when the owner has no part of that name."""


def waiting_parts(unit: Unit) -> tuple[Waiting, ...]:
    """Return parts of which Jobs are not made, or not started, because they depend on another."""
    return tuple(
        Waiting(part, dependency, on)
        for part in unit.parts
        if _is_held_back(unit, part)
        for dependency, on in _unmet(unit.owner, part)
    )


def dependent_parts(owner: Owner) -> frozenset[str]:
    """Return the names of the parts whose Jobs JobSet leaves suspended until another part is there."""
    return frozenset(part.name for part in owner.parts if any(_unmet(owner, part)))


def _is_held_back(unit: Unit, part: Part) -> bool:
    """Whether child Jobs of the part do not exist, or exist suspended (after a resume)."""
    if any(name in unit.missing_jobs for name in part.child_names):
        return True
    return any(job.part_name == part.name and job.suspended for job in unit.jobs)


def _unmet(owner: Owner, part: Part) -> Iterator[tuple[Dependency, Part | None]]:
    parts = {one.name: one for one in owner.parts}
    for dependency in part.depends_on:
        on = parts.get(dependency.part)
        reached = reached_jobs(on, dependency) if on is not None else None
        if on is None or reached is None or reached < on.replicas:
            yield dependency, on


def reached_jobs(on: Part, dependency: Dependency) -> int | None:
    """Return how many Jobs of a part are in the state asked for; None when nobody says.

    A Job that succeeded counts as one that was ready (JobSet, allReplicasStarted).
    """
    done = on.succeeded
    if dependency.status == "Complete":
        return done
    if on.ready is None and done is None:
        return None
    return (on.ready or 0) + (done or 0)


def unexplained_jobs(unit: Unit) -> tuple[str, ...]:
    """Return missing child Jobs that do not wait for another part."""
    waiting = {name for wait in waiting_parts(unit) for name in wait.part.child_names}
    return tuple(name for name in unit.missing_jobs if name not in waiting)


def held_back_pods(unit: Unit) -> int:
    """Return how many of the wanted pods are not made because their part waits for another."""
    parts = {wait.part.name: wait.part for wait in waiting_parts(unit)}
    return sum(
        part.pods * sum(name in unit.missing_jobs for name in part.child_names)
        for part in parts.values()
    )
