"""The shape of a manifest: only the fields that decoders and `OwnerKind.creates` read.

gangboard stores only the shape of a manifest. Commands, arguments, environments, images and the data of Secrets are in no
wire struct, so they are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from gangboard.decode.manifests import Document
from gangboard.decode.wire import Wire
from gangboard.plugins import registry

_READ_BY_CONTROLLERS = frozenset(
    {
        "additionalPodAffinity",
        "autoscalerOptions",
        "backoffLimitPerIndex",
        "basic",
        "containerPort",
        "elastic",
        "enableDNSHostnames",
        "gang",
        "generateName",
        "hostname",
        "jobTemplate",
        "mode",
        "network",
        "ordinals",
        "resourcesPerNode",
        "runLauncherAsWorker",
        "runtimePatches",
        "selector",
        "setHostnameAsFQDN",
        "start",
        "startupPolicyOrder",
        "subdomain",
        "subdomainPolicy",
        "submitterPodTemplate",
        "tolerationSeconds",
        "trainingRuntimeSpec",
        "volumeClaimTemplates",
    }
)
"""Fields that decide which objects a controller creates, and that no decoder reads."""
_LEFT_OUT = "status"
_NOT_READ = frozenset({"managedFields"})
"""Fields that manifests have by accident, if a person has copied an object of a cluster."""
_CLOSED = frozenset({"spec"})
"""Fields that only the struct of another kind has as a map."""
_IDENTITY = ("name", "generateName", "namespace")


def shape_of(document: Document) -> Document:
    """Return a document with the fields that a check reads. An object of an unknown kind has only its name."""
    manifest = document.manifest
    shape: dict[str, Any] = {"apiVersion": document.api_version, "kind": document.kind}
    metadata = {
        name: value for name in _IDENTITY if isinstance(value := document.metadata.get(name), str)
    }
    if (document.group, document.kind) not in _known_kinds():
        return Document(document.number, {**shape, "metadata": metadata})
    for name, value in manifest.items():
        if name in _names() and name != _LEFT_OUT:
            shape[name] = _reduced(name, value)
    return Document(document.number, shape)


@cache
def _known_kinds() -> frozenset[tuple[str, str]]:
    resources = (registry.pods(), *registry.resources())
    claims = {("", "PersistentVolumeClaim"), ("resource.k8s.io", "ResourceClaim")}
    return frozenset({(resource.group, resource.kind) for resource in resources} | claims)


@cache
def _names() -> frozenset[str]:
    """Return the names of all fields of all wire structs."""
    registry.resources()  # loads the structs of all kinds
    fields = {name for struct in _structs(Wire) for name in struct.__struct_encode_fields__}
    return frozenset(fields | _READ_BY_CONTROLLERS) - _NOT_READ


@cache
def _marks() -> frozenset[str]:
    """Return the API groups and annotation keys whose annotations plugins read."""
    marks = {mark.key for mark in registry.group_marks()}
    marks |= {key for api in registry.grouping_apis() for key in api.placeholders}
    marks |= {mark.key for api in registry.grouping_apis() for mark in api.queue_marks}
    return frozenset(marks | {name for name in _names() if "/" in name})


@cache
def _domains() -> frozenset[str]:
    """Return the domains of annotations that plugins may read: API groups, and domains of known keys."""
    groups = {group for group, _ in _known_kinds() if "." in group}
    return frozenset(groups | {mark.partition("/")[0] for mark in _marks() if "/" in mark})


@cache
def _open_maps() -> frozenset[str]:
    """Return the names of fields whose keys are free, such as labels, requests and replica specs."""
    registry.resources()
    free = frozenset(
        served
        for struct in _structs(Wire)
        for name, served in zip(
            struct.__struct_fields__, struct.__struct_encode_fields__, strict=True
        )
        if _has_map(get_type_hints(struct)[name])
    )
    return (free | {"labels", "matchLabels"}) - _CLOSED


def _has_map(hint: Any) -> bool:
    """Return whether a type hint is or contains a map."""
    return get_origin(hint) is dict or any(map(_has_map, get_args(hint)))


def _structs(base: type[Wire]) -> Iterator[type[Wire]]:
    for struct in base.__subclasses__():
        yield struct
        yield from _structs(struct)


def _reduced(name: str, value: object) -> object:
    if name == "annotations":
        return _annotations(value)
    if isinstance(value, Mapping):
        is_open = name in _open_maps()
        return {
            key: _reduced(key, item) for key, item in value.items() if is_open or key in _names()
        }
    if isinstance(value, list):
        return [_reduced(name, item) for item in value]
    return value


def _annotations(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {}
    return {
        key: text
        for key, text in value.items()
        if isinstance(text, str) and (key in _marks() or _has_known_domain(key))
    }


def _has_known_domain(key: str) -> bool:
    """Return whether the key belongs to a known domain, or to a part of one such as `alpha.`."""
    domain, slash, _ = key.partition("/")
    return bool(slash) and any(
        domain == known or domain.endswith(f".{known}") for known in _domains()
    )
