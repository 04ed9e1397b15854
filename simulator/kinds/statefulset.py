"""StatefulSets with a group, as their controller leaves them (Kubernetes 1.37.0).

A StatefulSet with absent pods creates them in order, each one when the previous one is ready.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator import apps_v1
from simulator.fleet_spec import Gang
from simulator.resources import STATEFULSETS

if TYPE_CHECKING:
    from simulator.builder import Builder

Json = dict[str, Any]

KIND = "StatefulSet"
RESOURCES = (STATEFULSETS,)


def make(builder: Builder, gang: Gang) -> list[Json]:
    """Create a StatefulSet, the group of its pods, and the pods."""
    (role,) = gang.roles
    policy = "OrderedReady" if "absent" in role.states else "Parallel"
    spec = {"podManagementPolicy": policy, "serviceName": gang.name}
    statefulset = apps_v1.make_owner(builder, gang, STATEFULSETS, spec)
    revision = f"{gang.name}-{builder.world.writer.suffix(10)}"
    names = [f"{gang.name}-{index}" for index in range(role.pods)]
    meta = [_meta(gang, name, index, revision) for index, name in enumerate(names)]
    hosts = [{"hostname": name, "subdomain": gang.name} for name in names]
    pods = apps_v1.make_pods(builder, gang, statefulset, meta, hosts)
    status = {
        **apps_v1.counts(pods),
        "collisionCount": 0,
        "currentReplicas": len(pods),
        "currentRevision": revision,
        "updateRevision": revision,
    }
    builder.world.set_status(STATEFULSETS, statefulset, status, apps_v1.MANAGER)
    return pods


def _meta(gang: Gang, name: str, index: int, revision: str) -> Json:
    labels = {
        **apps_v1.labels_of(gang),
        "apps.kubernetes.io/pod-index": str(index),
        "controller-revision-hash": revision,
        "statefulset.kubernetes.io/pod-name": name,
    }
    return {"generateName": f"{gang.name}-", "name": name, "labels": labels}
