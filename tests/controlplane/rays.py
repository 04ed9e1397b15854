"""RayClusters, RayJobs and RayServices to create on a control plane, as people write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.controlplane.client import Json

RAY = "ray.io/v1"


def ray_pods(
    cpu: str = "1",
    *,
    on: Mapping[str, str],
    annotations: Mapping[str, str] | None = None,
    name: str = "ray",
    restart_policy: str = "",
) -> Json:
    """Return a pod template of one container; `annotations` are for the fake kubelet."""
    container = {"name": name, "image": "x", "resources": {"requests": {"cpu": cpu}}}
    spec: Json = {
        "containers": [container],
        "nodeSelector": dict(on),
        "terminationGracePeriodSeconds": 1,
    }
    if restart_policy:
        spec["restartPolicy"] = restart_policy
    return {"metadata": {"annotations": dict(annotations or {})}, "spec": spec}


def cluster_spec(
    head: Json, worker: Json, *, workers: int = 3, least: int | None = None, **spec: Any
) -> Json:
    """Return the spec of a RayCluster with one group of workers, `gpu`, of at least `least` replicas."""
    group = {
        "groupName": "gpu",
        "replicas": workers,
        "minReplicas": workers if least is None else least,
        "maxReplicas": max(workers, 1),
        "rayStartParams": {},
        "template": worker,
    }
    head_group = {"rayStartParams": {}, "template": head}
    return {"headGroupSpec": head_group, "workerGroupSpecs": [group], **spec}


def raycluster(name: str, namespace: str, spec: Json) -> Json:
    """Return a RayCluster."""
    return _object("RayCluster", name, namespace, spec)


def rayjob(
    name: str,
    namespace: str,
    of: Json,
    submitter: Json,
    *,
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> Json:
    """Return a RayJob that makes a RayCluster of the spec `of`, and whose Job has the pods `submitter`."""
    value = {
        "entrypoint": "python train.py",
        "shutdownAfterJobFinishes": True,
        "submitterConfig": {"backoffLimit": 0},
        "submitterPodTemplate": submitter,
        "rayClusterSpec": of,
        **spec,
    }
    created = _object("RayJob", name, namespace, value)
    created["metadata"]["labels"] = dict(labels or {})
    return created


def rayservice(name: str, namespace: str, of: Json) -> Json:
    """Return a RayService without applications."""
    return _object("RayService", name, namespace, {"rayClusterConfig": of, "serveConfigV2": ""})


def _object(kind: str, name: str, namespace: str, spec: Json) -> Json:
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": RAY, "kind": kind, "metadata": meta, "spec": spec}
