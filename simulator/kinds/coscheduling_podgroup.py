"""PodGroups of coscheduling (scheduler-plugins 0.35), whose scheduler refuses a group if one member does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator import manifests
from simulator.fleet_spec import Gang
from simulator.resources import Resource

if TYPE_CHECKING:
    from simulator.builder import Builder

Json = dict[str, Any]

API, KIND = "scheduling.x-k8s.io", "PodGroup"
PODGROUPS = Resource(API, ("v1alpha1",), "podgroups", KIND, custom=True)
RESOURCES = (PODGROUPS,)
_SCHEDULER = "scheduler-plugins"


def make(builder: Builder, gang: Gang) -> list[Json]:
    """Create a PodGroup and the pods that name it."""
    (role,) = gang.roles
    meta = {"name": gang.name, "namespace": gang.namespace}
    spec = {"minMember": gang.quorum or role.pods, "scheduleTimeoutSeconds": 60}
    group = builder.create(PODGROUPS, {"metadata": meta, "spec": spec}, builder.born(gang))
    phase = "Running" if gang.code == "running" else "Scheduling"
    builder.world.set_status(PODGROUPS, group, {"phase": phase}, "podgroup-controller")
    pods = []
    for index in range(role.pods):
        pod = manifests.bare_pod(f"{gang.name}-{index}", gang.namespace, role.template)
        pod["spec"]["schedulerName"] = _SCHEDULER
        pod["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": gang.name}
        pods.append(builder.make_pod(gang, pod, role.state(index), ""))
    return pods
