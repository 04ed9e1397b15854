"""To which gang a group belongs: by its owners, otherwise by what the gangs say of themselves."""

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
from gangboard.store.uid_lookups import Reference, follow, read_referred

Place = tuple[int, str]
"""Cluster id and uid."""
MOST_GENERATIONS = 5
"""Owners above a group that are looked at: JobSets of TrainJobs of something are three."""


@dataclass(frozen=True, slots=True)
class GangName:
    """The gang to which a group belongs."""

    id: str = shown("Id")
    kind: str = shown("Kind")
    name: str = shown("Name")


@dataclass(frozen=True, slots=True)
class _Groups:
    """What is needed of a stored Detail; the decoder skips everything else."""

    groups: tuple[ObjectRef, ...] = ()


_decoder = msgspec.msgpack.Decoder(_Groups)


def find_gangs(groups: Iterable[tuple[int, Group]], *, viewer: Viewer) -> dict[Place, GangName]:
    """Return the gang of each group (cluster id, uid); only gangs that the viewer may see."""
    wanted = [(cluster_id, group) for cluster_id, group in groups]
    found = _by_owner(wanted, viewer)
    left = {
        (cluster_id, group.meta.ref.namespace): None
        for cluster_id, group in wanted
        if (cluster_id, group.meta.ref.uid) not in found
    }
    return _by_detail(left, viewer) | found if left else found


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
    """Return the gang of each place. The search climbs from the owners that stand with the place.

    All places at once, one generation (2 queries) at a time; only gangs that the viewer may see.
    """
    found: dict[Place, GangName] = {}
    for _ in range(MOST_GENERATIONS):
        if not above:
            break
        references = {one for owners in above.values() for one in owners}
        gangs = _gangs_of(references, viewer)
        for place, owners in above.items():
            for reference in sorted(owners):
                if reference in gangs:
                    found[place] = gangs[reference]
        parents = _parents_of(references)
        above = {
            place: {up for reference in owners for up in parents.get(reference, ())}
            for place, owners in above.items()
            if place not in found
        }
        above = {place: owners for place, owners in above.items() if owners}
    return found


def _gangs_of(references: set[Reference], viewer: Viewer) -> dict[Reference, GangName]:
    rows = Gang.objects.filter(viewer.gang_filter(), gone_at=None)
    columns = ("cluster_id", "namespace", "uid", "id", "kind", "name")
    return {
        reference: GangName(gang.pk, printable(gang.kind), printable(gang.name))
        for reference, gang in follow(rows.only(*columns), references).items()
    }


def _parents_of(references: set[Reference]) -> dict[Reference, tuple[Reference, ...]]:
    """Return what owns these, as far as they are owners, groups that own groups, or pods."""
    models = {one.key: one.model for one in registry.resources() if one.model in (Owner, Group)}
    models[registry.pods().key] = registry.pods().model
    return {
        reference: tuple(
            Reference(reference.cluster_id, model.meta.ref.namespace, uid)
            for uid in model.meta.owner_uids
        )
        for reference, model in read_referred(references, models).items()
    }


def _by_detail(places: Iterable[tuple[int, str]], viewer: Viewer) -> dict[Place, GangName]:
    """Groups that pods name without owning them: only the gangs themselves know (1 query)."""
    where = Q(pk__in=[])
    for cluster_id, namespace in places:
        where |= Q(cluster_id=cluster_id, namespace=namespace)
    rows = Gang.objects.filter(viewer.gang_filter(), where, gone_at=None).values_list(
        "cluster_id", "id", "kind", "name", "detail"
    )
    return {
        (cluster_id, ref.uid): GangName(id_, printable(kind), printable(name))
        for cluster_id, id_, kind, name, detail in rows
        if detail
        for ref in _decoder.decode(bytes(detail)).groups
    }
