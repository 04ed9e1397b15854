"""Base class of the simulated controllers: which objects they reconcile, and when."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from simulator.resources import Resource
from simulator.store import Key, Record
from simulator.world import World, key_of

Json = dict[str, Any]


class Controller(ABC):
    """Reconciles an object of its kind shortly after the object, or one that it owns, has changed."""

    def __init__(
        self, world: World, resource: Resource, owned: Resource, kind: str, delay: float
    ) -> None:
        """`kind` is that of `resource`; `delay` is in seconds."""
        self._world = world
        self._resource = resource
        self._owned = owned
        self._kind = kind
        self._delay = delay
        self._queued: set[Key] = set()

    def reconcile(self, resource: Resource, _record: Record, obj: Json) -> None:
        """Queue an object that has changed, or whose owned object has changed."""
        if resource == self._resource:
            self._enqueue(key_of(obj))
        elif resource == self._owned:
            for reference in obj["metadata"].get("ownerReferences", []):
                if reference["kind"] == self._kind:
                    self._enqueue((obj["metadata"]["namespace"], reference["name"]))

    def _enqueue(self, key: Key) -> None:
        if key not in self._queued:
            self._queued.add(key)
            self._world.clock.soon(lambda: self._reconcile_key(key), self._delay)

    def _reconcile_key(self, key: Key) -> None:
        self._queued.discard(key)
        with self._world.store.lock:
            obj = self._world.find(self._resource, key)
            if obj is not None and obj["metadata"]["uid"] not in self._world.scripted:
                self._sync(obj)

    @abstractmethod
    def _sync(self, obj: Json) -> None:
        """Reconcile the owned objects and the status with the spec."""
