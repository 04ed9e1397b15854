"""MiniClusters of the Flux operator, which is simulated because it is not published as a Go module.

The CustomResourceDefinition is written here, strictly, from its public types
(api/v1alpha2/minicluster_types.go), as far as it is used. The operator's writes follow its sources of
2026-06-25. Each function names its file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.controlplane.client import Client, Json
from tests.controlplane.conditions import is_true
from tests.controlplane.grove import CRD, reference

FLUX = "flux-framework.org/v1alpha2"
_NUMBER = {"type": "integer", "format": "int32"}
_TEXT = {"type": "string"}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}
_AMOUNTS = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [{"type": "integer"}, _TEXT],
        "x-kubernetes-int-or-string": True,
    },
}


def _object(required: tuple[str, ...] = (), /, **properties: Any) -> Json:
    return {"type": "object", "properties": properties, "required": list(required)}


_CONTAINER = _object(
    image=_TEXT,
    name=_TEXT,
    command=_TEXT,
    runFlux={"type": "boolean", "default": False},
    resources=_object(requests=_AMOUNTS, limits=_AMOUNTS),
)
_CONTAINERS = {"type": "array", "items": _CONTAINER, "x-kubernetes-list-type": "atomic"}
_CONDITION = _object(
    ("lastTransitionTime", "message", "reason", "status", "type"),
    lastTransitionTime={"type": "string", "format": "date-time"},
    message={"type": "string", "maxLength": 32768},
    reason={"type": "string", "minLength": 1},
    status={"type": "string", "enum": ["True", "False", "Unknown"]},
    type=_TEXT,
)
_MINICLUSTER = _object(
    apiVersion=_TEXT,
    kind=_TEXT,
    metadata={"type": "object"},
    spec=_object(
        ("containers",),
        containers=_CONTAINERS,
        services=_CONTAINERS,
        size={**_NUMBER, "default": 1},
        minSize=_NUMBER,
        maxSize=_NUMBER,
        backoffLimit=_NUMBER,
        tasks={**_NUMBER, "default": 1},
        deadlineSeconds={"type": "integer", "format": "int64", "default": 31_500_000},
        cleanup={"type": "boolean", "default": False},
        pod=_object(annotations=_TEXTS, labels=_TEXTS, nodeSelector=_TEXTS, resources=_AMOUNTS),
    ),
    status=_object(
        ("jobid", "maximumSize", "selector", "size"),
        jobid=_TEXT,
        maximumSize=_NUMBER,
        selector=_TEXT,
        size=_NUMBER,
        conditions={"type": "array", "items": _CONDITION, "x-kubernetes-list-type": "atomic"},
    ),
)
_DEFINITION: Json = {
    "apiVersion": CRD[0],
    "kind": CRD[1],
    "metadata": {"name": "miniclusters.flux-framework.org"},
    "spec": {
        "group": "flux-framework.org",
        "names": {
            "kind": "MiniCluster",
            "listKind": "MiniClusterList",
            "plural": "miniclusters",
            "singular": "minicluster",
        },
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1alpha2",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": _MINICLUSTER},
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.size",
                        "statusReplicasPath": ".status.size",
                        "labelSelectorPath": ".status.selector",
                    },
                },
            }
        ],
    },
}


def serve(client: Client) -> None:
    """Make an API server serve MiniClusters."""
    client.create(_DEFINITION)
    name = _DEFINITION["metadata"]["name"]
    client.wait_for(*CRD, name, until=lambda item: is_true(item, "Established"))


def serve_no_more(client: Client) -> None:
    """Take them away, with all objects of theirs."""
    client.delete(*CRD, _DEFINITION["metadata"]["name"])


def minicluster(
    name: str,
    namespace: str,
    size: int,
    *,
    cpu: str = "1",
    on: Mapping[str, str],
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Json:
    """Return a MiniCluster; `annotations` are for the fake kubelet."""
    container = {"image": "x", "runFlux": True, "resources": {"requests": {"cpu": cpu}}}
    pod = {"nodeSelector": dict(on), "annotations": dict(annotations or {})}
    meta = {"name": name, "namespace": namespace}
    value = {"size": size, "containers": [container], "pod": pod, **spec}
    return {"apiVersion": FLUX, "kind": "MiniCluster", "metadata": meta, "spec": value}


def play(client: Client, requested: Json) -> Json:
    """Create a MiniCluster and do the work of its operator (ensureMiniCluster in minicluster.go). Return it."""
    created = client.create(requested)
    client.create(job_of(created))
    name, namespace = created["metadata"]["name"], created["metadata"]["namespace"]
    status = {
        "jobid": "",
        "maximumSize": created["spec"]["size"],
        "size": created["spec"]["size"],
        "selector": f"hpa-selector={name}",
        # conditions.go: the reason and the message of each are its type.
        "conditions": [
            _condition(type_, created) for type_ in ("JobRequested", "JobMiniClusterReady")
        ],
    }
    client.patch_status(FLUX, "MiniCluster", name, status, namespace)
    return created


def _condition(type_: str, created: Json) -> Json:
    since = created["metadata"]["creationTimestamp"]
    message = {"type": type_, "reason": type_, "message": type_, "status": "True"}
    return {**message, "lastTransitionTime": since}


def job_of(created: Json) -> Json:
    """Return the Job that is made of a MiniCluster (NewMiniClusterJob in job.go)."""
    spec, nodes = created["spec"], created["metadata"]
    name = nodes["name"]
    labels = {
        "namespace": nodes["namespace"],
        "app": "flux-operator",
        "app.kubernetes.io/name": name,
        "hpa-selector": name,
    }
    containers = [
        {"name": f"{name}-{index}", "image": item["image"], "resources": item.get("resources", {})}
        for index, item in enumerate(spec["containers"])
    ]
    view = {"name": "flux-view", "image": "x"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": nodes["namespace"],
            "ownerReferences": [reference(created)],
        },
        "spec": {
            "backoffLimit": spec.get("backoffLimit", 100),
            "completions": spec["size"],
            "parallelism": spec["size"],
            "completionMode": "Indexed",
            "activeDeadlineSeconds": spec["deadlineSeconds"],
            "template": {
                "metadata": {"labels": labels, "annotations": spec["pod"].get("annotations", {})},
                "spec": {
                    "restartPolicy": "OnFailure",
                    "nodeSelector": spec["pod"].get("nodeSelector", {}),
                    "affinity": _affinity(name),
                    "initContainers": [view],
                    "containers": containers,
                },
            },
        },
    }


def _affinity(name: str) -> Json:
    """Return the preferences of its pods: one zone, and a node each (getAffinity in job.go)."""
    matching = {"key": "app.kubernetes.io/name", "operator": "In", "values": [name]}
    selector = {"matchExpressions": [matching]}

    def affinity_term(key: str) -> Json:
        term = {"labelSelector": selector, "topologyKey": key}
        return {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 100, "podAffinityTerm": term}
            ]
        }

    return {
        "podAffinity": affinity_term("topology.kubernetes.io/zone"),
        "podAntiAffinity": affinity_term("kubernetes.io/hostname"),
    }
