"""Expands manifests with `OwnerKind.creates`, and compares the result with the objects of real controllers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gangboard.domain.forecast import CreationContext
from gangboard.domain.owner import Blueprint, Owner
from gangboard.domain.pod import Pod
from gangboard.plugins import registry
from tests.decode.reading import Json, model

NOT_COMPARED = ("controller-uid", "jobset-uid", "restart-attempt")
"""Ends of the labels that depend on a uid, or that only a running controller changes."""


@dataclass
class Expansion:
    """The objects of an expanded manifest, as JSON by kind, parents first."""

    objects: list[Json] = field(default_factory=list)

    def of(self, kind: str) -> list[Json]:
        """Return the objects of a kind."""
        return [obj for obj in self.objects if obj["kind"] == kind]

    @property
    def pods(self) -> list[Pod]:
        """The pods, decoded as those of a cluster."""
        return [read_pod(obj) for obj in self.of("Pod")]

    def owner(self, kind: str, name: str) -> Owner:
        """Return a decoded owner."""
        (obj,) = (obj for obj in self.of(kind) if obj["metadata"]["name"] == name)
        return read_owner(obj)


def context(
    *served: str, minor: int = 37, blueprints: Sequence[Blueprint] = (), **fields: Any
) -> CreationContext:
    """Return a context whose cluster serves these resources, each as `key/version`."""
    versions = dict(key.split("/") for key in served)
    return CreationContext((1, minor), versions, tuple(blueprints), **fields)


def expand(manifest: Json, given: CreationContext | None = None) -> Expansion:
    """Return the manifest and all objects that controllers create from it, with uids, names and owner references."""
    result = Expansion()
    _expand(_identified(manifest, 0), given or context(), result)
    return result


def _expand(manifest: Json, given: CreationContext, result: Expansion) -> None:
    result.objects.append(manifest)
    group = manifest["apiVersion"].rpartition("/")[0]
    kind = registry.owner_kind(group, manifest["kind"])
    for made in kind.creates(manifest, given) if kind is not None else ():
        obj = _identified(dict(made), len(result.objects))
        metadata = obj["metadata"]
        metadata.setdefault("namespace", manifest["metadata"].get("namespace", ""))
        metadata["ownerReferences"] = [
            {
                "apiVersion": manifest["apiVersion"],
                "kind": manifest["kind"],
                "name": manifest["metadata"]["name"],
                "uid": manifest["metadata"]["uid"],
                "controller": True,
            }
        ]
        _expand(obj, given, result)


def _identified(manifest: Json, index: int) -> Json:
    metadata = dict(manifest["metadata"])
    name = metadata.get("name") or f"{metadata['generateName']}{index:05d}"
    return {**manifest, "metadata": {**metadata, "name": name, "uid": f"uid-{index}"}}


def read_pod(obj: Json) -> Pod:
    """Return a decoded pod."""
    pod: Pod = model(registry.pods(), obj)
    return pod


def read_owner(obj: Json) -> Owner:
    """Return a decoded owner of any kind."""
    group, _, version = obj["apiVersion"].rpartition("/")
    kind = registry.owner_kind(group, obj["kind"])
    assert kind is not None
    owner: Owner = model(kind.resource, obj, version)
    return owner


def posted(obj: Json) -> Json:
    """Return an object of a cluster as its user wrote it: without a status, and without what the server adds."""
    kept = ("name", "namespace", "labels", "annotations")
    manifest: Json = {
        key: deepcopy(obj[key]) for key in ("apiVersion", "kind", "spec") if key in obj
    }
    metadata = {key: obj["metadata"][key] for key in kept if key in obj["metadata"]}
    template = manifest.get("spec", {}).get("template", {})
    for where in (metadata, template.get("metadata", {})):
        labels = where.get("labels", {})
        where["labels"] = {
            key: value
            for key, value in labels.items()
            if key.removeprefix("batch.kubernetes.io/") not in ("controller-uid", "job-name")
        }
    return {**manifest, "metadata": metadata}


def objects_in(file: Path, path: str) -> list[Json]:
    """Return the objects of a captured state under a path such as `/api/v1/pods`."""
    content: dict[str, list[Json]] = json.loads(file.read_text())
    return content.get(path, [])


def owner_traits(pods: Iterable[Pod]) -> Counter[str]:
    """Return what the placement of pods and their membership depend on, each with the number of such pods.

    The name of a group is left out, because it depends on a uid.
    """
    return Counter(
        json.dumps(
            {
                "controller": [pod.meta.controller.kind, pod.meta.controller.name]
                if pod.meta.controller is not None
                else None,
                "labels": compared(pod.labels),
                "requests": {key: str(value) for key, value in sorted(pod.requests.items())},
                "needs": repr(pod.needs),
                "grouped": bool(pod.group_name),
                "group kind": pod.group_kind,
                "scheduler": pod.scheduler_name,
                "class": pod.priority_class,
                "gates": pod.gates,
            },
            sort_keys=True,
        )
        for pod in pods
    )


def compared(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels that do not depend on a uid or on a restart."""
    return {key: value for key, value in labels.items() if not key.endswith(NOT_COMPARED)}
