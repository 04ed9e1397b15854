"""The Job controller: pods of Jobs, suspension, completion, and (1.36, 1.37) groups."""

from __future__ import annotations

from typing import Any

from simulator import child_objects, job_status
from simulator.controller import Controller
from simulator.kubelet import Kubelet
from simulator.resources import JOBS, PODS
from simulator.world import World

Json = dict[str, Any]

MANAGER = "kube-controller-manager"
_SOURCE = "job-controller"
_DELAY = 0.01  # A suspended Job loses its pods long before a JobSet can revert the suspension.
_FINISHED = ("Succeeded", "Failed")


class JobController(Controller):
    """Reconciles the pods of each Job with its spec."""

    def __init__(self, world: World, kubelet: Kubelet) -> None:
        super().__init__(world, JOBS, PODS, "Job", _DELAY)
        self._kubelet = kubelet

    def _sync(self, obj: Json) -> None:
        if job_status.is_finished(obj) or "deletionTimestamp" in obj["metadata"]:
            return
        own = "kubernetes.io/job-controller"
        if obj["spec"].get("managedBy", own) != own:
            return
        self._make_group(obj)
        before = self._world.owned(obj["metadata"]["uid"], PODS)
        conditions = list(obj.get("status", {}).get("conditions", []))
        status = self._new_status(obj, before, conditions)
        if conditions:
            status["conditions"] = conditions
        self._world.set_status(JOBS, obj, status, MANAGER)

    def _new_status(self, job: Json, pods: list[Json], conditions: list[Json]) -> Json:
        """Reconcile the pods and return the counts. `conditions` are changed in place."""
        now, old = self._world.timestamp(), job.get("status", {})
        uid = job["metadata"]["uid"]
        if job["spec"].get("suspend"):
            self._remove_pods(job, pods)
            if job_status.set_condition(conditions, job_status.job_suspended(now)):
                self._world.recorder.record(job, "Suspended", "Job suspended", source=_SOURCE)
            return self._counts(job, self._world.owned(uid, PODS))
        start = old.get("startTime")
        was = job_status.has_condition(job, "Suspended")
        if was:
            job_status.set_condition(conditions, job_status.job_resumed(now))
            self._world.recorder.record(job, "Resumed", "Job resumed", source=_SOURCE)
        if was or start is None:
            start = now
        done = self._counts(job, pods)
        completions = job["spec"].get("completions")
        if completions is not None and done.get("succeeded", 0) >= completions:
            conditions.extend(job_status.completed(now))
            self._world.recorder.record(job, "Completed", "Job completed", source=_SOURCE)
            return {**done, "startTime": start, "completionTime": now}
        if done.get("failed", 0) > job["spec"]["backoffLimit"]:
            self._remove_pods(job, pods)
            conditions.extend(job_status.job_failed(now))
            text = "Job has reached the specified backoff limit"
            self._world.recorder.record(
                job, "BackoffLimitExceeded", text, source=_SOURCE, warning=True
            )
        else:
            self._fill(job, pods)
        return {**self._counts(job, self._world.owned(uid, PODS)), "startTime": start}

    def _counts(self, job: Json, pods: list[Json]) -> Json:
        counts = job_status.count_pods(pods)
        # Failures stay counted after the failed pods are deleted.
        failed = max(counts.get("failed", 0), job.get("status", {}).get("failed", 0))
        return {**counts, "failed": failed} if failed else counts

    def _remove_pods(self, job: Json, pods: list[Json]) -> None:
        for pod in pods:
            is_terminating = "deletionTimestamp" in pod["metadata"]
            if is_terminating or pod["status"].get("phase") in _FINISHED:
                continue
            self._world.expected_removals.add(pod["metadata"]["uid"])
            self._kubelet.delete_pod(pod)
            note = f"Deleted pod: {pod['metadata']['name']}"
            self._world.recorder.record(job, "SuccessfulDelete", note, source=_SOURCE)

    def _fill(self, job: Json, pods: list[Json]) -> None:
        """Create missing pods, and remove those beyond parallelism.

        With `podReplacementPolicy: Failed` a terminating pod keeps its seat.
        """
        spec = job["spec"]
        live = [
            pod
            for pod in pods
            if "deletionTimestamp" not in pod["metadata"]
            and pod["status"].get("phase") not in _FINISHED
        ]
        if len(live) > spec["parallelism"]:
            self._remove_pods(job, live[spec["parallelism"] :])
            return
        done = {
            int(job_status.completion_index(pod))
            for pod in pods
            if pod["status"].get("phase") == "Succeeded"
        }
        if spec["podReplacementPolicy"] == "Failed":
            live = [pod for pod in pods if pod["status"].get("phase") not in _FINISHED]
        busy = {int(job_status.completion_index(pod)) for pod in live}
        total = spec.get("completions") or spec["parallelism"]
        missing = [index for index in range(total) if index not in done and index not in busy]
        for index in missing[: spec["parallelism"] - len(live)]:
            self._make_pod(job, index)

    def _make_pod(self, job: Json, index: int) -> None:
        pod = child_objects.pod_of(job, index, self._world.writer.suffix())
        group = self._group_name(job)
        if group:
            pod["spec"]["schedulingGroup"] = {"podGroupName": group}
        self._world.writer.create(PODS, pod, manager=MANAGER)
        note = f"Created pod: {pod['metadata']['name']}"
        self._world.recorder.record(job, "SuccessfulCreate", note, source=_SOURCE)

    def _group_name(self, job: Json) -> str:
        resource = self._world.resource("podgroups")
        if resource is None:
            return ""
        for group in self._world.owned(job["metadata"]["uid"], resource):
            return str(group["metadata"]["name"])
        return ""

    def _make_group(self, job: Json) -> None:
        """Create Workload and PodGroup of a new Job, suspended or not."""
        world, version = self._world, self._world.version
        workloads, groups = world.resource("workloads"), world.resource("podgroups")
        if version is None or workloads is None or groups is None:
            return
        if job.get("status") or not child_objects.wants_group(job, version):
            return
        workload, group = child_objects.group_of(job, version, world.writer.new_uid())
        for resource, obj, reason in (
            (workloads, workload, "WorkloadCreated"),
            (groups, group, "PodGroupCreated"),
        ):
            world.writer.create(resource, obj, manager=MANAGER)
            if version != "v1alpha2" or resource == workloads:
                kind, name = obj["kind"], obj["metadata"]["name"]
                note = f"Created {kind} {name} for Job {job['metadata']['name']}"
                world.recorder.record(job, reason, note, source=_SOURCE)
