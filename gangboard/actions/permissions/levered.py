"""Which resources the actor may change, and what of them: from the registries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gangboard.actions.permissions.names import Wanted
from gangboard.diagnosis import registry
from gangboard.domain.action import Lever
from gangboard.domain.registry import OwnerKind, Resource

_JOBS = "jobs.batch"
_KUEUE = "workloads.kueue.x-k8s.io"


@dataclass(frozen=True, slots=True)
class Parent:
    """A kind whose objects control Jobs that may be suspended."""

    group: str
    kind: str


@dataclass(frozen=True, slots=True)
class Levered:
    """One resource with levers."""

    resource: Resource
    field: tuple[str, ...]
    """Path of the field that the lever writes."""
    managers: tuple[str, ...] | None = None
    """Values of `spec.managedBy` that are not somebody else's; None when it has no such field."""
    parents: tuple[Parent, ...] | None = ()
    """Controllers under which it may be changed; None allows any."""
    parallelism: bool = False
    """`spec.parallelism` may be set to 0 and back."""
    listed: bool = False
    """Those of a gang are found by a list before they are changed, not by their names."""


def levered(wanted: Wanted) -> tuple[Levered, ...]:
    """Return the resources on which this cluster has a lever."""
    return tuple(found for found in _all(wanted) if found.resource.key not in wanted.not_served)


def parents(wanted: Wanted) -> tuple[Parent, ...]:
    """Return the kinds of which gangboard may suspend single Jobs there."""
    return _served(wanted, lambda kind: bool(kind.child_levers))


def _served(wanted: Wanted, is_meant: Callable[[OwnerKind], bool]) -> tuple[Parent, ...]:
    return tuple(
        Parent(kind.resource.group, kind.resource.kind)
        for kind in registry.owner_kinds()
        if is_meant(kind) and kind.resource.key not in wanted.not_served
    )


def _all(wanted: Wanted) -> Iterator[Levered]:
    for kind in registry.owner_kinds():
        if kind.resource.key == _JOBS:
            yield _job(kind, wanted)
        elif Lever.SUSPEND in kind.levers:
            # Under a controller it is never the topmost owner, and that one would undo it.
            yield Levered(kind.resource, kind.suspend_field, kind.own_managers or None)
    for queue in registry.queue_systems():
        for resource in queue.resources:
            if resource.key == _KUEUE:
                # Kueue's own Workloads: whom they stand for is nothing to their only lever.
                yield Levered(resource, ("spec", "active"), parents=None, listed=True)


def _job(kind: OwnerKind, wanted: Wanted) -> Levered:
    """Return what may be done to Jobs: as owners, also of a kind that makes them to be gangs of their own,
    and as children of a kind with levers on them."""
    return Levered(
        kind.resource,
        kind.suspend_field,
        kind.own_managers or None,
        (*parents(wanted), *_served(wanted, lambda kind: kind.makes_gangs)),
        wanted.parallelism
        and any(Lever.PARALLELISM in other.child_levers for other in registry.owner_kinds()),
        listed=True,
    )
