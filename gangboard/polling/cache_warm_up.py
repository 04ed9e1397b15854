"""Fills the caches of a cluster from the store, after a worker has taken over its lease."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from gangboard.decode.fingerprints import decoder_fingerprint
from gangboard.decode.problems import DecodeProblem
from gangboard.domain.api_resource import WatchState
from gangboard.facts.gang import Linked
from gangboard.facts.stored_verdict import is_whole
from gangboard.polling.cluster_cache import ClusterCache
from gangboard.store.cluster_leases import renew_lease
from gangboard.store.gangs import unpack_inputs
from gangboard.store.models import Gang, ResourceState, WatchedObject
from gangboard.store.objects import UnpackError, content_digest, unpack
from gangboard.store.observations import invalidate_other_decoders

_COLUMNS = ("resource", "uid", "namespace", "name", "resource_version", "data")
BATCH_SIZE = 2000
"""Stored objects per query."""
RENEW_INTERVAL = 3.0
"""Seconds between two renewals of the lease during the warm-up."""


def warm_up(cache: ClusterCache) -> None:
    """Fill the caches with the state that an earlier holder stored, and renew the lease meanwhile.

    Raises LeaseLostError.
    """
    invalidate_other_decoders(
        cache.lease,
        {key: decoder_fingerprint(watched.resource) for key, watched in cache.watched.items()},
    )
    read_states(cache)
    all_loaded = True
    for resource, uid, namespace, name, version, data in stored_objects(cache):
        cache.versions[resource][uid] = version
        cache.names[resource][uid] = (namespace, name)
        cache.object_digests[uid] = content_digest(data)
        if resource in cache.watched:
            all_loaded &= load_object(cache, resource, version, bytes(data))
    cache.preemptions.update_roots()
    if all_loaded:
        cache.events.drop_orphaned()
    gangs = Gang.objects.filter(cluster_id=cache.lease.cluster_id, gone_at=None)
    columns = ("uid", "recheck_at", "stage", "code", "memory")
    for uid, recheck_at, stage, code, memory in gangs.values_list(*columns).iterator():
        inputs = unpack_inputs(memory)
        if inputs.digest:
            cache.last_inputs[uid] = inputs
        if recheck_at is not None:
            cache.rechecks.schedule(uid, recheck_at)
        if not is_whole(stage, code):
            cache.node_usage.mark_incomplete(uid)


def read_states(cache: ClusterCache) -> None:
    """Set the stored state of each watched resource: version, visibility and unreadable objects."""
    for state in ResourceState.objects.filter(cluster_id=cache.lease.cluster_id):
        watched = cache.watched.get(state.resource)
        if watched is None:
            continue
        watched.version = state.version
        watched.state = WatchState(state.state)
        watched.sentence = state.sentence
        watched.resource_version = watched.revision.newest = state.resource_version
        watched.listed_at = state.listed_at
        watched.contact_at = state.contact_at
        cache.outage_tracker.restore_contact(state.contact_at)
        if len(state.problems) < state.problems_count:
            watched.resource_version = (
                ""  # only a list shows the unreadable objects beyond the stored ones
            )
        # Rows without a resourceVersion may come from another decoder, which stored fewer fields.
        watched.is_current = state.listed_at is not None and bool(watched.resource_version)
        for problem in state.problems:
            name_parts = (problem["namespace"], problem["name"])
            lost = bool(problem.get("lost"))
            watched.add_problem(DecodeProblem(*name_parts, "", problem["sentence"], lost))


def load_object(cache: ClusterCache, resource: str, version: str, data: bytes) -> bool:
    """Load a stored object into the caches. Return False if another decoder packed it and it cannot be read.

    Its resource then counts as never listed, so that absence of an object proves nothing before the next list.
    """
    watched = cache.watched[resource]
    try:
        model = unpack(data, watched.resource.model)
    except UnpackError:
        if version:
            raise
        watched.listed_at = None
        return False
    if isinstance(model, Linked):
        # All gangs are assessed afterwards, so the touched ones are not needed.
        cache.notify_listeners(model)
        cache.ownership_graph.load(model)
    else:
        cache.put(model)
    return True


def stored_objects(cache: ClusterCache) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of all objects, by uid.

    Each batch is read to its end, because SQLite allows no writes during a query. Between batches the lease is
    renewed.
    """
    rows = WatchedObject.objects.filter(cluster_id=cache.lease.cluster_id).order_by("uid")
    last_uid, renewed_at = "", time.monotonic()
    while batch := list(rows.filter(uid__gt=last_uid).values_list(*_COLUMNS)[:BATCH_SIZE]):
        yield from batch
        last_uid = batch[-1][1]
        if time.monotonic() - renewed_at > RENEW_INTERVAL:
            renew_lease(cache.lease)
            renewed_at = time.monotonic()
