"""RayServices as KubeRay 1.6.2 leaves them: a RayCluster, and the status of the applications.

The roles of a gang are those of its RayCluster. Suspension is that of KubeRay 1.7 (gang-owners.md §10): it
deletes the RayCluster, and a resume creates another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator import job_status
from simulator.controller import Controller
from simulator.fleet_spec import Gang
from simulator.kinds import raycluster
from simulator.manifests import owner_reference
from simulator.resources import RAYCLUSTERS, RAYSERVICES
from simulator.world import World, key_of
from simulator.writes import timestamp

if TYPE_CHECKING:
    from simulator.builder import Builder
    from simulator.kubelet import Kubelet

Json = dict[str, Any]

KIND = "RayService"
_DELAY = 0.06
_SERVES = ("Ready", "True", "NonZeroServeEndpoints", "Number of serve endpoints is greater than 0")
_SERVES_NOT = ("Ready", "False", "ZeroServeEndpoints", "Number of serve endpoints dropped to 0")
_SUSPENDED = ("Suspended", "True", "SuspendComplete", "")
_RESUMED = ("Suspended", "False", "RayServiceResumed", "")
RESOURCES = (RAYSERVICES, *raycluster.RESOURCES)


def make(builder: Builder, gang: Gang) -> list[Json]:
    """Create a RayService, its RayCluster and pods. It serves if the expected code is `running`."""
    meta = {"name": gang.name, "namespace": gang.namespace}
    spec = {"rayClusterConfig": raycluster.spec_of(gang.roles)}
    rayservice = builder.create(RAYSERVICES, {"metadata": meta, "spec": spec}, builder.born(gang))
    cluster = f"{gang.name}-{builder.world.writer.suffix()}"
    pods = raycluster.make_cluster(builder, gang, cluster, rayservice)
    serves = gang.code == "running"
    row = _SERVES if serves else _SERVES_NOT
    served: Json = {"rayClusterName": cluster}
    if not serves:
        application = {
            "status": "UNHEALTHY",
            "message": "replica of deployment chat failed its health check",
        }
        served["applicationStatuses"] = {"chat": application}
    conditions = [job_status.plain_condition(*row, timestamp(builder.started_at(gang)))]
    status = {"activeServiceStatus": served, "conditions": conditions}
    builder.world.set_status(RAYSERVICES, rayservice, status, raycluster.MANAGER)
    return pods


class _RayServices(Controller):
    """Deletes the RayCluster of a suspended RayService, and creates another one after a resume."""

    def __init__(self, world: World) -> None:
        super().__init__(world, RAYSERVICES, RAYCLUSTERS, KIND, _DELAY)

    def _sync(self, obj: Json) -> None:
        clusters = self._world.owned(obj["metadata"]["uid"], RAYCLUSTERS)
        if obj["spec"].get("suspend"):
            for cluster in clusters:
                # The garbage collector removes the pods, which it finds by their owner.
                self._world.writer.remove(RAYCLUSTERS, key_of(cluster))
            self._set_status(obj, "", _SUSPENDED, _SERVES_NOT)
        elif job_status.has_condition(obj, "Suspended"):
            self._set_status(obj, self._make_cluster(obj)["metadata"]["name"], _RESUMED)
        elif clusters and job_status.condition_of(obj, "Suspended") and _is_ready(clusters[0]):
            self._set_status(obj, clusters[0]["metadata"]["name"], _SERVES)

    def _make_cluster(self, service: Json) -> Json:
        meta = {
            "name": f"{service['metadata']['name']}-{self._world.writer.suffix()}",
            "namespace": service["metadata"]["namespace"],
            "ownerReferences": [owner_reference(service)],
        }
        spec = {**service["spec"]["rayClusterConfig"], "suspend": False}
        created: Json = self._world.writer.create(
            RAYCLUSTERS, {"metadata": meta, "spec": spec}, manager=raycluster.MANAGER
        )
        return created

    def _set_status(self, service: Json, cluster: str, *rows: tuple[str, str, str, str]) -> None:
        conditions = [dict(condition) for condition in service["status"].get("conditions", [])]
        now = self._world.timestamp()
        news = [
            job_status.set_condition(conditions, job_status.plain_condition(*row, now))
            for row in rows
        ]
        if any(news):
            served = {"rayClusterName": cluster} if cluster else {}
            status = {"activeServiceStatus": served, "conditions": conditions}
            self._world.set_status(RAYSERVICES, service, status, raycluster.MANAGER)


def _is_ready(cluster: Json) -> bool:
    status = cluster.get("status", {})
    return bool(
        job_status.has_condition(cluster, "HeadPodReady")
        and status.get("readyWorkerReplicas") == status.get("desiredWorkerReplicas")
    )


def controller(world: World, _kubelet: Kubelet) -> _RayServices:
    """Return the controller of RayServices."""
    return _RayServices(world)
