"""The stored objects of one gang, without pods: what the policy of actions reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any

from django.utils import timezone

from gangboard.decode.holds import HOLD
from gangboard.domain.api_resource import WatchState
from gangboard.domain.group import Group
from gangboard.domain.hold import Hold
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry
from gangboard.domain.queue_status import QueueVisibility
from gangboard.facts.build_gang import NO_OBJECTS, GangObjects, build_gang
from gangboard.facts.cluster_view import ClusterView
from gangboard.facts.gang import Gang as GangModel
from gangboard.plugins import registry
from gangboard.store.gangs import unpack_detail
from gangboard.store.models import Cluster, Gang, ResourceState, WatchedObject
from gangboard.store.objects import BATCH, unpack
from gangboard.store.uid_lookups import Reference, follow, owned_objects, read_referred

_DEEPEST = 8
"""Owners above one another that are followed; real ones have two or three."""

Place = tuple[int, str, str]
"""Id of the cluster, namespace and name."""


@cache
def action_models() -> dict[str, type[Any]]:
    """Return resource key → class of the domain, of all that a gang is made of, without pods."""
    return {resource.key: resource.model for resource in (*registry.resources(), HOLD)}


def read_gang(cluster_id: int, gang: Gang) -> GangModel | None:
    """Return a gang as the poll stored its objects, without pods.

    None when its owner is gone, or no kind that can be acted on (a bare pod or group). Costs about 6
    queries, and as many objects as the gang has: other objects of its namespace are not read.
    """
    detail = unpack_detail(bytes(gang.detail))
    references = [
        Reference(cluster_id, gang.namespace, uid)
        for uid in (gang.uid, *(ref.uid for ref in detail.groups))
    ]
    stored = read_referred(references, action_models())
    owner = stored.get(references[0])
    if not isinstance(owner, Owner):
        return None
    below = _below(cluster_id, owner)
    uids = [owner.meta.ref.uid, *(one.meta.ref.uid for one in below)]
    attached = _of_owners(cluster_id, gang.namespace, uids, (Hold, QueueEntry))
    groups = (model for one in references if isinstance(model := stored.get(one), Group))
    maker = _maker(cluster_id, owner)
    objects = GangObjects(members=[*below, *groups, *attached], maker=maker)
    return build_gang(owner, objects, read_cluster_view(cluster_id), timezone.now())


def read_target_gang(cluster_id: int, target: Owner, gang: Gang | None) -> GangModel | None:
    """Return the gang that an owner belongs to, or an owner that makes gangs alone."""
    if registry.makes_gangs(target.meta.ref.group, target.meta.ref.kind):
        return build_gang(target, NO_OBJECTS, read_cluster_view(cluster_id), timezone.now())
    return read_gang(cluster_id, gang) if gang is not None else None


def read_maker(gang: Gang) -> Owner | None:
    """Return what makes gangs such as this one: the CronJob of a run. One query where there is nothing of the sort."""
    reference = Reference(gang.cluster_id, gang.namespace, gang.uid)
    found = read_referred([reference], action_models()).get(reference)
    return _maker(gang.cluster_id, found) if isinstance(found, Owner) else None


def _maker(cluster_id: int, owner: Owner) -> Owner | None:
    """Return what makes gangs such as this one. No query for a gang that nothing of the sort has made."""
    above = owner.meta.controller
    if above is None or not registry.makes_gangs(above.group, above.kind):
        return None
    reference = Reference(cluster_id, owner.meta.ref.namespace, above.uid)
    found = read_referred([reference], action_models()).get(reference)
    return found if isinstance(found, Owner) else None


def find_gang(cluster_id: int, namespace: str, uid: str) -> Gang | None:
    """Return the gang that a stored owner or child Job of a namespace belongs to, or None."""
    reference = Reference(cluster_id, namespace, uid)
    return find_gangs([reference]).get(reference)


def find_gangs(
    references: Iterable[Reference], known: Mapping[Reference, Owner] | None = None
) -> dict[Reference, Gang]:
    """Return the gang that each owner or child Job belongs to; 2 queries a generation of owners, however many.

    `known` are those of them that were read already.
    """
    found: dict[Reference, Gang] = {}
    reached = {reference: reference for reference in references}
    read = dict(known or {})
    for _ in range(_DEEPEST):
        gangs = follow(Gang.objects.filter(gone_at=None), reached.values())
        found |= {start: gangs[here] for start, here in reached.items() if here in gangs}
        reached = {start: here for start, here in reached.items() if start not in found}
        unread = [here for here in reached.values() if here not in read]
        read |= read_referred(unread, action_models())
        reached = {
            start: above
            for start, here in reached.items()
            if (above := _controller(here, read.get(here))) is not None
        }
        if not reached:
            break
    return found


def _controller(reference: Reference, owner: object) -> Reference | None:
    """Return what controls the owner that a reference leads to."""
    if not isinstance(owner, Owner) or owner.meta.controller is None:
        return None
    return Reference(reference.cluster_id, owner.meta.ref.namespace, owner.meta.controller.uid)


def find_object(
    cluster: Cluster, resource: str, namespace: str, name: str
) -> Any | None:  # any class of the domain
    """Return a stored object by its name; of two (one deleted unseen) the one made last."""
    place = (cluster.pk, namespace, name)
    return find_objects(resource, [place]).get(place)


def find_objects(
    resource: str, places: Collection[Place]
) -> dict[Place, Any]:  # objects of any class of the domain
    """Return the stored objects of one resource by where they are, as `find_object`. One query per BATCH."""
    wanted = list(dict.fromkeys(places))
    found: dict[Place, Any] = {}
    model_class = action_models()[resource]
    for start in range(0, len(wanted), BATCH):
        portion = set(wanted[start : start + BATCH])
        clusters, namespaces, names = zip(*portion, strict=True)
        rows = WatchedObject.objects.filter(
            resource=resource,
            cluster_id__in=set(clusters),
            namespace__in=set(namespaces),
            name__in=set(names),
        ).values_list("cluster_id", "namespace", "name", "data")
        for cluster_id, namespace, name, data in rows:
            place = (cluster_id, namespace, name)
            if place in portion:
                model = unpack(bytes(data), model_class)
                found[place] = max(found.get(place, model), model, key=_made)
    return found


def _made(model: Any) -> tuple[str, str]:
    return str(model.meta.created_at or ""), model.meta.ref.uid


def read_cluster_view(cluster_id: int) -> ClusterView:
    """Return the served versions of a cluster, and whether queue entries can be there (1 query)."""
    rows = ResourceState.objects.filter(cluster_id=cluster_id)
    states = {
        resource: (state, version)
        for resource, state, version in rows.values_list("resource", "state", "version")
    }
    return ClusterView(
        api_versions={
            resource: version
            for resource, (state, version) in states.items()
            if version and state != WatchState.NOT_SERVED
        },
        queue_visibility=_queue_visibility(
            states.get(resource.key, ("", ""))[0]
            for resource in registry.queue_resources(QueueEntry)
        ),
        queue_systems=tuple(system.label for system in registry.admission_systems()),
    )


def _queue_visibility(states: Iterable[str]) -> QueueVisibility:
    """Return whether entries in queues can be there, by the states of their resources.

    The poll has not looked for a resource without a stored state.
    """
    known = tuple(states)
    served = [state for state in known if state != WatchState.NOT_SERVED]
    if known and not served:
        return QueueVisibility.NOT_SERVED
    is_read = bool(served) and all(state == WatchState.OK for state in served)
    return QueueVisibility.SERVED if is_read else QueueVisibility.UNKNOWN


def _below(cluster_id: int, owner: Owner) -> list[Owner]:
    """Return the owners below, of every attempt: one query for each layer of them."""
    known, found, parents = {owner.meta.ref.uid}, [], [owner]
    for _ in range(_DEEPEST):
        # A Job makes pods, nothing that could be stopped by itself.
        uids = [one.meta.ref.uid for one in parents if not one.meta.ref.is_job]
        layer = _of_owners(cluster_id, owner.meta.ref.namespace, uids, (Owner,))
        parents = [one for one in layer if one.meta.ref.uid not in known]
        known.update(one.meta.ref.uid for one in parents)
        found += parents
    return found


def _of_owners(
    cluster_id: int, namespace: str, uids: Sequence[str], wanted: Collection[type[Any]]
) -> list[Any]:  # objects of the wanted classes
    """Return the stored objects of these classes that belong to one of these owners of a namespace, by name."""
    models = action_models()
    keys = [key for key, model in models.items() if model in wanted]
    found: list[tuple[str, str, Any]] = []
    for start in range(0, len(uids), BATCH):
        rows = owned_objects(cluster_id, namespace, uids[start : start + BATCH])
        found += rows.filter(resource__in=keys).values_list("name", "resource", "data")
    return [unpack(bytes(data), models[key]) for _, key, data in sorted(found, key=itemgetter(0))]
