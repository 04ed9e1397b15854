"""Fills the caches of a cluster from the store when a worker has taken it over."""

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
from gangboard.store.observations import forget_other_decoders

_COLUMNS = ("resource", "uid", "namespace", "name", "resource_version", "data")
PORTION = 2000
"""Stored objects that are read at once."""
RENEW_EVERY = 3.0
"""Seconds between two renewals of the lease meanwhile."""


def warm_up(cache: ClusterCache) -> None:
    """Fill the caches from the store: what an earlier holder left is where we go on.

    Keeps the lease meanwhile. Raises LeaseLostError.
    """
    forget_other_decoders(
        cache.claim,
        {key: decoder_fingerprint(watched.resource) for key, watched in cache.watched.items()},
    )
    for state in ResourceState.objects.filter(cluster_id=cache.claim.cluster_id):
        watched = cache.watched.get(state.resource)
        if watched is None:
            continue
        watched.version = state.version
        watched.state = WatchState(state.state)
        watched.sentence = state.sentence
        watched.resource_version = watched.revision.newest = state.resource_version
        watched.listed_at = state.listed_at
        watched.contact_at = state.contact_at
        cache.silence.saw(state.contact_at)
        if len(state.problems) < state.problems_count:
            watched.resource_version = ""  # which others cannot be read only a list can tell
        # Without a resourceVersion its rows may be of another decoder, which kept less.
        watched.is_current = state.listed_at is not None and bool(watched.resource_version)
        for problem in state.problems:
            whose = (problem["namespace"], problem["name"])
            lost = bool(problem.get("lost"))
            watched.take_problem(DecodeProblem(*whose, "", problem["sentence"], lost))
    understood = True
    for resource, uid, namespace, name, version, data in stored_objects(cache):
        cache.versions[resource][uid] = version
        cache.names[resource][uid] = (namespace, name)
        cache.contents[uid] = content_digest(data)
        if resource in cache.watched:
            understood &= _recall(cache, resource, version, bytes(data))
    cache.preemptions.note_roots()
    if understood:
        cache.events.drop_orphaned()
    gangs = Gang.objects.filter(cluster_id=cache.claim.cluster_id, gone_at=None)
    columns = ("uid", "recheck_at", "stage", "code", "memory")
    for uid, recheck_at, stage, code, memory in gangs.values_list(*columns).iterator():
        inputs = unpack_inputs(memory)
        if inputs.digest:
            cache.last_inputs[uid] = inputs
        if recheck_at is not None:
            cache.rechecks.schedule(uid, recheck_at)
        if not is_whole(stage, code):
            cache.node_usage.mark_broken(uid)


def _recall(cache: ClusterCache, resource: str, version: str, data: bytes) -> bool:
    """Take a stored object into the caches; return False when another decoder packed it unreadably.

    Then its resource counts as never listed, so that nothing counts as gone before it was.
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
        # Every gang is judged after this: nobody asks which ones it touches.
        cache.take_in(model)
        cache.ownership_graph.load(model)
    else:
        cache.remember(model)
    return True


def stored_objects(cache: ClusterCache) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of all objects, by uid.

    In portions that are read to the end: SQLite lets nobody write in the middle of a query, and
    the lease is renewed between them.
    """
    rows = WatchedObject.objects.filter(cluster_id=cache.claim.cluster_id).order_by("uid")
    last, renewed_at = "", time.monotonic()
    while portion := list(rows.filter(uid__gt=last).values_list(*_COLUMNS)[:PORTION]):
        yield from portion
        last = portion[-1][1]
        if time.monotonic() - renewed_at > RENEW_EVERY:
            renew_lease(cache.claim)
            renewed_at = time.monotonic()
