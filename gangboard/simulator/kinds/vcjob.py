"""Jobs of Volcano as v1.14.1 leaves them: a PodGroup in a queue, and its pods once that has let it in.

A gang of this kind has a task for each role. `quorum` is left out: all of its pods must start together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gangboard.simulator import shapes
from gangboard.simulator.resources import Resource
from gangboard.simulator.scripts import Gang, Role
from gangboard.simulator.shapes import owner_reference

if TYPE_CHECKING:
    from gangboard.simulator.builder import Builder

Json = dict[str, Any]

API, KIND = "batch.volcano.sh", "Job"
JOBS = Resource(API, ("v1alpha1",), "jobs", KIND, short=("vcjob", "vj"), custom=True)
PODGROUPS = Resource(
    "scheduling.volcano.sh", ("v1beta1",), "podgroups", "PodGroup", has_status=False, custom=True
)
QUEUES = Resource(
    "scheduling.volcano.sh", ("v1beta1",), "queues", "Queue", namespaced=False, custom=True
)
RESOURCES = (JOBS, PODGROUPS, QUEUES)
_MANAGER, _SCHEDULER, _QUEUE = "vc-controller-manager", "volcano", "default"


def make(builder: Builder, gang: Gang) -> list[Json]:
    """Make a Job, its PodGroup and, where that was let in, its pods."""
    _queue(builder, gang)
    total = sum(role.pods for role in gang.roles)
    tasks = [_task(role) for role in gang.roles]
    spec = {"maxRetry": 3, "minAvailable": total, "queue": _QUEUE, "schedulerName": _SCHEDULER}
    meta = {"name": gang.name, "namespace": gang.namespace}
    made = builder.create(
        JOBS, {"metadata": meta, "spec": {**spec, "tasks": tasks}}, builder.born(gang)
    )
    phase = "Aborted" if gang.suspended else "Running" if gang.code == "running" else "Pending"
    status = {"state": {"phase": phase}, "minAvailable": total}
    builder.world.set_status(JOBS, made, status, _MANAGER)
    if gang.suspended:
        return []
    group = _podgroup(builder, gang, made, total, let_in=bool(gang.code == "running"))
    return _pods(builder, gang, made, group) if gang.code == "running" else []


def _queue(builder: Builder, gang: Gang) -> None:
    if builder.world.find(QUEUES, ("", _QUEUE)) is None:
        spec = {"reclaimable": True, "weight": 1}
        made = builder.create(
            QUEUES, {"metadata": {"name": _QUEUE}, "spec": spec}, builder.born(gang)
        )
        builder.world.set_status(QUEUES, made, {"state": "Open", "allocated": {}}, _MANAGER)


def _task(role: Role) -> Json:
    return {"name": role.name, "replicas": role.pods, "template": _template(role)}


def _template(role: Role) -> Json:
    manifest = role.template.manifest()
    return {**manifest, "spec": {**manifest["spec"], "schedulerName": _SCHEDULER}}


def _podgroup(builder: Builder, gang: Gang, job: Json, total: int, *, let_in: bool) -> Json:
    meta = {
        "name": f"{gang.name}-{job['metadata']['uid']}",
        "namespace": gang.namespace,
        "ownerReferences": [owner_reference(job)],
    }
    at = job["metadata"]["creationTimestamp"]
    placed = {
        "type": "Scheduled",
        "status": "True",
        "reason": "tasks in gang are ready to be scheduled",
        "transitionID": job["metadata"]["uid"],
        "lastTransitionTime": at,
    }
    status = (
        {"phase": "Running", "running": total, "conditions": [placed]}
        if let_in
        else {"phase": "Pending"}
    )
    spec = {"minMember": total, "queue": _QUEUE}
    return builder.create(
        PODGROUPS, {"metadata": meta, "spec": spec, "status": status}, builder.born(gang)
    )


def _pods(builder: Builder, gang: Gang, job: Json, group: Json) -> list[Json]:
    found = []
    for role in gang.roles:
        for index in range(role.pods):
            pod = shapes.bare_pod(f"{gang.name}-{role.name}-{index}", gang.namespace, role.template)
            pod["spec"]["schedulerName"] = _SCHEDULER
            pod["metadata"] |= {
                "labels": {"volcano.sh/job-name": gang.name, "volcano.sh/task-spec": role.name},
                "annotations": {"scheduling.k8s.io/group-name": group["metadata"]["name"]},
                "ownerReferences": [owner_reference(job)],
            }
            found.append(builder.make_pod(gang, pod, role.state(index), ""))
    return found
