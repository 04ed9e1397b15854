"""The kinds of objects that actions deal with, as the registries name them."""

from __future__ import annotations

from functools import cache

from gangboard.diagnosis import registry
from gangboard.domain.queue import QueueEntry
from gangboard.domain.registry import OwnerKind, Resource


@cache
def owner_kind(group: str, kind: str) -> OwnerKind | None:
    """Return the registered kind of owner, or None."""
    for found in registry.owner_kinds():
        if (found.resource.group, found.resource.kind) == (group, kind):
            return found
    return None


@cache
def queue_resources() -> tuple[Resource, ...]:
    """Return the resources in which queues keep an entry per owner."""
    return tuple(
        resource
        for queue in registry.queue_systems()
        for resource in queue.resources
        if resource.model is QueueEntry
    )
