"""MiniClusters as the Flux operator leaves them: one Indexed Job of the same name. A gang has one role
without a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator import job_status, manifests
from simulator.fleet_spec import Gang
from simulator.resources import MINICLUSTERS
from simulator.writes import timestamp

if TYPE_CHECKING:
    from simulator.builder import Builder

Json = dict[str, Any]

KIND = "MiniCluster"
RESOURCES = (MINICLUSTERS,)


def make(builder: Builder, gang: Gang) -> list[Json]:
    """Create a MiniCluster, its Job and pods."""
    (role,) = gang.roles
    meta = {"name": gang.name, "namespace": gang.namespace}
    spec = {"containers": [{"image": role.template.image, "runFlux": True}], "size": role.pods}
    minicluster = builder.create(MINICLUSTERS, {"metadata": meta, "spec": spec}, builder.born(gang))
    job = manifests.job(
        gang.name, gang.namespace, manifests.job_spec(role.template, role.pods, backoff_limit=100)
    )
    job["metadata"]["ownerReferences"] = [manifests.owner_reference(minicluster)]
    _, pods = builder.make_job(gang, role, job, 0)
    type_ = "JobMiniClusterReady"
    now = timestamp(builder.started_at(gang))
    status = {
        "conditions": [job_status.plain_condition(type_, "True", type_, type_, now)],
        "jobid": "",
        "maximumSize": role.pods,
        "selector": f"hpa-selector={gang.name}",
        "size": role.pods,
    }
    builder.world.set_status(MINICLUSTERS, minicluster, status, "manager")
    return pods
