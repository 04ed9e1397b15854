"""The write path of objects: names, uids, generations, preconditions."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from simulator import managed_fields, refusals, template_rules
from simulator.defaults import fill_in
from simulator.resources import KUEUE_WORKLOADS, Resource
from simulator.store import Json, Key, Store, Written, encode

Admission = Callable[[Resource, Json | None, Json], Json]
"""A function of the old (None on create) and the new object that returns the object to store."""

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
"""Built-in kinds whose objects have a generation. PodGroups and nodes had none on a real cluster."""
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_SERVER_FIELDS = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
)


def timestamp(moment: datetime | None = None) -> str:
    """Return a time (now by default) as Kubernetes writes it in metadata and conditions."""
    return (moment or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%SZ")


def microtime(moment: datetime | None = None) -> str:
    """Return a time (now by default) as Kubernetes writes it in `eventTime`."""
    return (moment or datetime.now(UTC)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Writer:
    """The write side of the API, used by requests, controllers and tests."""

    def __init__(
        self, store: Store, *, seed: int = 1, now: Callable[[], datetime] | None = None
    ) -> None:
        """`now` returns the time to write; by default the real time."""
        self.store = store
        self.now = now or (lambda: datetime.now(UTC))
        self.admission: Admission = lambda _resource, _old, new: new
        self._random = Random(seed)  # noqa: S311  # Names and uids must be repeatable, not secret.

    def new_uid(self) -> str:
        """Return a new uid. The same seed gives the same uids."""
        with self.store.lock:
            return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def suffix(self, length: int = 5) -> str:
        """Return a random name suffix, as in generated names."""
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
        """Add an object. Server metadata that it already has (uid, time) is kept."""
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
            self._track_fields(resource, None, obj, manager, "")
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
        """Replace an object with the result of `change`. An equal object is not written.

        `change` may modify its argument and return it. `subresource` limits it as the API does: `status` to
        the status, an empty one to the rest, None not at all. Raises a 404 `Refusal`.
        """
        with self.store.lock:
            old = self.store.find(resource, key)
            if old is None:
                raise refusals.not_found(resource, key[1])
            new = change(copy.deepcopy(old))
            self._check(resource, old, new)
            if subresource == "":
                template_rules.check(resource, old, new)
            if subresource is not None:
                new = _confine_to_subresource(resource, old, new, subresource)
            if not subresource:  # The policy names `jobs`, which does not include `jobs/status`.
                new = self.admission(resource, old, new)
            if _comparable(new) == _comparable(old):
                return old
            meta = new["metadata"]
            if "generation" in meta and _specification(new) != _specification(old):
                meta["generation"] = old["metadata"].get("generation", 0) + 1
            self._track_fields(resource, old, new, manager, subresource or "")
            is_removable = meta.get("deletionTimestamp") and not meta.get("finalizers")
            # A pod waits for its kubelet, and other objects for their finalizers.
            if is_removable and resource.plural != "pods" and not dry_run:
                self.store.commit(resource, key, None)
                return new
            return self._commit(resource, key, new, dry_run)

    def remove(self, resource: Resource, key: Key) -> None:
        """Remove an object at once, regardless of finalizers and grace period."""
        with self.store.lock:
            if key in self.store.table(resource).objects:
                self.store.commit(resource, key, None)

    def mark_deleted(self, resource: Resource, key: Key, *, grace: int = 0) -> Json:
        """Set the deletion time of an object that a kubelet or finalizer still has to release."""

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
        meta, new_meta = old["metadata"], new["metadata"]
        name = meta["name"]
        if new_meta.get("uid", meta["uid"]) != meta["uid"]:
            raise refusals.other_uid(resource, name, new_meta["uid"])
        version = new_meta.get("resourceVersion", meta["resourceVersion"])
        if version != meta["resourceVersion"]:
            raise refusals.modified(resource, name)

    def _track_fields(
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


def _confine_to_subresource(resource: Resource, old: Json, new: Json, subresource: str) -> Json:
    """Undo changes outside the subresource: of the status, or of everything else."""
    if subresource == "status":
        result = copy.deepcopy(old)
        result["status"] = new.get("status", {})
        return result
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


def _comparable(obj: Json) -> Json:
    meta = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in ("managedFields", "resourceVersion", "generation")
    }
    return {**obj, "metadata": meta}


def _specification(obj: Json) -> dict[str, Any]:
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")}
