"""What happens to an object on its way into the store: names, uids, generations, preconditions."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from simulator import managed_fields, refusals
from simulator.defaults import fill_in
from simulator.resources import KUEUE_WORKLOADS, Resource
from simulator.store import Json, Key, Store, Written, encode

Admission = Callable[[Resource, Json | None, Json], Json]
"""Given old (None on create) and new object, returns what is written instead of the new one."""

_TRACKED = frozenset({"jobs", "jobsets", "holds", f"workloads.{KUEUE_WORKLOADS.group}"})
_GENERATIONS = (
    "pods",
    "jobs",
    "cronjobs",
    "statefulsets",
    "deployments",
    "replicasets",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "customresourcedefinitions",
)
"""Built-in kinds whose objects have a generation; PodGroups and nodes were seen without one."""
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_SERVER_FIELDS = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
)


def timestamp(moment: datetime | None = None) -> str:
    """Return a moment (now by default) as Kubernetes writes it in metadata and conditions."""
    return (moment or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")


def microtime(moment: datetime | None = None) -> str:
    """Return a moment (now by default) as Kubernetes writes it in `eventTime`."""
    return (moment or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Writer:
    """The write side of the API, used by requests, controllers and tests alike."""

    def __init__(
        self, store: Store, *, seed: int = 1, now: Callable[[], datetime] | None = None
    ) -> None:
        """`now` gives the time of what is written; the real one by default."""
        self.store = store
        self.now = now or (lambda: datetime.now(UTC))
        self.admission: Admission = lambda _resource, _old, new: new
        self._random = Random(seed)  # noqa: S311 - names and uids must repeat, not be secret

    def new_uid(self) -> str:
        """Return a fresh uid; the same seed gives the same ones."""
        with self.store.lock:
            return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def suffix(self, length: int = 5) -> str:
        """Return a random end of a name, as generated names have it."""
        with self.store.lock:
            return "".join(self._random.choice(_SUFFIX) for _ in range(length))

    def create(
        self,
        resource: Resource,
        obj: Json,
        *,
        manager: str = "simulator",
        dry_run: bool = False,
    ) -> Json:
        """Add an object. Server-made metadata that it brings along (uid, time) is kept."""
        obj = copy.deepcopy(obj)
        meta = obj.setdefault("metadata", {})
        if "name" not in meta and "generateName" in meta:
            meta["name"] = meta["generateName"] + self.suffix()
        name = meta["name"]
        key: Key = (meta.get("namespace", "") if resource.namespaced else "", name)
        with self.store.lock:
            if key in self.store.table(resource).objects:
                raise refusals.already_exists(resource, name)
            obj = self.admission(resource, None, obj)
            meta = obj["metadata"]
            meta.setdefault("uid", self.new_uid())
            meta.setdefault("creationTimestamp", timestamp(self.now()))
            if resource.custom or resource.plural in _GENERATIONS:
                meta.setdefault("generation", 1)
            fill_in(resource, obj)
            self._own(resource, None, obj, manager, "")
            return self._commit(resource, key, obj, dry_run)

    def change(
        self,
        resource: Resource,
        key: Key,
        change: Callable[[Json], Json],
        *,
        manager: str = "simulator",
        subresource: str | None = None,
        dry_run: bool = False,
    ) -> Json:
        """Replace an object by what `change` makes of it; nothing is written when it is the same.

        `change` may alter its argument and return it. `subresource` confines it as the API does:
        `status` to the status, an empty one to the rest, None not at all. Raises a 404 `Refusal`.
        """
        with self.store.lock:
            old = self.store.find(resource, key)
            if old is None:
                raise refusals.not_found(resource, key[1])
            new = change(copy.deepcopy(old))
            self._check(resource, old, new)
            if subresource is not None:
                new = _confined(resource, old, new, subresource)
            if not subresource:  # the policy names `jobs`, which `jobs/status` is not
                new = self.admission(resource, old, new)
            if _significant(new) == _significant(old):
                return old
            meta = new["metadata"]
            if "generation" in meta and _specification(new) != _specification(old):
                meta["generation"] = old["metadata"].get("generation", 0) + 1
            self._own(resource, old, new, manager, subresource or "")
            going = meta.get("deletionTimestamp") and not meta.get("finalizers")
            # A pod waits for its kubelet, everything else for its finalizers.
            if going and resource.plural != "pods" and not dry_run:
                self.store.commit(resource, key, None)
                return new
            return self._commit(resource, key, new, dry_run)

    def remove(self, resource: Resource, key: Key) -> None:
        """Take an object away at once, whatever finalizers or grace it has."""
        with self.store.lock:
            if key in self.store.table(resource).objects:
                self.store.commit(resource, key, None)

    def mark_deleted(self, resource: Resource, key: Key, *, grace: int = 0) -> Json:
        """Set the deletion time of an object that something still has to let go."""

        def mark(obj: Json) -> Json:
            meta = obj["metadata"]
            if "deletionTimestamp" not in meta or grace < meta["deletionGracePeriodSeconds"]:
                if "deletionTimestamp" not in meta and "generation" in meta:
                    meta["generation"] += 1
                meta["deletionTimestamp"] = timestamp(self.now() + timedelta(seconds=grace))
                meta["deletionGracePeriodSeconds"] = grace
            return obj

        with self.store.lock:
            return self.change(resource, key, mark)

    def _check(self, resource: Resource, old: Json, new: Json) -> None:
        meta, wanted = old["metadata"], new["metadata"]
        name = meta["name"]
        if wanted.get("uid", meta["uid"]) != meta["uid"]:
            raise refusals.other_uid(resource, name, wanted["uid"])
        version = wanted.get("resourceVersion", meta["resourceVersion"])
        if version != meta["resourceVersion"]:
            raise refusals.modified(resource, name)

    def _own(
        self, resource: Resource, old: Json | None, new: Json, manager: str, subresource: str
    ) -> None:
        if not _TRACKED & {resource.plural, f"{resource.plural}.{resource.group}"}:
            return
        new["metadata"]["managedFields"] = managed_fields.track(
            old,
            new,
            manager=manager,
            api_version=resource.api_version(),
            subresource=subresource,
            now=timestamp(self.now()),
        )

    def _commit(self, resource: Resource, key: Key, obj: Json, dry_run: bool) -> Json:
        if dry_run:
            return obj
        version = self.store.next_version()
        obj["metadata"]["resourceVersion"] = str(version)
        obj = _ordered(obj)
        self.store.commit(resource, key, Written(version, encode(obj)))
        return obj


def _ordered(obj: Json) -> Json:
    first: Json = {key: obj[key] for key in ("metadata", "spec", "status") if key in obj}
    return {**first, **obj}


def _confined(resource: Resource, old: Json, new: Json, subresource: str) -> Json:
    """Undo what a write may not touch: status outside /status, the rest inside it."""
    if subresource == "status":
        kept = copy.deepcopy(old)
        kept["status"] = new.get("status", {})
        return kept
    if resource.has_status:
        new.pop("status", None)
        if "status" in old:
            new["status"] = old["status"]
    meta, was = new["metadata"], old["metadata"]
    for name in _SERVER_FIELDS:
        if name in was:
            meta[name] = was[name]
        else:
            meta.pop(name, None)
    return new


def _significant(obj: Json) -> Json:
    meta = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in ("managedFields", "resourceVersion", "generation")
    }
    return {**obj, "metadata": meta}


def _specification(obj: Json) -> dict[str, Any]:
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")}
