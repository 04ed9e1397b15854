"""TrainJobs as Kubeflow Trainer 2.2.0 leaves them (seen on Kubernetes 1.37.0): a JobSet of the same name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator import job_status
from simulator.controller import Controller
from simulator.fleet_spec import Gang
from simulator.resources import JOBSETS, TRAINJOBS
from simulator.world import World
from simulator.writes import timestamp

if TYPE_CHECKING:
    from simulator.builder import Builder
    from simulator.kubelet import Kubelet

Json = dict[str, Any]

KIND = "TrainJob"
RESOURCES = (TRAINJOBS,)
_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
_MANAGER = "trainer"
_DELAY = 0.06
"""Seconds until a reaction. A real controller resumed a suspended JobSet after 53 to 68 ms."""


def make(builder: Builder, gang: Gang) -> list[Json]:
    """Create a TrainJob, its JobSet, Jobs and pods."""
    nodes = next(role for role in gang.roles if role.name == "node")
    spec = {
        "managedBy": "trainer.kubeflow.org/trainjob-controller",
        "runtimeRef": {
            "apiGroup": "trainer.kubeflow.org",
            "kind": "ClusterTrainingRuntime",
            "name": "torch-distributed",
        },
        "suspend": gang.suspended,
        "trainer": {"numNodes": nodes.pods},
    }
    meta: Json = {"name": gang.name, "namespace": gang.namespace}
    trainjob = builder.create(TRAINJOBS, {"metadata": meta, "spec": spec}, builder.born(gang))
    steps = {
        role.name: {_STEP: "trainer" if role.name == "node" else role.name} for role in gang.roles
    }
    jobset, pods = builder.make_jobset(gang, owner=trainjob, manager=_MANAGER, job_labels=steps)
    conditions = []
    if gang.suspended:
        conditions.append(_suspended(True, timestamp(builder.started_at(gang))))
    builder.world.set_status(TRAINJOBS, trainjob, _status(jobset, conditions), _MANAGER)
    return pods


class _TrainJobController(Controller):
    """Copies `spec.suspend` of a TrainJob to its JobSet, and the JobSet's counts to the TrainJob."""

    def __init__(self, world: World) -> None:
        super().__init__(world, TRAINJOBS, JOBSETS, KIND, _DELAY)

    def _sync(self, obj: Json) -> None:
        is_suspended = bool(obj["spec"].get("suspend"))
        jobsets = self._world.owned(obj["metadata"]["uid"], JOBSETS)
        if not jobsets or job_status.is_finished(obj):
            return
        (jobset,) = jobsets
        if bool(jobset["spec"].get("suspend")) is not is_suspended:

            def put(target: Json) -> Json:
                target["spec"]["suspend"] = is_suspended
                return target

            jobset = self._world.change(JOBSETS, jobset, put, _MANAGER)
        conditions = list(obj.get("status", {}).get("conditions", []))
        # The condition follows from its own spec alone and does not describe pods.
        if is_suspended or job_status.condition_of(obj, "Suspended"):
            job_status.set_condition(conditions, _suspended(is_suspended, self._world.timestamp()))
        status = _status(jobset, conditions)
        if status != obj.get("status"):
            self._world.set_status(TRAINJOBS, obj, status, _MANAGER)


def controller(world: World, _kubelet: Kubelet) -> Controller:
    """Return the controller of TrainJobs."""
    return _TrainJobController(world)


def _suspended(suspended: bool, now: str) -> Json:
    if suspended:
        return job_status.plain_condition(
            "Suspended", "True", "Suspended", "TrainJob is suspended", now
        )
    return job_status.plain_condition("Suspended", "False", "Resumed", "TrainJob is resumed", now)


def _status(jobset: Json, conditions: list[Json]) -> Json:
    status: Json = {"jobsStatus": jobset.get("status", {}).get("replicatedJobsStatus", [])}
    return status | ({"conditions": conditions} if conditions else {})
