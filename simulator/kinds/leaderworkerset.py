"""LeaderWorkerSets as 0.9.0 leaves them (seen on Kubernetes 1.37.0): StatefulSets of leaders and of their
workers.

A gang of this kind has one role without a name: `jobs` replicas of `pods` pods, the first of which is the
leader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator import manifests
from simulator.fleet_spec import Gang, Role
from simulator.manifests import owner_reference
from simulator.resources import LEADERWORKERSETS, STATEFULSETS

if TYPE_CHECKING:
    from simulator.builder import Builder

Json = dict[str, Any]

KIND = "LeaderWorkerSet"
RESOURCES = (LEADERWORKERSETS, STATEFULSETS)
_PREFIX = "leaderworkerset.sigs.k8s.io"


def make(builder: Builder, gang: Gang) -> list[Json]:
    """Create a LeaderWorkerSet, its StatefulSets and pods."""
    (role,) = gang.roles
    return make_set(builder, gang, role, gang.name, None)


def spec_of(role: Role) -> Json:
    """Return the spec of a LeaderWorkerSet with the defaults of its API server."""
    return {
        "leaderWorkerTemplate": {
            "restartPolicy": "RecreateGroupOnPodRestart",
            "size": role.pods,
            "workerTemplate": role.template.manifest(),
        },
        "networkConfig": {"subdomainPolicy": "Shared"},
        "replicas": role.jobs,
        "startupPolicy": "LeaderCreated",
    }


def make_set(builder: Builder, gang: Gang, role: Role, name: str, owner: Json | None) -> list[Json]:
    """Create one LeaderWorkerSet with all of its objects. Return the pods."""
    meta: Json = {"name": name, "namespace": gang.namespace}
    if owner is not None:
        meta["ownerReferences"] = [owner_reference(owner)]
    leaderworkerset = builder.create(
        LEADERWORKERSETS, {"metadata": meta, "spec": spec_of(role)}, builder.born(gang)
    )
    leaders = _statefulset(builder, gang, name, role.jobs, leaderworkerset)
    pods: list[Json] = []
    for replica in range(role.jobs):
        pods += _replica(builder, gang, role, leaders, name, replica)
    builder.world.set_status(LEADERWORKERSETS, leaderworkerset, {"replicas": role.jobs}, "lws")
    return pods


def _replica(
    builder: Builder, gang: Gang, role: Role, leaders: Json, name: str, replica: int
) -> list[Json]:
    """Create the pods of a replica: its leader, then the workers, whose StatefulSet the leader owns."""
    pods: list[Json] = []
    controller = leaders
    for index in range(role.pods):
        position = replica * role.pods + index
        state = role.state(position)
        if state == "absent":
            continue
        leader = f"{name}-{replica}"
        pod = manifests.bare_pod(
            leader if index == 0 else f"{leader}-{index}", gang.namespace, role.template
        )
        pod["metadata"]["labels"] = {
            f"{_PREFIX}/name": name,
            f"{_PREFIX}/group-index": str(replica),
            f"{_PREFIX}/worker-index": str(index),
        }
        pod["metadata"]["ownerReferences"] = [owner_reference(controller)]
        node = role.nodes[position] if position < len(role.nodes) else ""
        created = builder.make_pod(gang, pod, state, node)
        pods.append(created)
        if index == 0:
            controller = _statefulset(builder, gang, leader, role.pods - 1, created)
    return pods


def _statefulset(builder: Builder, gang: Gang, name: str, replicas: int, owner: Json) -> Json:
    meta = {
        "name": name,
        "namespace": gang.namespace,
        "ownerReferences": [owner_reference(owner)],
    }
    return builder.create(
        STATEFULSETS, {"metadata": meta, "spec": {"replicas": replicas}}, builder.born(gang)
    )
