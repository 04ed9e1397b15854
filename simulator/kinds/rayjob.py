"""RayJobs as KubeRay 1.6.2 leaves them (seen on Kubernetes 1.37.0), submitted by KubeRay itself (`HTTPMode`).

The roles of a gang are those of its RayCluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator.controller import Controller
from simulator.fleet_spec import Gang
from simulator.kinds import raycluster
from simulator.kubelet import Kubelet
from simulator.manifests import owner_reference
from simulator.resources import PODS, RAYCLUSTERS, RAYJOBS
from simulator.world import World, key_of

if TYPE_CHECKING:
    from simulator.builder import Builder

Json = dict[str, Any]

KIND = "RayJob"
RESOURCES = (RAYJOBS, *raycluster.RESOURCES)
_DELAY = 0.06


def make(builder: Builder, gang: Gang) -> list[Json]:
    """Create a RayJob and, unless it is suspended, its RayCluster and pods."""
    spec = {
        "entrypoint": "python train.py",
        "rayClusterSpec": raycluster.spec_of(gang.roles),
        "shutdownAfterJobFinishes": True,
        "submissionMode": "HTTPMode",
        "suspend": gang.suspended,
    }
    meta = {"name": gang.name, "namespace": gang.namespace}
    rayjob = builder.create(RAYJOBS, {"metadata": meta, "spec": spec}, builder.born(gang))
    if gang.suspended:
        builder.world.set_status(RAYJOBS, rayjob, _SUSPENDED, raycluster.MANAGER)
        return []
    name = _name(builder.world, gang.name)
    pods = raycluster.make_cluster(builder, gang, name, rayjob)
    is_up = all(pod["status"].get("phase") == "Running" for pod in pods)
    builder.world.set_status(RAYJOBS, rayjob, _status(name, running=is_up), raycluster.MANAGER)
    return pods


_SUSPENDED: Json = {"jobDeploymentStatus": "Suspended", "jobStatus": ""}


def _name(world: World, job: str) -> str:
    """Return a name for a new RayCluster of a RayJob."""
    return f"{job}-{world.writer.suffix()}"


def _status(cluster: str, *, running: bool) -> Json:
    return {
        "jobDeploymentStatus": "Running" if running else "Initializing",
        "jobStatus": "RUNNING" if running else "",
        "rayClusterName": cluster,
    }


class RayJobController(Controller):
    """Creates a RayCluster for each RayJob, and removes it while the RayJob is suspended."""

    def __init__(self, world: World, kubelet: Kubelet) -> None:
        super().__init__(world, RAYJOBS, RAYCLUSTERS, KIND, _DELAY)
        self._kubelet = kubelet

    def _sync(self, obj: Json) -> None:
        clusters = self._world.owned(obj["metadata"]["uid"], RAYCLUSTERS)
        if obj["spec"].get("suspend"):
            for cluster in clusters:
                self._delete_cluster(cluster)
            self._set_status(obj, _SUSPENDED)
        elif not clusters:
            name = _name(self._world, obj["metadata"]["name"])
            meta = {
                "name": name,
                "namespace": obj["metadata"]["namespace"],
                "ownerReferences": [owner_reference(obj)],
            }
            raycluster_manifest = {
                "apiVersion": "ray.io/v1",
                "kind": "RayCluster",
                "metadata": meta,
                "spec": obj["spec"]["rayClusterSpec"],
            }
            self._world.writer.create(RAYCLUSTERS, raycluster_manifest, manager=raycluster.MANAGER)
            self._set_status(obj, _status(name, running=False))
        else:
            status = clusters[0].get("status", {})
            workers = status.get("desiredWorkerReplicas")
            is_up = workers is not None and status.get("readyWorkerReplicas") == workers
            self._set_status(obj, _status(clusters[0]["metadata"]["name"], running=is_up))

    def _delete_cluster(self, cluster: Json) -> None:
        for pod in self._world.owned(cluster["metadata"]["uid"], PODS):
            self._world.expected_removals.add(pod["metadata"]["uid"])
            self._kubelet.delete_pod(pod)
        self._world.writer.remove(RAYCLUSTERS, key_of(cluster))

    def _set_status(self, obj: Json, status: Json) -> None:
        if obj.get("status") != status:
            self._world.set_status(RAYJOBS, obj, status, raycluster.MANAGER)


def controller(world: World, kubelet: Kubelet) -> RayJobController:
    """Return the controller of RayJobs."""
    return RayJobController(world, kubelet)
