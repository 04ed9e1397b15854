"""The gang index with what the registries know: which kinds there are, and who admits owners of queues."""

from __future__ import annotations

from dataclasses import replace

from gangboard.domain.action import ActionContext
from gangboard.domain.objects import Controller
from gangboard.domain.owner import Owner
from gangboard.domain.text import names
from gangboard.facts.gang_index import GangIndex, ServedKind, index_gang
from gangboard.plugins import registry
from gangboard.plugins.owner_kind import OwnerKind
from gangboard.plugins.queue_system import QueueSystem


def gang_of(context: ActionContext, queue_visibility: str) -> GangIndex:
    """Return a gang as it is asked about; `queue_visibility` as in `ClusterLevers`."""
    kinds = {
        (kind.resource.group, kind.resource.kind): ServedKind(
            plural=kind.resource.plural,
            version=context.api_versions.get(kind.resource.key, ""),
            preferred=kind.resource.versions[0],
            suspend_field=kind.suspend_field,
            suspend_map_missing=kind.suspend_map_missing,
        )
        for kind in registry.owner_kinds()
    }
    gang = index_gang(context, kinds, _systems(context), queue_visibility)
    unknown = _unknown_versions(context)
    return replace(gang, unknown_versions=unknown) if unknown else gang


def _unknown_versions(context: ActionContext) -> dict[tuple[str, str], str]:
    """Return `GangIndex.unknown_versions`."""
    return {
        (resource.group, resource.kind): version
        for resource in registry.resources()
        if (version := context.api_versions.get(resource.key)) and not resource.is_known(version)
    }


def kind_of(owner: Owner) -> OwnerKind | None:
    """Return what is known of the kind of an owner."""
    return registry.owner_kind(owner.meta.ref.group, owner.meta.ref.kind)


def kind_above(controller: Controller | None) -> OwnerKind | None:
    """Return what is known of the kind that controls an object."""
    return registry.owner_kind(controller.group, controller.kind) if controller else None


def queue_system(gang: GangIndex) -> QueueSystem | None:
    """Return whose entries the gang's are; without any the first that there is."""
    return next(iter(_of_entries(gang.context)), next(iter(registry.admission_systems()), None))


def _systems(context: ActionContext) -> str:
    """Return who admits the gang, by its entries; without any who could."""
    found = _of_entries(context) or registry.admission_systems()
    return names(system.label for system in found)


def _of_entries(context: ActionContext) -> tuple[QueueSystem, ...]:
    groups = {entry.meta.ref.group for entry in context.entries}
    return tuple(
        system
        for system in registry.admission_systems()
        if any(resource.group in groups for resource in system.resources)
    )
