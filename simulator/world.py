"""State shared by controllers: owned objects, node usage, and the clock."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from simulator.clock import Clock
from simulator.events import Recorder
from simulator.placement import FreeResources, requests_of
from simulator.resources import CRONJOBS, NODES, PODS, Resource
from simulator.store import Key, Record, Store, Written
from simulator.writes import Writer, timestamp

Json = dict[str, Any]
Change = Callable[[Json], Json]
_Name = TypeVar("_Name")
_Item = TypeVar("_Item")
_MAKERS_OF_GANGS = (CRONJOBS,)
"""Kinds whose children are gangs of their own, so that an action on one child does not affect the others."""
Reconcile = Callable[[Resource, Record, Json], None]


class World:
    """The cluster as controllers see it."""

    def __init__(self, store: Store, writer: Writer, clock: Clock, *, version: str | None) -> None:
        """`version` is that of core PodGroups; None without them."""
        self.store = store
        self.writer = writer
        self.clock = clock
        self.version = version
        self.recorder = Recorder(writer)
        self.scripted: set[str] = set()
        """Uids of objects that a fleet script put into a state. Controllers ignore them."""
        self.expected_removals: set[str] = set()
        """Uids of pods that a controller removed. Their end is no failure of their Job."""
        self._owned: dict[str, set[tuple[Resource, Key]]] = {}
        self._members: dict[Key, set[Key]] = {}
        self._placements: dict[Key, tuple[str, dict[str, int]]] = {}
        self._free_resources: FreeResources | None = None
        self._watchers: list[Reconcile] = []
        store.subscribe(self._update_indexes)

    def timestamp(self) -> str:
        """Return the time as controllers write it into objects."""
        return timestamp(self.clock.now())

    def watch(self, reconcile: Reconcile) -> None:
        """Call `reconcile` with each change of an object, soon, on the clock's thread."""
        self._watchers.append(reconcile)

    def resource(self, plural: str) -> Resource | None:
        """Return a resource of `scheduling.k8s.io` by its plural; None if it is not served."""
        for resource in self.store.resources():
            if resource.group == "scheduling.k8s.io" and resource.plural == plural:
                return resource
        return None

    # Lookups

    def find(self, resource: Resource, key: Key) -> Json | None:
        """Return an object with its apiVersion and kind, or None."""
        obj = self.store.find(resource, key)
        return None if obj is None else typed(resource, obj)

    def owned(self, uid: str, resource: Resource) -> list[Json]:
        """Return objects of a resource that name the uid as an owner, by name."""
        with self.store.lock:
            keys = sorted(key for kind, key in self._owned.get(uid, ()) if kind == resource)
            return [obj for key in keys if (obj := self.find(resource, key)) is not None]

    def owned_by(self, uid: str) -> list[tuple[Resource, Key]]:
        """Return all objects that name the uid as an owner."""
        with self.store.lock:
            return sorted(self._owned.get(uid, ()), key=lambda item: (item[0].plural, item[1]))

    def members(self, namespace: str, group: str) -> list[Json]:
        """Return the pods that name a PodGroup."""
        with self.store.lock:
            keys = sorted(self._members.get((namespace, group), ()))
            return [obj for key in keys if (obj := self.find(PODS, key)) is not None]

    def free_resources(self) -> FreeResources:
        """Return a copy of the free resources of all nodes, for placement attempts."""
        with self.store.lock:
            if self._free_resources is None:
                nodes = self.store.table(NODES).objects.values()
                self._free_resources = FreeResources(json.loads(stored.body()) for stored in nodes)
                for node, needs in self._placements.values():
                    self._free_resources.take(node, needs)
            return self._free_resources.copy()

    # Changes

    def change(self, resource: Resource, obj: Json, change: Change, manager: str) -> Json:
        """Change an object as a controller, if it still exists."""
        key = key_of(obj)
        with self.store.lock:
            if key not in self.store.table(resource).objects:
                return obj
            return typed(resource, self.writer.change(resource, key, change, manager=manager))

    def set_status(self, resource: Resource, obj: Json, status: Json, manager: str) -> Json:
        """Replace an object's status."""

        def write(target: Json) -> Json:
            target["status"] = status
            return target

        key = key_of(obj)
        with self.store.lock:
            if key not in self.store.table(resource).objects:
                return obj
            changed = self.writer.change(
                resource, key, write, manager=manager, subresource="status"
            )
        return typed(resource, changed)

    # Scripts

    def release_from_script(self, resource: Resource, key: Key) -> None:
        """Hand the gang of an object to the controllers, because a client acts on it."""
        with self.store.lock:
            obj = self.store.find(resource, key)
            if obj is None:
                return
            top = self._topmost_owner(obj)
            for uid in (obj["metadata"]["uid"], *self._walk_owned(top)):
                self.scripted.discard(uid)

    def _topmost_owner(self, obj: Json) -> str:
        """Return the uid of the topmost existing owner."""
        meta = obj["metadata"]
        served = {
            (resource_type.group, resource_type.kind): resource_type
            for resource_type in self.store.resources()
        }
        for reference in meta.get("ownerReferences", []):
            group = reference["apiVersion"].rpartition("/")[0]
            resource = served.get((group, reference["kind"]))
            if resource is None or resource in _MAKERS_OF_GANGS:
                continue
            owner = self.store.find(resource, (meta["namespace"], reference["name"]))
            if owner is not None and owner["metadata"]["uid"] == reference["uid"]:
                return self._topmost_owner(owner)
        return str(meta["uid"])

    def _walk_owned(self, uid: str) -> Iterator[str]:
        yield uid
        for resource, key in list(self._owned.get(uid, ())):
            obj = self.store.find(resource, key)
            if obj is not None:
                yield from self._walk_owned(obj["metadata"]["uid"])

    # Indexes

    def _update_indexes(self, resource: Resource, record: Record) -> None:
        """Update the indexes. The store's lock is held."""
        if resource == NODES:
            self._free_resources = None
        if not isinstance(record.stored, Written):
            return  # A load generator created it, and no controller owns it.
        obj = json.loads(record.stored.raw)
        for reference in obj["metadata"].get("ownerReferences", []):
            _update_index(
                self._owned, reference["uid"], (resource, record.key), record.type != "DELETED"
            )
        if resource == PODS:
            self._index_pod(record, obj)
        if self._watchers:
            typed_obj = typed(resource, obj)
            self.clock.soon(lambda: self._notify(resource, record, typed_obj))

    def _index_pod(self, record: Record, pod: Json) -> None:
        group = pod["spec"].get("schedulingGroup", {}).get("podGroupName")
        node = pod["spec"].get("nodeName")
        is_deleted = record.type == "DELETED"
        if group:
            _update_index(self._members, (record.key[0], group), record.key, not is_deleted)
        finished = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
        before = self._placements.pop(record.key, None)
        if before is not None and self._free_resources is not None:
            self._free_resources.take(*before, +1)
        if node and not is_deleted and not finished:
            now = self._placements[record.key] = (node, requests_of(pod))
            if self._free_resources is not None:
                self._free_resources.take(*now)

    def _notify(self, resource: Resource, record: Record, obj: Json) -> None:
        for watcher in self._watchers:
            watcher(resource, record, obj)


def _update_index(index: dict[_Name, set[_Item]], name: _Name, item: _Item, present: bool) -> None:
    """Add an item to an index or remove it. Names without items are removed, because stories run for long."""
    if present:
        index.setdefault(name, set()).add(item)
    elif name in index:
        index[name].discard(item)
        if not index[name]:
            del index[name]


def key_of(obj: Json) -> Key:
    """Return the key of an object."""
    meta = obj["metadata"]
    return meta.get("namespace", ""), meta["name"]


def typed(resource: Resource, obj: Json) -> Json:
    """Return an object with its apiVersion and kind in front."""
    return {"apiVersion": resource.api_version(), "kind": resource.kind, **obj}
