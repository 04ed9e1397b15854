"""Deployments with a group, as their controller leaves them (Kubernetes 1.37.0), with a ReplicaSet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator import apps_v1, manifests
from simulator.fleet_spec import Gang
from simulator.resources import DEPLOYMENTS, REPLICASETS

if TYPE_CHECKING:
    from simulator.builder import Builder

Json = dict[str, Any]

KIND = "Deployment"
RESOURCES = (DEPLOYMENTS, REPLICASETS)
_REVISION = {"deployment.kubernetes.io/revision": "1"}


def make(builder: Builder, gang: Gang) -> list[Json]:
    """Create a Deployment, its ReplicaSet, the group of its pods, and the pods."""
    (role,) = gang.roles
    deployment = apps_v1.make_owner(
        builder, gang, DEPLOYMENTS, {"strategy": {"type": "RollingUpdate"}}
    )
    suffix = builder.world.writer.suffix
    hash_ = suffix(10)
    labels = {**apps_v1.labels_of(gang), "pod-template-hash": hash_}
    name = f"{gang.name}-{hash_}"
    replicaset = _replicaset(builder, gang, deployment, name, labels)
    meta = [
        {"generateName": f"{name}-", "name": f"{name}-{suffix()}", "labels": labels}
        for _ in range(role.pods)
    ]
    pods = apps_v1.make_pods(builder, gang, replicaset, meta, [{}] * role.pods)
    status = apps_v1.counts(pods)
    builder.world.set_status(DEPLOYMENTS, deployment, status, apps_v1.MANAGER)
    del status["updatedReplicas"]
    status["fullyLabeledReplicas"] = len(pods)
    builder.world.set_status(REPLICASETS, replicaset, status, apps_v1.MANAGER)
    return pods


def _replicaset(
    builder: Builder, gang: Gang, owner: Json, name: str, labels: dict[str, str]
) -> Json:
    meta = {
        "name": name,
        "namespace": gang.namespace,
        "annotations": dict(_REVISION),
        "labels": labels,
        "ownerReferences": [manifests.owner_reference(owner)],
    }
    spec = apps_v1.replicated(gang, labels)
    return builder.create(REPLICASETS, {"metadata": meta, "spec": spec}, builder.born(gang))
