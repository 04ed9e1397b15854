"""PodGroups of KAI-Scheduler 0.12 in a queue with a limit, as it leaves them (seen on Kubernetes 1.37.0)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator import manifests
from simulator.fleet_spec import Gang
from simulator.resources import Resource

if TYPE_CHECKING:
    from simulator.builder import Builder

Json = dict[str, Any]

API, KIND = "scheduling.run.ai", "PodGroup"
PODGROUPS = Resource(API, ("v2alpha2",), "podgroups", KIND, custom=True)
QUEUES = Resource(API, ("v2",), "queues", "Queue", namespaced=False, custom=True)
RESOURCES = (PODGROUPS, QUEUES)
_SCHEDULER, _LIMIT = "kai-scheduler", 2


def make(builder: Builder, gang: Gang) -> list[Json]:
    """Create a PodGroup that exceeds the GPU limit of its queue, and the pods that name it."""
    (role,) = gang.roles
    queue = f"{gang.namespace}-kai"
    _queue(builder, gang, queue)
    meta = {"name": gang.name, "namespace": gang.namespace}
    spec = {"minMember": role.pods, "queue": queue, "priorityClassName": "train"}
    group = builder.create(PODGROUPS, {"metadata": meta, "spec": spec}, builder.born(gang))
    gpus = role.pods * role.template.gpus
    text = (
        f"{queue} quota has reached the allowable limit of GPUs. Limit is {_LIMIT} GPUs, currently 0 "
        f"GPUs allocated and workload requested {gpus} GPUs"
    )
    when = group["metadata"]["creationTimestamp"]
    condition = {
        "type": "UnschedulableOnNodePool",
        "status": "True",
        "nodePool": "default",
        "reason": "Unschedulable",
        "message": f"OverLimit: {text}.",
        "reasons": [{"reason": "OverLimit", "message": text}],
        "transitionID": "1",
        "lastTransitionTime": when,
    }
    builder.world.set_status(PODGROUPS, group, {"schedulingConditions": [condition]}, _SCHEDULER)
    pods = []
    for index in range(role.pods):
        pod = manifests.bare_pod(f"{gang.name}-{index}", gang.namespace, role.template)
        pod["spec"]["schedulerName"] = _SCHEDULER
        pod["metadata"] |= {
            "annotations": {"pod-group-name": gang.name},
            "labels": {"kai.scheduler/queue": queue},
        }
        pods.append(builder.make_pod(gang, pod, role.state(index), ""))
    return pods


def _queue(builder: Builder, gang: Gang, name: str) -> None:
    if builder.world.find(QUEUES, ("", name)) is None:
        gpu = {"quota": _LIMIT, "limit": _LIMIT, "overQuotaWeight": 1}
        # A missing limit means 0, which would admit no CPU and memory.
        free = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
        spec = {"resources": {"gpu": gpu, "cpu": free, "memory": free}}
        builder.create(QUEUES, {"metadata": {"name": name}, "spec": spec}, builder.born(gang))
