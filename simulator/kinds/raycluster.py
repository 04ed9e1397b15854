"""RayClusters as KubeRay 1.6.2 leaves them (seen on Kubernetes 1.37.0): the head and the groups of workers.

The first role of a gang is the head, and each other role is a group of workers of its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator import job_status
from simulator.controller import Controller
from simulator.fleet_spec import Gang, Role
from simulator.kubelet import Kubelet
from simulator.manifests import finish_pod_spec, owner_reference
from simulator.resources import PODS, RAYCLUSTERS
from simulator.world import World
from simulator.writes import timestamp

if TYPE_CHECKING:
    from simulator.builder import Builder

Json = dict[str, Any]

KIND = "RayCluster"
RESOURCES = (RAYCLUSTERS,)
MANAGER = "ray-operator"
_HEAD = "headgroup"
_DELAY = 0.06


def make(builder: Builder, gang: Gang) -> list[Json]:
    """Create a RayCluster and its pods."""
    return make_cluster(builder, gang, gang.name, None)


def spec_of(roles: tuple[Role, ...]) -> Json:
    """Return the spec of a RayCluster with the defaults of its API server."""
    head, *groups = roles
    return {
        "headGroupSpec": {"rayStartParams": {}, "template": head.template.manifest()},
        "workerGroupSpecs": [
            {
                "groupName": role.name,
                "maxReplicas": role.pods,
                "minReplicas": role.pods,
                "numOfHosts": 1,
                "rayStartParams": {},
                "replicas": role.pods,
                "template": role.template.manifest(),
            }
            for role in groups
        ],
    }


def make_cluster(builder: Builder, gang: Gang, name: str, owner: Json | None) -> list[Json]:
    """Create one RayCluster with its pods in the states of the roles. Return the pods."""
    meta: Json = {"name": name, "namespace": gang.namespace}
    if owner is not None:
        meta["ownerReferences"] = [owner_reference(owner)]
    spec = {**spec_of(gang.roles), "suspend": gang.suspended and owner is None}
    raycluster = builder.create(RAYCLUSTERS, {"metadata": meta, "spec": spec}, builder.born(gang))
    pods: list[Json] = []
    for role, pod, index in _pods_of(raycluster, gang.roles):
        state = role.state(index)
        if state == "absent" or spec["suspend"]:
            continue
        node = role.nodes[index] if index < len(role.nodes) else ""
        pods.append(builder.make_pod(gang, pod, state, node))
    status = _status(raycluster, pods, timestamp(builder.started_at(gang)))
    builder.world.set_status(RAYCLUSTERS, raycluster, status, MANAGER)
    return pods


def _pods_of(cluster: Json, roles: tuple[Role, ...]) -> list[tuple[Role, Json, int]]:
    """Return each desired pod with its role and its position there."""
    by_group = {_HEAD if position == 0 else role.name: role for position, role in enumerate(roles)}
    result = []
    for pod, index in desired_pods(cluster):
        role = by_group[pod["metadata"]["labels"]["ray.io/group"]]
        result.append((role, pod, index))
    return result


def desired_pods(cluster: Json) -> list[tuple[Json, int]]:
    """Return the desired pods of a RayCluster, each with its position in its group."""
    spec = cluster["spec"]
    pods = [(_pod(cluster, _HEAD, 0, spec["headGroupSpec"]["template"]), 0)]
    for group in spec["workerGroupSpecs"]:
        pods += [
            (_pod(cluster, group["groupName"], index, group["template"]), index)
            for index in range(group["replicas"])
        ]
    return pods


def _pod(cluster: Json, group: str, index: int, template: Json) -> Json:
    name = cluster["metadata"]["name"]
    is_head = group == _HEAD
    meta = {
        "name": f"{name}-head" if is_head else f"{name}-{group}-worker-{index}",
        "namespace": cluster["metadata"]["namespace"],
        "labels": {
            "ray.io/cluster": name,
            "ray.io/group": group,
            "ray.io/node-type": "head" if is_head else "worker",
        },
        "ownerReferences": [owner_reference(cluster)],
    }
    spec: Json = {**template["spec"]}
    finish_pod_spec(spec, 0)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


class RayClusterController(Controller):
    """Creates the pods of each RayCluster, and removes them while it is suspended."""

    def __init__(self, world: World, kubelet: Kubelet) -> None:
        super().__init__(world, RAYCLUSTERS, PODS, KIND, _DELAY)
        self._kubelet = kubelet

    def _sync(self, obj: Json) -> None:
        pods = self._world.owned(obj["metadata"]["uid"], PODS)
        if obj["spec"].get("suspend"):
            for pod in pods:
                if "deletionTimestamp" not in pod["metadata"]:
                    self._world.expected_removals.add(pod["metadata"]["uid"])
                    self._kubelet.delete_pod(pod)
        else:
            names = {pod["metadata"]["name"] for pod in pods}
            for pod, _ in desired_pods(obj):
                if pod["metadata"]["name"] not in names:
                    self._world.writer.create(PODS, pod, manager=MANAGER)
        pods = self._world.owned(obj["metadata"]["uid"], PODS)
        status = _status(obj, pods, self._world.timestamp())
        if status != obj.get("status"):
            self._world.set_status(RAYCLUSTERS, obj, status, MANAGER)


def _status(cluster: Json, pods: list[Json], now: str) -> Json:
    """Return KubeRay's counts and conditions."""
    conditions = list(cluster.get("status", {}).get("conditions", []))
    suspends = bool(cluster["spec"].get("suspend"))
    rests = suspends and not pods
    heads = [pod for pod in pods if pod["metadata"]["labels"]["ray.io/group"] == _HEAD]
    is_ready = bool(heads) and job_status.is_ready(heads[0])
    rows = (
        ("HeadPodReady", is_ready, "HeadPodRunningAndReady" if is_ready else "ContainersNotReady"),
        ("RayClusterSuspending", suspends and not rests, "RayClusterSuspending"),
        ("RayClusterSuspended", rests, "RayClusterSuspended"),
    )
    for type_, holds, reason in rows:
        row = job_status.plain_condition(type_, str(holds), reason, "", now)
        job_status.set_condition(conditions, row)
    desired = sum(group["replicas"] for group in cluster["spec"]["workerGroupSpecs"])
    ready = sum(job_status.is_ready(pod) for pod in pods if pod not in heads)
    return {
        "conditions": conditions,
        "desiredWorkerReplicas": desired,
        "readyWorkerReplicas": ready,
    }


def controller(world: World, kubelet: Kubelet) -> RayClusterController:
    """Return the controller of RayClusters."""
    return RayClusterController(world, kubelet)
