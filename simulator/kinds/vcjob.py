"""Jobs of Volcano as v1.14.1 leaves them: a PodGroup in a queue, and pods after its admission.

A gang of this kind has a task for each role. `quorum` is not used, because all of its pods must start
together.

A Command aborts or resumes a Job (gang-owners.md §5.4, and seen on a real Volcano). The controller deletes
the Command and writes `CommandIssued`. Abort removes pods and PodGroup. Resume counts as a retry and creates
both again, once all pods fit. At `maxRetry` the Job fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from simulator import job_status, manifests
from simulator.controller import Controller
from simulator.fleet_spec import Gang, Role
from simulator.manifests import owner_reference
from simulator.resources import PODS, Resource
from simulator.store import Key, Record
from simulator.world import World, key_of, typed

if TYPE_CHECKING:
    from simulator.builder import Builder
    from simulator.kubelet import Kubelet

Json = dict[str, Any]

API, KIND = "batch.volcano.sh", "Job"
JOBS = Resource(API, ("v1alpha1",), "jobs", KIND, short=("vcjob", "vj"), custom=True)
PODGROUPS = Resource(
    "scheduling.volcano.sh", ("v1beta1",), "podgroups", "PodGroup", has_status=False, custom=True
)
QUEUES = Resource(
    "scheduling.volcano.sh", ("v1beta1",), "queues", "Queue", namespaced=False, custom=True
)
COMMANDS = Resource(
    "bus.volcano.sh", ("v1alpha1",), "commands", "Command", has_status=False, custom=True
)
RESOURCES = (JOBS, PODGROUPS, QUEUES, COMMANDS)
_MANAGER, _SCHEDULER, _QUEUE = "vc-controller-manager", "volcano", "default"
_DELAY = 0.05
_SESSION = 1.0
"""Seconds between two attempts of the scheduler for a waiting Job."""


def make(builder: Builder, gang: Gang) -> list[Json]:
    """Create a Job, its PodGroup and, if it was admitted, its pods."""
    _queue(builder, gang)
    total = sum(role.pods for role in gang.roles)
    tasks = [_task(role) for role in gang.roles]
    spec = {"maxRetry": 3, "minAvailable": total, "queue": _QUEUE, "schedulerName": _SCHEDULER}
    meta = {"name": gang.name, "namespace": gang.namespace}
    vcjob = builder.create(
        JOBS, {"metadata": meta, "spec": {**spec, "tasks": tasks}}, builder.born(gang)
    )
    phase = "Aborted" if gang.suspended else "Running" if gang.code == "running" else "Pending"
    status = {"state": {"phase": phase}, "minAvailable": total}
    builder.world.set_status(JOBS, vcjob, status, _MANAGER)
    if gang.suspended:
        return []
    is_in = gang.code == "running"
    builder.create(PODGROUPS, _podgroup(vcjob, admitted=is_in), builder.born(gang))
    return _pods(builder, gang, vcjob) if is_in else []


def _queue(builder: Builder, gang: Gang) -> None:
    if builder.world.find(QUEUES, ("", _QUEUE)) is None:
        spec = {"reclaimable": True, "weight": 1}
        queue = builder.create(
            QUEUES, {"metadata": {"name": _QUEUE}, "spec": spec}, builder.born(gang)
        )
        builder.world.set_status(QUEUES, queue, {"state": "Open", "allocated": {}}, _MANAGER)


def _task(role: Role) -> Json:
    return {"name": role.name, "replicas": role.pods, "template": _template(role)}


def _template(role: Role) -> Json:
    manifest = role.template.manifest()
    return {**manifest, "spec": {**manifest["spec"], "schedulerName": _SCHEDULER}}


def _group_name(job: Json) -> str:
    return f"{job['metadata']['name']}-{job['metadata']['uid']}"


def _podgroup(job: Json, *, admitted: bool) -> Json:
    """Return the PodGroup of a Job: in its queue, or admitted and placed."""
    meta = {
        "name": _group_name(job),
        "namespace": job["metadata"]["namespace"],
        "ownerReferences": [owner_reference(job)],
    }
    total = job["spec"]["minAvailable"]
    status = _placed(job, total) if admitted else {"phase": "Pending"}
    return {"metadata": meta, "spec": {"minMember": total, "queue": _QUEUE}, "status": status}


def _placed(job: Json, total: int) -> Json:
    condition = {
        "type": "Scheduled",
        "status": "True",
        "reason": "tasks in gang are ready to be scheduled",
        "transitionID": job["metadata"]["uid"],
        "lastTransitionTime": job["metadata"]["creationTimestamp"],
    }
    return {"phase": "Running", "running": total, "conditions": [condition]}


def _pods(builder: Builder, gang: Gang, job: Json) -> list[Json]:
    """Create the pods of an admitted Job in the states of its script."""
    return [
        builder.make_pod(gang, _pod(job, task, index), role.state(index), "")
        for role, task in zip(gang.roles, job["spec"]["tasks"], strict=True)
        for index in range(role.pods)
    ]


def _pod(job: Json, task: Json, index: int) -> Json:
    """Return a new pod of a task, before scheduler and kubelet have changed it."""
    name, spec = job["metadata"]["name"], dict(task["template"]["spec"])
    manifests.finish_pod_spec(spec, 0)
    meta = {
        "name": f"{name}-{task['name']}-{index}",
        "namespace": job["metadata"]["namespace"],
        "labels": {"volcano.sh/job-name": name, "volcano.sh/task-spec": task["name"]},
        "annotations": {"scheduling.k8s.io/group-name": _group_name(job)},
        "ownerReferences": [owner_reference(job)],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


class _Volcano(Controller):
    """Executes Commands, and places resumed Jobs."""

    def __init__(self, world: World, kubelet: Kubelet) -> None:
        super().__init__(world, JOBS, PODS, KIND, _DELAY)
        self._kubelet = kubelet

    def reconcile(self, resource: Resource, record: Record, obj: Json) -> None:
        """Execute a new Command, and reconcile its Job during the transition."""
        if resource == COMMANDS and record.type == "ADDED":
            self._world.clock.soon(lambda: self._issue(record.key), _DELAY)
        else:
            super().reconcile(resource, record, obj)

    def _issue(self, key: Key) -> None:
        """Delete a Command before acting on it, so that it is executed at most once."""
        with self._world.store.lock:
            command = self._world.find(COMMANDS, key)
            if command is None:
                return
            self._world.writer.remove(COMMANDS, key)
            target, action = command["target"], command["action"]
            job = self._world.find(JOBS, (key[0], target["name"]))
            if job is None or job["metadata"]["uid"] != target["uid"]:
                return
            self._world.release_from_script(JOBS, key_of(job))
            note = f"Start to execute command {action}, and clean it up to make sure executed not more than once."
            self._world.recorder.record(job, "CommandIssued", note, source=_MANAGER)
            phase = _phase(job)
            if action == "AbortJob" and phase in ("Pending", "Running"):
                self._enter(job, "Aborting")
            elif action == "ResumeJob" and phase == "Aborted":
                retries = job["status"].get("retryCount", 0) + 1
                self._enter(job, "Restarting", retryCount=retries)

    def _sync(self, obj: Json) -> None:
        phase = _phase(obj)
        if phase == "Aborting" and self._is_empty(obj):
            self._remove_group(obj)
            self._enter(obj, "Aborted")
        elif phase == "Restarting" and obj["status"]["retryCount"] >= obj["spec"]["maxRetry"]:
            self._enter(obj, "Failed")
        elif phase == "Restarting" and self._is_empty(obj):
            self._enter(obj, "Pending")
        elif phase == "Pending":
            self._admit(obj)

    def _is_empty(self, job: Json) -> bool:
        """Delete its pods. Return whether all are gone."""
        pods = self._world.owned(job["metadata"]["uid"], PODS)
        for pod in pods:
            if "deletionTimestamp" not in pod["metadata"]:
                self._world.expected_removals.add(pod["metadata"]["uid"])
                self._kubelet.delete_pod(pod)
        return not pods

    def _admit(self, job: Json) -> None:
        """Create its PodGroup. Once all pods fit, create and bind them. The Job runs as soon as they do."""
        pods = self._world.owned(job["metadata"]["uid"], PODS)
        if pods:
            if all(job_status.is_ready(pod) for pod in pods):
                self._enter(job, "Running")
            return
        if not self._world.owned(job["metadata"]["uid"], PODGROUPS):
            self._world.writer.create(PODGROUPS, _podgroup(job, admitted=False), manager=_MANAGER)
        desired = [
            _pod(job, task, index)
            for task in job["spec"]["tasks"]
            for index in range(task["replicas"])
        ]
        nodes = self._world.free_resources().place_alone(desired).nodes
        if len(nodes) < len(desired):
            self._world.clock.later(_SESSION, lambda: self._enqueue(key_of(job)))
            return
        self._admit_group(job)
        for pod in desired:
            pod["spec"]["nodeName"] = nodes[pod["metadata"]["name"]]
            created = self._world.writer.create(PODS, pod, manager=_MANAGER)
            self._kubelet.start(typed(PODS, created))

    def _admit_group(self, job: Json) -> None:
        def place(target: Json) -> Json:
            target["status"] = _placed(job, job["spec"]["minAvailable"])
            return target

        for group in self._world.owned(job["metadata"]["uid"], PODGROUPS):
            self._world.change(PODGROUPS, group, place, _SCHEDULER)

    def _remove_group(self, job: Json) -> None:
        for group in self._world.owned(job["metadata"]["uid"], PODGROUPS):
            self._world.writer.remove(PODGROUPS, key_of(group))

    def _enter(self, job: Json, phase: str, **counts: int) -> None:
        state = {"phase": phase, "lastTransitionTime": self._world.timestamp()}
        self._world.set_status(JOBS, job, {**job["status"], **counts, "state": state}, _MANAGER)


def _phase(job: Json) -> str:
    return str(job.get("status", {}).get("state", {}).get("phase", "Pending"))


def controller(world: World, kubelet: Kubelet) -> _Volcano:
    """Return the controller of these Jobs and their Commands."""
    return _Volcano(world, kubelet)
