"""RayServices as KubeRay 1.6.2 leaves them: a RayCluster, and what Ray says of their applications.

The roles of a gang are those of its RayCluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gangboard.simulator import jobstates
from gangboard.simulator.kinds import raycluster
from gangboard.simulator.resources import RAYSERVICES
from gangboard.simulator.scripts import Gang
from gangboard.simulator.writes import timestamp

if TYPE_CHECKING:
    from gangboard.simulator.builder import Builder

Json = dict[str, Any]

KIND = "RayService"
RESOURCES = (RAYSERVICES, *raycluster.RESOURCES)


def make(builder: Builder, gang: Gang) -> list[Json]:
    """Make a RayService, its RayCluster and pods; it serves unless its code says otherwise."""
    meta = {"name": gang.name, "namespace": gang.namespace}
    spec = {"rayClusterConfig": raycluster.spec_of(gang.roles)}
    made = builder.create(RAYSERVICES, {"metadata": meta, "spec": spec}, builder.born(gang))
    cluster = f"{gang.name}-{builder.world.writer.suffix()}"
    pods = raycluster.make_cluster(builder, gang, cluster, made)
    serves = gang.code == "running"
    row = (
        ("Ready", "True", "NonZeroServeEndpoints", "Number of serve endpoints is greater than 0")
        if serves
        else ("Ready", "False", "ZeroServeEndpoints", "Number of serve endpoints dropped to 0")
    )
    served: Json = {"rayClusterName": cluster}
    if not serves:
        said = {
            "status": "UNHEALTHY",
            "message": "replica of deployment chat failed its health check",
        }
        served["applicationStatuses"] = {"chat": said}
    conditions = [jobstates.plain_condition(*row, timestamp(builder.began(gang)))]
    status = {"activeServiceStatus": served, "conditions": conditions}
    builder.world.set_status(RAYSERVICES, made, status, raycluster.MANAGER)
    return pods
