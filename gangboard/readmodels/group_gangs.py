"""To which gang a group belongs: by its owners, otherwise by what the gangs say of themselves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
from django.db.models import Q

from gangboard.diagnosis import registry
from gangboard.domain.group import Group
from gangboard.domain.objects import ObjectRef
from gangboard.domain.owner import Owner
from gangboard.readmodels.printable import printable
from gangboard.store.access import Viewer
from gangboard.store.models import Gang, WatchedObject
from gangboard.store.objects import unpack

Place = tuple[int, str]
"""Cluster id and uid."""
MOST_GENERATIONS = 5
"""Owners above a group that are looked at: JobSets of TrainJobs of something are three."""


@dataclass(frozen=True, slots=True)
class GangName:
    """What is printed of a gang elsewhere, with its link."""

    id: str
    kind: str
    name: str


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
    above: dict[Place, set[str]] = {}
    for cluster_id, group in groups:
        uid = group.meta.ref.uid
        above[cluster_id, uid] = {uid, *group.meta.owner_uids}
    return gangs_above(above, viewer=viewer)


def gangs_above(above: dict[Place, set[str]], *, viewer: Viewer) -> dict[Place, GangName]:
    """Return the gang of each place, going up from the uids that stand with it.

    All places at once, one generation (2 queries) at a time; only gangs that the viewer may see.
    """
    found: dict[Place, GangName] = {}
    for _ in range(MOST_GENERATIONS):
        if not above:
            break
        uids = {(place[0], uid) for place, owners in above.items() for uid in owners}
        gangs = _gangs_of(uids, viewer)
        for place, owners in above.items():
            for uid in sorted(owners):
                if (place[0], uid) in gangs:
                    found[place] = gangs[place[0], uid]
        parents = _parents_of(uids)
        above = {
            place: {up for uid in owners for up in parents.get((place[0], uid), ())}
            for place, owners in above.items()
            if place not in found
        }
        above = {place: owners for place, owners in above.items() if owners}
    return found


def _gangs_of(uids: set[Place], viewer: Viewer) -> dict[Place, GangName]:
    rows = Gang.objects.filter(
        viewer.gang_filter(),
        gone_at=None,
        cluster_id__in={cluster_id for cluster_id, _ in uids},
        uid__in={uid for _, uid in uids},
    ).values_list("cluster_id", "uid", "id", "kind", "name")
    return {
        (cluster_id, uid): GangName(id_, printable(kind), printable(name))
        for cluster_id, uid, id_, kind, name in rows
    }


def _parents_of(uids: set[Place]) -> dict[Place, tuple[str, ...]]:
    """Return what owns these, as far as they are owners, or groups that own groups."""
    models = {one.key: one.model for one in registry.resources() if one.model in (Owner, Group)}
    rows = WatchedObject.objects.filter(
        cluster_id__in={cluster_id for cluster_id, _ in uids},
        uid__in={uid for _, uid in uids},
        resource__in=list(models),
    ).values_list("cluster_id", "uid", "resource", "data")
    return {
        (cluster_id, uid): unpack(bytes(data), models[resource]).meta.owner_uids
        for cluster_id, uid, resource, data in rows
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
