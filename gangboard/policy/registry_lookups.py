"""Registry lookups for a gang: the kinds of its owners, its admission system, and API versions without support."""

from __future__ import annotations

from collections.abc import Mapping

from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.facts.gang import Gang
from gangboard.plugins import registry
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.plugins.queue_system import QueueSystem


def kind_of(owner: Owner) -> OwnerKind | None:
    """Return the kind of an owner, or None if no file describes it."""
    return registry.owner_kind(owner.meta.ref.group, owner.meta.ref.kind)


def described_kind(owner: Owner) -> OwnerKind:
    """Return the kind of an owner. Raises LookupError if no file describes it, and then it has no lever."""
    kind = kind_of(owner)
    if kind is None:
        raise LookupError(f"no file describes the kind {owner.meta.ref.kind}")
    return kind


def kind_above(controller: Controller | None) -> OwnerKind | None:
    """Return the kind that controls an object, or None if no file describes it."""
    return registry.owner_kind(controller.group, controller.kind) if controller else None


def queue_system(gang: Gang) -> QueueSystem | None:
    """Return the admission system of the gang's entries, or the first known one if it has no entries."""
    groups = {entry.meta.ref.group for entry in gang.entries}
    systems = registry.admission_systems()
    of_entries = (
        system
        for system in systems
        if any(resource.group in groups for resource in system.resources)
    )
    return next(of_entries, next(iter(systems), None))


def unknown_versions(gang: Gang) -> Mapping[tuple[str, str], str]:
    """Return (API group, kind) → version, of kinds served in a version that this release does not know."""
    return {
        (resource.group, resource.kind): version
        for resource in registry.resources()
        if (version := gang.cluster.api_versions.get(resource.key))
        and not resource.is_known(version)
    }
