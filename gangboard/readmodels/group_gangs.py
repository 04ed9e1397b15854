"""Gangs of groups, found through owner references or through the groups that a gang lists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
from django.db.models import Q

from gangboard.domain.group import Group
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.plugins import registry
from gangboard.readmodels.declarations import shown
from gangboard.readmodels.formatting import printable
from gangboard.store.access import Viewer
from gangboard.store.models import Gang
from gangboard.store.uid_lookups import Reference, read_referenced, resolve_references

Place = tuple[int, str]
"""Cluster id and uid."""
MOST_GENERATIONS = 5
"""Levels of owners above a group to search. A JobSet of a TrainJob of another owner has three."""


@dataclass(frozen=True, slots=True)
class GangName:
    """The gang to which a group belongs."""

    id: str = shown("Id")
    kind: str = shown("Kind")
    name: str = shown("Name")


@dataclass(frozen=True, slots=True)
class _Groups:
    """The groups in a stored Detail. The decoder skips its other fields."""

    groups: tuple[ObjectRef, ...] = ()


_decoder = msgspec.msgpack.Decoder(_Groups)


def find_gangs(groups: Iterable[tuple[int, Group]], *, viewer: Viewer) -> dict[Place, GangName]:
    """Return the gang of each group by cluster id and uid. Only gangs that the viewer may see are returned."""
    listed = [(cluster_id, group) for cluster_id, group in groups]
    by_owner = _by_owner(listed, viewer)
    remaining = {
        (cluster_id, group.meta.ref.namespace): None
        for cluster_id, group in listed
        if (cluster_id, group.meta.ref.uid) not in by_owner
    }
    return _by_detail(remaining, viewer) | by_owner if remaining else by_owner


def _by_owner(groups: list[tuple[int, Group]], viewer: Viewer) -> dict[Place, GangName]:
    above: dict[Place, set[Reference]] = {}
    for cluster_id, group in groups:
        ref = group.meta.ref
        above[cluster_id, ref.uid] = {
            Reference(cluster_id, ref.namespace, uid) for uid in (ref.uid, *group.meta.owner_uids)
        }
    return find_owner_gangs(above, viewer=viewer)


def find_owner_gangs(
    above: dict[Place, set[Reference]], *, viewer: Viewer
) -> dict[Place, GangName]:
    """Return the gang of each place that the viewer may see. `above` maps a place to its owners.

    The search climbs one level of owners at a time, with 2 queries for all places together.
    """
    gang_names: dict[Place, GangName] = {}
    for _ in range(MOST_GENERATIONS):
        if not above:
            break
        references = {reference for owners in above.values() for reference in owners}
        gangs = _gangs_of(references, viewer)
        for place, owners in above.items():
            for reference in sorted(owners):
                if reference in gangs:
                    gang_names[place] = gangs[reference]
        parents = _parents_of(references)
        above = {
            place: {up for reference in owners for up in parents.get(reference, ())}
            for place, owners in above.items()
            if place not in gang_names
        }
        above = {place: owners for place, owners in above.items() if owners}
    return gang_names


def _gangs_of(references: set[Reference], viewer: Viewer) -> dict[Reference, GangName]:
    rows = Gang.objects.filter(viewer.gang_filter(), gone_at=None)
    columns = ("cluster_id", "namespace", "uid", "id", "kind", "name")
    return {
        reference: GangName(gang.pk, printable(gang.kind), printable(gang.name))
        for reference, gang in resolve_references(rows.only(*columns), references).items()
    }


def _parents_of(references: set[Reference]) -> dict[Reference, tuple[Reference, ...]]:
    """Return the owners of stored objects that are owners, groups or pods."""
    models = {
        resource.key: resource.model
        for resource in registry.resources()
        if resource.model in (Owner, Group)
    }
    models[registry.pods().key] = registry.pods().model
    return {
        reference: tuple(
            Reference(reference.cluster_id, model.meta.ref.namespace, uid)
            for uid in model.meta.owner_uids
        )
        for reference, model in read_referenced(references, models).items()
    }


def _by_detail(places: Iterable[tuple[int, str]], viewer: Viewer) -> dict[Place, GangName]:
    """Return the gangs of groups that pods name without an owner reference (1 query). Only the gangs list these groups."""
    condition = Q(pk__in=[])
    for cluster_id, namespace in places:
        condition |= Q(cluster_id=cluster_id, namespace=namespace)
    rows = Gang.objects.filter(viewer.gang_filter(), condition, gone_at=None).values_list(
        "cluster_id", "id", "kind", "name", "detail"
    )
    return {
        (cluster_id, ref.uid): GangName(id_, printable(kind), printable(name))
        for cluster_id, id_, kind, name, detail in rows
        if detail
        for ref in _decoder.decode(bytes(detail)).groups
    }
