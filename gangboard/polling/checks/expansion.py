"""The objects of a manifest: as the API server would store them, with those that their controllers create."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import msgspec

from gangboard.decode.list_watch_decoder import build_model, read_object
from gangboard.decode.manifests import DEFAULT_NAMESPACE
from gangboard.domain.api_resource import DecodeError, Resource
from gangboard.domain.forecast import CreationContext, CreationUnknownError, Manifest
from gangboard.domain.objects import is_job
from gangboard.domain.owner import Owner
from gangboard.domain.pod import Pod
from gangboard.plugins import registry
from gangboard.polling.cluster_cache import resources

MAX_OBJECTS = 5_000
"""Most objects that one manifest may make. Beyond that the check says that it cannot tell."""
MAX_LEVELS = 8
"""Deepest chain of owners. The longest known one has 4: an owner, its middle owner, a Job, a pod."""
AGE = timedelta(minutes=5)
"""Age of the objects of a check. Every grace period of a rule is over, so the verdict is that of a gang that settled."""
UID_PREFIX = "check-"
"""Begin of the uids of objects that do not exist."""
_GROUP_FIELDS = ("scheduling", "schedulingGroup", "workloadRef")
"""Fields of the specs of pods and Jobs."""
_READ_METADATA = ("name", "generateName", "namespace", "labels", "annotations")


class ExpansionError(ValueError):
    """Error in an object of a manifest, or in the number of objects. It is a sentence."""


@dataclass(slots=True)
class NewObject:
    """An object that does not exist, with those that its controller would create."""

    resource: Resource
    manifest: dict[str, Any]
    """As the API server would serve it."""
    model: Any
    children: list[NewObject] = field(default_factory=list)

    @property
    def uid(self) -> str:
        """Its uid, which no real object has."""
        return str(self.manifest["metadata"]["uid"])

    def walk(self) -> Iterator[NewObject]:
        """Yield the object and everything below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()


class Expander:
    """Makes the objects of one check."""

    def __init__(self, context: CreationContext, now: datetime, *, has_groups: bool = True) -> None:
        """`has_groups`: the cluster serves core groups."""
        self._has_groups = has_groups
        self.context = context
        self._created_at = (now - AGE).isoformat()
        self._numbers = count(1)
        self._resources = {(resource.group, resource.kind): resource for resource in resources()}
        self._left = MAX_OBJECTS

    def resource_of(self, group: str, kind: str) -> Resource | None:
        """Return the resource of a kind that gangboard reads, else None."""
        return self._resources.get((group, kind))

    def expand(self, manifest: Manifest, *, dependencies_met: bool = False) -> NewObject:
        """Return an object of a known kind with everything that its controllers create at once.

        `dependencies_met`: also what waits for other parts of it. Raises ExpansionError.
        """
        context = replace(self.context, dependencies_met=dependencies_met)
        return self._made(manifest, None, context)

    def _made(
        self, manifest: Manifest, parent: NewObject | None, context: CreationContext, level: int = 0
    ) -> NewObject:
        if self._left <= 0:
            raise ExpansionError(
                f"It makes more than {MAX_OBJECTS} objects, which is more than a check computes."
            )
        self._left -= 1
        group, version = _group_version(manifest)
        resource = self._resources.get((group, str(manifest.get("kind"))))
        if resource is None:
            raise ExpansionError(f"gangboard does not read the kind {manifest.get('kind')}.")
        served = self._as_served(manifest, parent)
        model = _decoded(resource, served, version)
        made = NewObject(resource, served, model)
        if isinstance(model, Owner) and model.desired > MAX_OBJECTS:
            raise ExpansionError(
                f"It asks for {model.desired} pods, and a check computes at most {MAX_OBJECTS}."
            )
        kind = registry.owner_kind(group, resource.kind)
        if kind is not None and level < MAX_LEVELS:
            try:
                for child in kind.creates(served, context):
                    made.children.append(self._made(child, made, context, level + 1))
            except CreationUnknownError as error:
                raise ExpansionError(str(error)) from error
        return made

    def _as_served(self, manifest: Manifest, parent: NewObject | None) -> dict[str, Any]:
        """Return the object with the metadata and status that the API server and the scheduler give it."""
        served: dict[str, Any] = _copy({k: v for k, v in manifest.items() if k != "status"})
        given = served.get("metadata")
        metadata = {
            name: value
            for name, value in (given if isinstance(given, dict) else {}).items()
            if name in _READ_METADATA and value is not None
        }
        number = next(self._numbers)
        parent_meta = parent.manifest["metadata"] if parent is not None else {}
        namespace = metadata.get("namespace") or parent_meta.get("namespace") or DEFAULT_NAMESPACE
        metadata |= {
            "name": metadata.get("name") or f"{metadata.get('generateName', 'check-')}{number:05}",
            "namespace": namespace,
            "uid": f"{UID_PREFIX}{number}",
            "creationTimestamp": self._created_at,
            "resourceVersion": "1",
            "generation": 1,
        }
        if parent is not None:
            metadata["ownerReferences"] = [_owner_reference(parent)]
        served["metadata"] = metadata
        if not self._has_groups:
            _drop_group_fields(served)
        if _group_version(served)[0] == "" and served.get("kind") == "Pod":
            spec = served.get("spec")
            gates = spec.get("schedulingGates") if isinstance(spec, dict) else None
            served["status"] = _pending(gated=bool(gates), since=self._created_at)
        return served

    def decode_again(self, made: NewObject) -> None:
        """Decode an object after its manifest was changed. Raises ExpansionError."""
        made.model = _decoded(made.resource, made.manifest, _group_version(made.manifest)[1])


def pods_below(made: NewObject) -> Iterator[NewObject]:
    """Yield the pods of an object, itself included."""
    return (item for item in made.walk() if isinstance(item.model, Pod))


def _pending(*, gated: bool, since: str) -> dict[str, Any]:
    """Return the status of a pod that the scheduler has tried in vain, or that has a scheduling gate."""
    reason = "SchedulingGated" if gated else "Unschedulable"
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": reason,
        "lastTransitionTime": since,
    }
    return {"phase": "Pending", "conditions": [condition]}


def _drop_group_fields(served: dict[str, Any]) -> None:
    """Remove the fields about core groups from a pod or Job.

    An API server drops them while the feature is off, and stores the rest.
    """
    group, spec = _group_version(served)[0], served.get("spec")
    if not isinstance(spec, dict) or not (
        is_job(group, str(served.get("kind"))) or (not group and served.get("kind") == "Pod")
    ):
        return
    template = spec.get("template")
    pod_spec = template.get("spec") if isinstance(template, dict) else None
    for part in (spec, pod_spec):
        if isinstance(part, dict):
            for name in _GROUP_FIELDS:
                part.pop(name, None)


def _owner_reference(parent: NewObject) -> dict[str, Any]:
    metadata = parent.manifest["metadata"]
    return {
        "apiVersion": parent.manifest["apiVersion"],
        "kind": parent.manifest["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }


def _group_version(manifest: Manifest) -> tuple[str, str]:
    group, _, version = str(manifest.get("apiVersion", "")).rpartition("/")
    return group, version


def _copy(value: Mapping[str, Any]) -> dict[str, Any]:
    copied: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(value))
    return copied


def _decoded(resource: Resource, manifest: Mapping[str, Any], version: str) -> Any:
    """Return the domain value of an object. Raises ExpansionError with the decoder's sentence."""
    known = version if resource.is_known(version) else resource.versions[0]
    try:
        wire = read_object(msgspec.json.encode(manifest), resource)
    except DecodeError as error:
        raise ExpansionError(str(error)) from error
    model, problem = build_model(resource, wire, known)
    if problem is not None:
        raise ExpansionError(problem.sentence)
    if model is None:
        raise ExpansionError(f"gangboard reads no such {resource.kind}.")
    return model
