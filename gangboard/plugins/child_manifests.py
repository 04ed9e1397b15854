"""Functions for `OwnerKind.creates`: they read an untrusted manifest and build the objects a controller would create.

A value of the wrong type counts as missing. The API server refuses such an object, and the decoder reports it. A number can
ask for millions of objects, so the functions yield them one after the other, and the caller stops in time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import msgspec

from gangboard.decode.podspec import WirePodSpec, pod_requests
from gangboard.decode.wire import api_group
from gangboard.domain.forecast import CreationContext, Manifest
from gangboard.domain.pod import STOCK_SCHEDULER

_EMPTY: Manifest = {}
_FAILURE_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def section(parent: object, *path: str) -> Manifest:
    """Return the map under a path of keys, or an empty map."""
    value = _value(parent, path)
    return value if isinstance(value, Mapping) else _EMPTY


def has_section(parent: object, *path: str) -> bool:
    """Return whether a map is under a path of keys, even an empty one."""
    return isinstance(_value(parent, path), Mapping)


def items(parent: object, *path: str) -> list[Manifest]:
    """Return the maps in the list under a path of keys."""
    value = _value(parent, path)
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def text(parent: object, *path: str) -> str:
    """Return the text under a path of keys, or an empty text."""
    value = _value(parent, path)
    return value if isinstance(value, str) else ""


def texts(parent: object, *path: str) -> list[str]:
    """Return the texts in the list under a path of keys."""
    value = _value(parent, path)
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def number(parent: object, *path: str) -> int | None:
    """Return the whole number under a path of keys, or None."""
    value = _value(parent, path)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def size(parent: object, *path: str, default: int = 1) -> int:
    """Return a number of objects, which is never negative."""
    value = number(parent, *path)
    return default if value is None else max(0, value)


def is_true(parent: object, *path: str) -> bool:
    """Return whether the value under a path of keys is true."""
    return _value(parent, path) is True


def string_map(parent: object, *path: str) -> dict[str, str]:
    """Return the texts of the map under a path of keys, such as labels."""
    return {
        key: value
        for key, value in section(parent, *path).items()
        if isinstance(key, str) and isinstance(value, str)
    }


def name_of(manifest: Manifest) -> str:
    """Return `metadata.name`."""
    return text(manifest, "metadata", "name")


def namespace_of(manifest: Manifest) -> str:
    """Return `metadata.namespace`."""
    return text(manifest, "metadata", "namespace")


def controller_of(manifest: Manifest) -> tuple[str, str, str]:
    """Return (API group, kind, name) of the controlling owner reference. Empty texts without one."""
    for reference in items(manifest, "metadata", "ownerReferences"):
        if is_true(reference, "controller"):
            group = api_group(text(reference, "apiVersion"))
            return group, text(reference, "kind"), text(reference, "name")
    return "", "", ""


def child(
    api_version: str,
    kind: str,
    name: str,
    spec: Manifest,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return an object that a controller creates."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, **_marks(labels, annotations)},
        "spec": spec,
    }


def pod_from(
    template: Manifest,
    name: str = "",
    *,
    generate_name: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    spec: Manifest | None = None,
) -> dict[str, Any]:
    """Return a pod of a template, as the API server stores it.

    The labels, annotations and spec fields are added to those of the template. The pod has either a name or a
    `generateName`.
    """
    metadata = {"name": name} if name else {"generateName": generate_name}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **metadata,
            **_marks(
                {**string_map(template, "metadata", "labels"), **(labels or {})},
                {**string_map(template, "metadata", "annotations"), **(annotations or {})},
            ),
        },
        "spec": pod_spec_with_defaults({**section(template, "spec"), **(spec or {})}),
    }


def pod_spec_with_defaults(spec: Manifest) -> dict[str, Any]:
    """Return the spec of a pod with the API server's defaults that matter to the scheduler.

    - The default scheduler.
    - Tolerations for the taints of a node that fails, by the admission plugin DefaultTolerationSeconds.
    - The host ports of a pod in the network of its node (SetDefaults_PodSpec).
    """
    tolerations = items(spec, "tolerations")
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in _FAILURE_TAINTS
        if not any(_tolerates(toleration, key) for toleration in tolerations)
    ]
    stored = {"schedulerName": STOCK_SCHEDULER, **spec, "tolerations": [*tolerations, *added]}
    if is_true(spec, "hostNetwork"):
        stored["containers"] = [_on_host(container) for container in items(spec, "containers")]
    return stored


def _tolerates(toleration: Manifest, key: str) -> bool:
    """Return whether a toleration is for a NoExecute taint with this key, so that the plugin adds none."""
    return text(toleration, "key") in ("", key) and text(toleration, "effect") in ("", "NoExecute")


def _on_host(container: Manifest) -> dict[str, Any]:
    ports = [
        {**port, "hostPort": number(port, "hostPort") or number(port, "containerPort") or 0}
        for port in items(container, "ports")
    ]
    return {**container, "ports": ports}


def template_with(
    template: Manifest,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    spec: Manifest | None = None,
) -> dict[str, Any]:
    """Return a pod template with further labels, annotations and spec fields."""
    return {
        **template,
        "metadata": {
            **section(template, "metadata"),
            **_marks(
                {**string_map(template, "metadata", "labels"), **(labels or {})},
                {**string_map(template, "metadata", "annotations"), **(annotations or {})},
            ),
        },
        "spec": {**section(template, "spec"), **(spec or {})},
    }


def template_requests(template: Manifest) -> Iterator[tuple[str, Decimal]]:
    """Yield (resource, amount) for the requests of a pod of a template, in base units. Malformed ones are left out."""
    try:
        spec = msgspec.convert(section(template, "spec"), WirePodSpec)
    except msgspec.ValidationError:
        return
    yield from pod_requests(spec)[0].items()


# Groups of Kubernetes

_PODGROUPS = "podgroups.scheduling.k8s.io"
_TEMPLATE_ONLY = "v1alpha1"
"""The version of 1.35, in which a group is an entry of a Workload."""


def group_version(context: CreationContext) -> str:
    """Return the served version of core PodGroups, or an empty text."""
    version = context.api_versions.get(_PODGROUPS, "")
    return "" if version == _TEMPLATE_ONLY else version


def core_groups(
    manifest: Manifest,
    context: CreationContext,
    templates: Mapping[str, Manifest],
    groups: Iterable[tuple[str, str]],
) -> Iterator[dict[str, Any]]:
    """Yield the Workload that an owner's controller creates and its PodGroups.

    `templates` are the group specs by template name, and `groups` the names of each PodGroup and of its template. The
    real names end with hashes of the owner's uid (job_scheduling_manager.go).
    """
    version = group_version(context)
    name, api_version = name_of(manifest), f"scheduling.k8s.io/{version}"
    owner = {
        "apiGroup": api_group(text(manifest, "apiVersion")),
        "kind": text(manifest, "kind"),
        "name": name,
    }
    entries = [{"name": template, **spec} for template, spec in templates.items()]
    spec = {"controllerRef": owner, "podGroupTemplates": entries}
    yield child(api_version, "Workload", name, spec)
    for group, template in groups:
        if version == "v1alpha2":
            workload = {"workloadName": name, "podGroupTemplateName": template}
            reference: Manifest = {"podGroupTemplateRef": {"workload": workload}}
        else:
            reference = {"workloadRef": {"workloadName": name, "templateName": template}}
        yield child(api_version, "PodGroup", group, {**reference, **templates[template]})


def group_member(group: str) -> Manifest:
    """Return the spec field with which a pod names its core PodGroup (1.36 and later). Empty without a group."""
    return {"schedulingGroup": {"podGroupName": group}} if group else {}


def _value(parent: object, path: tuple[str, ...]) -> object:
    value = parent
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def _marks(
    labels: Mapping[str, str] | None, annotations: Mapping[str, str] | None
) -> dict[str, Mapping[str, str]]:
    marks = {"labels": labels, "annotations": annotations}
    return {name: values for name, values in marks.items() if values}
