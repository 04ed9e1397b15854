"""The stored state of a cluster in memory, to which a check adds objects that do not exist.

The caches have no lease, so every write transaction of theirs fails. A process keeps the last ones, and reads only the
objects whose resourceVersion has changed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from gangboard.decode.events import EVENT
from gangboard.domain.api_resource import Resource
from gangboard.domain.queue import QueueEntry
from gangboard.facts.stored_verdict import is_whole
from gangboard.polling.cache_warm_up import BATCH_SIZE, load_object, read_states
from gangboard.polling.cluster_cache import ClusterCache, resources
from gangboard.polling.resource_watch import WatchedResource
from gangboard.polling.row_cache import ObjectCache
from gangboard.polling.visibility import unobserved_resources, unreadable_by_namespace
from gangboard.store.cluster_leases import ClusterLease
from gangboard.store.models import Cluster, Gang, WatchedObject
from gangboard.store.objects import BATCH, UnpackError, unpack

MAX_CLUSTERS = 16
MAX_OBJECTS = 200_000
"""Limits of the clusters that a process keeps between checks. An object takes about 2 KB."""
_NO_LEASE = 0
"""Number that no lease has, because the first one is 1."""

_kept: dict[int, LoadedCluster] = {}
"""By cluster id, the most recently used last."""
_kept_lock = threading.Lock()


class _Objects(ObjectCache):
    """The stored objects, and those that a check has added."""

    def __init__(self, cluster_id: int, models: dict[str, type[Any]]) -> None:
        super().__init__(cluster_id, models)
        self.added: dict[str, Any] = {}

    def read(self, uids: Iterable[str]) -> dict[str, Any]:
        """Return the objects by uid."""
        wanted = set(uids)
        own = {uid: self.added[uid] for uid in wanted & self.added.keys()}
        return {**super().read(wanted - own.keys()), **own}


class LoadedCluster:
    """Caches of one cluster that are never written back. Not thread-safe."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        watched = {resource.key: WatchedResource(resource) for resource in resources()}
        self.cache = ClusterCache(
            lease=ClusterLease(cluster.pk, "", _NO_LEASE),
            cluster_name=cluster.name,
            credentials_stamp=b"",
            connection=None,
            watched=watched,
        )
        models = {key: entry.resource.model for key, entry in watched.items()}
        self._objects = _Objects(cluster.pk, models)
        self.cache.objects = self._objects
        self.entries: dict[str, QueueEntry] = {}
        """Entries of admission systems by uid, those of the check included."""
        self._added: dict[str, str] = {}
        """uid of an object of the check → resource key, in the order of `add`."""

    @property
    def size(self) -> int:
        """Number of stored objects."""
        return sum(len(versions) for versions in self.cache.versions.values())

    def refresh(self, cluster: Cluster, now: datetime) -> None:
        """Read the objects that changed in the store since the last call."""
        cache, self.cluster = self.cache, cluster
        cache.cluster_name = cluster.name
        for key, watched in cache.watched.items():
            cache.watched[key] = WatchedResource(watched.resource)
        read_states(cache)
        self._read_objects()
        cache.unobserved = unobserved_resources(cache.watched, now)
        cache.unreadable = unreadable_by_namespace(cache.watched)
        cache.pod_claims.observe(now)
        self._read_gangs()

    def _read_objects(self) -> None:
        """Load new and changed objects, and remove deleted ones. Events explain only gangs that exist."""
        cache = self.cache
        rows = WatchedObject.objects.filter(cluster_id=self.cluster.pk).exclude(resource=EVENT.key)
        stored: dict[str, dict[str, str]] = {}
        for resource, uid, version in rows.values_list("resource", "uid", "resource_version"):
            stored.setdefault(resource, {})[uid] = version
        for resource, versions in list(cache.versions.items()):
            for uid in versions.keys() - stored.get(resource, {}).keys():
                self._forget(resource, uid)
        is_first = not self.size
        changed = [
            uid
            for resource, versions in stored.items()
            for uid, version in versions.items()
            if not version or cache.versions[resource].get(uid) != version
        ]
        for batch in _batches(changed, BATCH_SIZE if is_first else BATCH):
            self._load(rows.filter(uid__in=batch), is_first=is_first)

    def _load(self, rows: Any, *, is_first: bool) -> None:
        cache = self.cache
        columns = ("resource", "uid", "namespace", "name", "resource_version", "data")
        for resource, uid, namespace, name, version, data in rows.values_list(*columns):
            cache.versions[resource][uid] = version
            cache.names[resource][uid] = (namespace, name)
            self._objects.drop(uid)
            watched = cache.watched.get(resource)
            if watched is None:
                continue
            if watched.resource.model is QueueEntry:
                self.entries[uid] = unpack(bytes(data), QueueEntry)
            if is_first:
                load_object(cache, resource, version, bytes(data))
                continue
            try:
                cache.put(unpack(bytes(data), watched.resource.model))
            except UnpackError:
                # A decoder of another release packed it, so absence proves nothing.
                watched.listed_at = None

    def _read_gangs(self) -> None:
        """Mark the gangs that hold capacity without being whole, for advice."""
        usage = self.cache.node_usage
        gangs = Gang.objects.filter(cluster_id=self.cluster.pk, gone_at=None)
        for uid, stage, code in gangs.values_list("uid", "stage", "code").iterator():
            if is_whole(stage, code):
                usage.mark_complete(uid)
            else:
                usage.mark_incomplete(uid)

    def _forget(self, resource: str, uid: str) -> None:
        self._objects.drop(uid)
        self.entries.pop(uid, None)
        if resource in self.cache.watched:
            self.cache.remove(resource, uid)
        else:
            self.cache.versions[resource].pop(uid, None)
            self.cache.names[resource].pop(uid, None)

    # Objects of a check

    def add(self, resource: Resource, model: Any) -> None:
        """Add an object that does not exist, or replace one that the check has added."""
        ref = model.meta.ref
        self._added.setdefault(ref.uid, resource.key)
        self._objects.added[ref.uid] = model
        self.cache.names[resource.key][ref.uid] = (ref.namespace, ref.name)
        if isinstance(model, QueueEntry):
            self.entries[ref.uid] = model
        self.cache.put(model)

    def get(self, uid: str) -> Any:
        """Return an object that the check has added."""
        return self._objects.added[uid]

    def withdraw(self, uids: Iterable[str]) -> None:
        """Remove objects that the check has added."""
        for uid in uids:
            key = self._added.pop(uid, None)
            if key is not None:
                self._objects.added.pop(uid, None)
                self._forget(key, uid)

    def hide(self, uids: Iterable[str]) -> None:
        """Remove stored objects until the next refresh."""
        resource_of = {
            uid: resource for resource, versions in self.cache.versions.items() for uid in versions
        }
        for uid in uids:
            if uid in resource_of:
                self._forget(resource_of[uid], uid)

    def withdraw_all(self) -> None:
        """Remove all objects that the check has added, the newest first."""
        self.withdraw(list(reversed(self._added)))


@contextmanager
def loaded_cluster(cluster: Cluster, now: datetime) -> Iterator[LoadedCluster]:
    """Provide the current state of a cluster to one check, and remove the objects of the check afterwards.

    A check that fails drops the state, because it may be inconsistent.
    """
    with _kept_lock:
        loaded = _kept.pop(cluster.pk, None)
    if loaded is None:  # the first check, or another check uses the state now
        loaded = LoadedCluster(cluster)
    loaded.refresh(cluster, now)
    yield loaded
    loaded.withdraw_all()
    _keep(loaded)


def _keep(loaded: LoadedCluster) -> None:
    """Keep the state for the next check of the cluster. Drop the least recently used ones above the limits."""
    with _kept_lock:
        _kept[loaded.cluster.pk] = loaded
        while _kept and (
            len(_kept) > MAX_CLUSTERS or sum(kept.size for kept in _kept.values()) > MAX_OBJECTS
        ):
            del _kept[next(iter(_kept))]


def drop_kept() -> None:
    """Drop the state of all clusters."""
    with _kept_lock:
        _kept.clear()


def _batches(uids: list[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(uids), size):
        yield uids[start : start + size]
