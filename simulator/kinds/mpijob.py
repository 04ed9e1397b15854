"""MPIJobs as mpi-operator 0.8.0 leaves them (seen on Kubernetes 1.37.0): the Job of a launcher, and workers.

The Job is indexed, like all Jobs of the simulator, unlike a real one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator import manifests, operators
from simulator.fleet_spec import Gang, Role
from simulator.resources import JOBS, PODS, Resource

if TYPE_CHECKING:
    from simulator.builder import Builder
    from simulator.kubelet import Kubelet
    from simulator.store import Record
    from simulator.world import World

Json = dict[str, Any]

KIND = "MPIJob"
MPIJOBS = Resource("kubeflow.org", ("v2beta1",), "mpijobs", KIND, custom=True)
RESOURCES = (MPIJOBS,)
_FIELD, _OPERATOR, _LAUNCHER = "mpiReplicaSpecs", "mpi-operator", "Launcher"


def make(builder: Builder, gang: Gang) -> list[Json]:
    """Create an MPIJob, the Job of its launcher, and its pods."""
    meta = {"name": gang.name, "namespace": gang.namespace}
    spec = {**operators.spec_of(gang, _FIELD), "slotsPerWorker": 8}
    mpijob = builder.create(MPIJOBS, {"metadata": meta, "spec": spec}, builder.born(gang))
    pods: list[Json] = []
    for role in gang.roles:
        if role.name == _LAUNCHER:
            pods += _launch(builder, gang, role, mpijob)
        else:
            labels = _labels(gang.name, role.name)
            pods += operators.make_pods(builder, gang, role, mpijob, labels)
    operators.begin(builder, gang, MPIJOBS, mpijob, pods)
    return pods


def _launch(builder: Builder, gang: Gang, role: Role, owner: Json) -> list[Json]:
    spec = manifests.job_spec(role.template, 1, suspend=gang.suspended)
    spec["template"]["metadata"]["labels"] = _labels(gang.name, role.name)
    labels = {"app": gang.name}
    job = manifests.job(f"{gang.name}-launcher", gang.namespace, spec, labels=labels)
    job["metadata"]["ownerReferences"] = [manifests.owner_reference(owner)]
    return builder.make_job(gang, role, job, 0)[1]


def _labels(name: str, role: str) -> Json:
    return operators.labels_of(name, _OPERATOR, job_role=role.lower())


class _MPIOperator(operators.Operator):
    """Also suspends and resumes the launcher, and reverts changes of its suspension by others."""

    def labels(self, name: str, role: str) -> Json:
        return _labels(name, role)

    def makes(self, role: str) -> bool:
        return role != _LAUNCHER

    def reconcile(self, resource: Resource, record: Record, obj: Json) -> None:
        """Reconcile changes of the launcher's Job like those of pods."""
        super().reconcile(PODS if resource == JOBS else resource, record, obj)

    def _sync(self, obj: Json) -> None:
        is_suspended = bool(obj["spec"].get("runPolicy", {}).get("suspend"))

        def put(target: Json) -> Json:
            target["spec"]["suspend"] = is_suspended
            return target

        for job in self._world.owned(obj["metadata"]["uid"], JOBS):
            if bool(job["spec"].get("suspend")) is not is_suspended:
                self._world.change(JOBS, job, put, _OPERATOR)
        super()._sync(obj)


def controller(world: World, kubelet: Kubelet) -> operators.Operator:
    """Return the controller of MPIJobs, their workers and launchers."""
    return _MPIOperator(world, kubelet, MPIJOBS, _FIELD, _OPERATOR)
