"""LeaderWorkerSets and DisaggregatedSets to create on a control plane."""

from __future__ import annotations

from typing import Any

from tests.controlplane.client import Json

LWS = "leaderworkerset.x-k8s.io/v1"
DISAGGREGATED = "disaggregatedset.x-k8s.io/v1"


def template(
    cpu: str = "1", *, image: str = "x", annotations: dict[str, str] | None = None
) -> Json:
    """Return a pod template of one container; `annotations` are for the fake kubelet."""
    container = {"name": "c", "image": image, "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"annotations": annotations or {}}, "spec": {"containers": [container]}}


def leaderworkerset(
    name: str,
    namespace: str,
    *,
    replicas: int = 2,
    size: int = 3,
    worker: Json | None = None,
    leader: Json | None = None,
    restart_policy: str = "RecreateGroupOnPodRestart",
    **spec: Any,
) -> Json:
    """Return a LeaderWorkerSet; without `leader` its leaders are as its workers."""
    created: Json = {
        "size": size,
        "workerTemplate": worker or template(),
        "restartPolicy": restart_policy,
    }
    if leader is not None:
        created["leaderTemplate"] = leader
    return {
        "apiVersion": LWS,
        "kind": "LeaderWorkerSet",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": replicas, "leaderWorkerTemplate": created, **spec},
    }


def disaggregatedset(name: str, namespace: str, roles: dict[str, Json]) -> Json:
    """Return a DisaggregatedSet: role → the spec of its LeaderWorkerSet."""
    return {
        "apiVersion": DISAGGREGATED,
        "kind": "DisaggregatedSet",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"roles": [{"name": role, "spec": spec} for role, spec in roles.items()]},
    }
