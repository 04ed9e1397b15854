"""PyTorchJobs as training-operator 1.9.3 leaves them (seen on Kubernetes 1.37.0): pods without Jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gangboard.simulator import operators
from gangboard.simulator.resources import Resource
from gangboard.simulator.scripts import Gang

if TYPE_CHECKING:
    from gangboard.simulator.builder import Builder
    from gangboard.simulator.kubelet import Kubelet
    from gangboard.simulator.world import World

Json = dict[str, Any]

KIND = "PyTorchJob"
JOBS = Resource("kubeflow.org", ("v1",), "pytorchjobs", KIND, custom=True)
RESOURCES = (JOBS,)
_FIELD, _OPERATOR = "pytorchReplicaSpecs", "pytorchjob-controller"


def make(builder: Builder, gang: Gang) -> list[Json]:
    """Make a PyTorchJob and its pods."""
    meta = {"name": gang.name, "namespace": gang.namespace}
    spec = operators.spec_of(gang, _FIELD)
    made = builder.create(JOBS, {"metadata": meta, "spec": spec}, builder.born(gang))
    pods: list[Json] = []
    for role in gang.roles:
        labels = operators.labels_of(gang.name, _OPERATOR, replica_type=role.name.lower())
        pods += operators.make_pods(builder, gang, role, made, labels)
    operators.begin(builder, gang, JOBS, made, pods)
    return pods


def controller(world: World, kubelet: Kubelet) -> operators.Operator:
    """Return what makes the pods of PyTorchJobs."""
    return operators.Operator(world, kubelet, JOBS, _FIELD, _OPERATOR)
