"""The stored objects of one gang without its pods, as the policy of actions reads them."""

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
from gangboard.facts.cluster_view import ClusterView, kubernetes_minor
from gangboard.facts.gang import Gang as GangModel
from gangboard.plugins import registry
from gangboard.store.gangs import unpack_detail
from gangboard.store.models import Cluster, Gang, ResourceState, WatchedObject
from gangboard.store.objects import BATCH, unpack
from gangboard.store.uid_lookups import (
    Reference,
    owned_objects,
    read_referenced,
    resolve_references,
)

_DEEPEST = 8
"""Maximum number of owner generations that are followed. Real gangs have two or three."""

ObjectPlace = tuple[int, str, str]
"""Cluster id, namespace and name of an object."""


@cache
def action_models() -> dict[str, type[Any]]:
    """Return resource key → domain class of all objects of a gang, without pods."""
    return {resource.key: resource.model for resource in (*registry.resources(), HOLD)}


def read_gang(cluster_id: int, gang: Gang) -> GangModel | None:
    """Return a gang with its stored objects, without pods.

    None if its owner is gone, or if gangboard cannot act on its kind (a bare pod or group). It takes about 6
    queries and reads the objects of the gang only, not others of its namespace.
    """
    detail = unpack_detail(bytes(gang.detail))
    references = [
        Reference(cluster_id, gang.namespace, uid)
        for uid in (gang.uid, *(ref.uid for ref in detail.groups))
    ]
    stored = read_referenced(references, action_models())
    owner = stored.get(references[0])
    if not isinstance(owner, Owner):
        return None
    descendants = _read_descendants(cluster_id, owner)
    uids = [owner.meta.ref.uid, *(descendant.meta.ref.uid for descendant in descendants)]
    attached = _read_owned(cluster_id, gang.namespace, uids, (Hold, QueueEntry))
    groups = (
        model for reference in references if isinstance(model := stored.get(reference), Group)
    )
    creator = _gang_creator(cluster_id, owner)
    objects = GangObjects(members=[*descendants, *groups, *attached], maker=creator)
    return build_gang(owner, objects, read_cluster_view(cluster_id), timezone.now())


def read_target_gang(cluster_id: int, target: Owner, gang: Gang | None) -> GangModel | None:
    """Return the gang of an owner. An owner that creates gangs, such as a CronJob, is returned alone."""
    if registry.makes_gangs(target.meta.ref.group, target.meta.ref.kind):
        return build_gang(target, NO_OBJECTS, read_cluster_view(cluster_id), timezone.now())
    return read_gang(cluster_id, gang) if gang is not None else None


def read_maker(gang: Gang) -> Owner | None:
    """Return the owner that creates gangs such as this one, such as the CronJob of a run (1 query if it has none)."""
    reference = Reference(gang.cluster_id, gang.namespace, gang.uid)
    owner = read_referenced([reference], action_models()).get(reference)
    return _gang_creator(gang.cluster_id, owner) if isinstance(owner, Owner) else None


def _gang_creator(cluster_id: int, owner: Owner) -> Owner | None:
    """Return the owner that creates gangs such as this one. Without such an owner there is no query."""
    controller = owner.meta.controller
    if controller is None or not registry.makes_gangs(controller.group, controller.kind):
        return None
    reference = Reference(cluster_id, owner.meta.ref.namespace, controller.uid)
    creator = read_referenced([reference], action_models()).get(reference)
    return creator if isinstance(creator, Owner) else None


def find_gang(cluster_id: int, namespace: str, uid: str) -> Gang | None:
    """Return the gang of a stored owner or child Job of a namespace, or None."""
    reference = Reference(cluster_id, namespace, uid)
    return find_gangs([reference]).get(reference)


def find_gangs(
    references: Iterable[Reference], known: Mapping[Reference, Owner] | None = None
) -> dict[Reference, Gang]:
    """Return the gang of each owner or child Job, with 2 queries for each generation of owners.

    `known` holds the owners that were read already.
    """
    result: dict[Reference, Gang] = {}
    reached = {reference: reference for reference in references}
    read = dict(known or {})
    for _ in range(_DEEPEST):
        gangs = resolve_references(Gang.objects.filter(gone_at=None), reached.values())
        result |= {start: gangs[current] for start, current in reached.items() if current in gangs}
        reached = {start: current for start, current in reached.items() if start not in result}
        unread = [current for current in reached.values() if current not in read]
        read |= read_referenced(unread, action_models())
        reached = {
            start: above
            for start, current in reached.items()
            if (above := _controller(current, read.get(current))) is not None
        }
        if not reached:
            break
    return result


def _controller(reference: Reference, owner: object) -> Reference | None:
    """Return the reference to the controller of an owner."""
    if not isinstance(owner, Owner) or owner.meta.controller is None:
        return None
    return Reference(reference.cluster_id, owner.meta.ref.namespace, owner.meta.controller.uid)


def find_object(
    cluster: Cluster, resource: str, namespace: str, name: str
) -> Any | None:  # any class of the domain
    """Return a stored object by name. If a deletion was missed, the newer of two is returned."""
    place = (cluster.pk, namespace, name)
    return find_objects(resource, [place]).get(place)


def find_objects(
    resource: str, places: Collection[ObjectPlace]
) -> dict[ObjectPlace, Any]:  # objects of any class of the domain
    """Return the stored objects of one resource by place, as `find_object` does. One query per BATCH."""
    ordered = list(dict.fromkeys(places))
    result: dict[ObjectPlace, Any] = {}
    model_class = action_models()[resource]
    for start in range(0, len(ordered), BATCH):
        portion = set(ordered[start : start + BATCH])
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
                result[place] = max(result.get(place, model), model, key=_creation_order)
    return result


def _creation_order(model: Any) -> tuple[str, str]:
    return str(model.meta.created_at or ""), model.meta.ref.uid


def read_cluster_view(cluster_id: int) -> ClusterView:
    """Return the versions of a cluster and its APIs, and the visibility of queue entries (1 query)."""
    rows = ResourceState.objects.filter(cluster_id=cluster_id).values_list(
        "resource", "state", "version", "cluster__server_version"
    )
    states, kubernetes = {}, None
    for resource, state, version, server_version in rows:
        states[resource] = state, version
        kubernetes = kubernetes_minor(server_version)
    return ClusterView(
        kubernetes=kubernetes,
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
    """Return whether the cluster can have queue entries, given the states of their resources.

    A resource without a stored state was not polled yet.
    """
    known = tuple(states)
    served = [state for state in known if state != WatchState.NOT_SERVED]
    if known and not served:
        return QueueVisibility.NOT_SERVED
    is_read = bool(served) and all(state == WatchState.OK for state in served)
    return QueueVisibility.SERVED if is_read else QueueVisibility.UNKNOWN


def _read_descendants(cluster_id: int, owner: Owner) -> list[Owner]:
    """Return the owners below an owner, of every attempt; one query for each layer."""
    known, descendants, parents = {owner.meta.ref.uid}, [], [owner]
    for _ in range(_DEEPEST):
        # A Job creates pods, which cannot be suspended one by one.
        uids = [descendant.meta.ref.uid for descendant in parents if not descendant.meta.ref.is_job]
        layer = _read_owned(cluster_id, owner.meta.ref.namespace, uids, (Owner,))
        parents = [descendant for descendant in layer if descendant.meta.ref.uid not in known]
        known.update(descendant.meta.ref.uid for descendant in parents)
        descendants += parents
    return descendants


def _read_owned(
    cluster_id: int, namespace: str, uids: Sequence[str], classes: Collection[type[Any]]
) -> list[Any]:  # objects of the wanted classes
    """Return the stored objects of some classes that belong to one of these owners, sorted by name."""
    models = action_models()
    keys = [key for key, model in models.items() if model in classes]
    rows_of_owners: list[tuple[str, str, Any]] = []
    for start in range(0, len(uids), BATCH):
        rows = owned_objects(cluster_id, namespace, uids[start : start + BATCH])
        rows_of_owners += rows.filter(resource__in=keys).values_list("name", "resource", "data")
    return [
        unpack(bytes(data), models[key])
        for _, key, data in sorted(rows_of_owners, key=itemgetter(0))
    ]
