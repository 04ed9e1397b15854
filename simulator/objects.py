"""Direct access of tests to the objects of a simulator, without admission, checks or controllers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from simulator.resources import Resource
from simulator.store import Key, Store
from simulator.world import World, typed
from simulator.writes import Writer

Json = dict[str, Any]


class Objects:
    """Reads and writes objects by apiVersion and kind."""

    def __init__(self, store: Store, writer: Writer, world: World) -> None:
        self._store = store
        self._writer = writer
        self._world = world

    def resource(self, api_version: str, kind: str) -> Resource:
        """Return a served resource. Raises `KeyError`."""
        group = api_version.rpartition("/")[0]
        for resource in self._store.resources():
            # Events are stored once, and their core form finds them as well.
            groups = (resource.group, "") if resource.kind == "Event" else (resource.group,)
            if resource.kind == kind and group in groups:
                return resource
        raise KeyError(f"{api_version} {kind}")

    def get(self, api_version: str, kind: str, name: str, namespace: str = "") -> Json | None:
        """Return one object, or None."""
        return self._world.find(self.resource(api_version, kind), (namespace, name))

    def list(self, api_version: str, kind: str, namespace: str = "") -> list[Json]:
        """Return all objects of a kind."""
        resource = self.resource(api_version, kind)
        with self._store.lock:
            keys = [
                key for key in self._store.table(resource).ordered() if namespace in ("", key[0])
            ]
            return [obj for key in keys if (obj := self._world.find(resource, key)) is not None]

    def put(self, obj: Json, *, scripted: bool = True) -> Json:
        """Create or replace an object as given, status included.

        Controllers ignore a scripted object (the default) until a client writes to it.
        """
        resource = self.resource(obj["apiVersion"], obj["kind"])
        meta = obj["metadata"]
        key: Key = (meta.get("namespace", "") if resource.namespaced else "", meta["name"])
        bare = copy.deepcopy({k: v for k, v in obj.items() if k not in ("apiVersion", "kind")})
        bare["metadata"].pop("resourceVersion", None)
        with self._store.lock:
            old = self._store.find(resource, key)
            if old is None:
                bare["metadata"].setdefault("uid", self._writer.new_uid())
            uid = bare["metadata"].get("uid") or (old or {})["metadata"]["uid"]
            if scripted:
                self._world.scripted.add(uid)
            if old is None:
                return typed(resource, self._writer.create(resource, bare))
            if uid != old["metadata"]["uid"]:
                self._writer.remove(resource, key)
                return typed(resource, self._writer.create(resource, bare))
            server_fields = {"uid": uid, "creationTimestamp": old["metadata"]["creationTimestamp"]}
            server_fields["resourceVersion"] = old["metadata"]["resourceVersion"]
            bare["metadata"] = {**server_fields, **bare["metadata"]}
            return typed(resource, self._writer.change(resource, key, lambda _old: bare))

    def update(
        self,
        api_version: str,
        kind: str,
        name: str,
        change: Callable[[Json], Any],
        namespace: str = "",
    ) -> Json:
        """Let `change` modify one object in place."""
        resource = self.resource(api_version, kind)

        def apply(obj: Json) -> Json:
            change(obj)
            return obj

        return typed(resource, self._writer.change(resource, (namespace, name), apply))

    def delete(self, api_version: str, kind: str, name: str, namespace: str = "") -> None:
        """Delete one object at once, if it exists."""
        self._writer.remove(self.resource(api_version, kind), (namespace, name))

    def freeze(self) -> None:
        """Mark all objects as scripted, so that controllers ignore them."""
        with self._store.lock:
            for resource in self._store.resources():
                for key in self._store.table(resource).ordered():
                    obj = self._store.find(resource, key)
                    if obj is not None:
                        self._world.scripted.add(obj["metadata"]["uid"])
