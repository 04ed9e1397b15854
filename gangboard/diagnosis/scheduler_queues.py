"""Queues of schedulers, in which groups wait without an entry, and the terms of each system for its queues."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from gangboard.domain.api_resource import Resource
from gangboard.domain.group import Group
from gangboard.domain.traits import NO_QUEUE_WORDING, QueueWording
from gangboard.plugins import registry
from gangboard.plugins.queue_system import QueueSystem


@cache
def scheduler_queues() -> Mapping[str, QueueSystem]:
    """Return API group → the system in whose queues its groups wait, without `registry.admission_systems`."""
    return {
        resource.group: system
        for system in registry.queue_systems()
        if system not in registry.admission_systems()
        for resource in system.resources
    }


@cache
def group_resources_in_queues() -> tuple[Resource, ...]:
    """Return the resources of groups that wait in queues of their scheduler."""
    return tuple(
        resource
        for api in registry.grouping_apis()
        for resource in api.resources
        if resource.model is Group and resource.group in scheduler_queues()
    )


def queue_system(group: str) -> QueueSystem | None:
    """Return the system whose queues are of this API group, or None."""
    return next(
        (
            system
            for system in registry.queue_systems()
            if any(resource.group == group for resource in system.resources)
        ),
        None,
    )


def queue_words(group: str) -> QueueWording:
    """Return the terms of the system whose queues are of this API group."""
    system = queue_system(group)
    return system.words if system is not None else NO_QUEUE_WORDING
