"""The JobSet controller: child Jobs, dependencies, restarts, and the revert of a child's suspension."""

from __future__ import annotations

from typing import Any

from simulator import child_objects, job_status
from simulator.controller import Controller
from simulator.resources import JOBS, JOBSETS
from simulator.world import World, key_of

Json = dict[str, Any]

MANAGER = "jobset"
_DELAY = 0.07
"""Seconds until a reaction. A real controller resumed a suspended child after 72 to 95 ms."""
_ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
_MODE = "jobset.sigs.k8s.io/reconciliation-mode"
"""Annotation by which a JobSet requests suspension of its child Jobs one by one (`Independent`)."""


class JobSetController(Controller):
    """Reconciles the child Jobs of each JobSet with its spec.

    With `independent` it honours reconciliation-mode `Independent` as proposed (kubernetes-sigs /jobset
    KEP-1172, pull request 1202): it neither suspends nor resumes child Jobs, and a restart recreates them
    from their templates. No release does that; v0.12 ignores the annotation.
    """

    def __init__(self, world: World, *, independent: bool = False) -> None:
        super().__init__(world, JOBSETS, JOBS, "JobSet", _DELAY)
        self._independent = independent

    def _sync(self, obj: Json) -> None:
        own = "jobset.sigs.k8s.io/jobset-controller"
        if job_status.is_finished(obj) or obj["spec"].get("managedBy", own) != own:
            return
        status: Json = {"restarts": 0, **obj.get("status", {})}
        conditions = list(status.get("conditions", []))
        jobs = self._current(obj, status["restarts"])
        failed = [job for job in jobs if job_status.has_condition(job, "Failed")]
        if failed:
            self._fail(obj, failed[0], status, conditions)
        elif jobs and self._is_complete(obj, jobs):
            text = "jobset completed successfully"
            self._set_condition(obj, conditions, "Completed", "True", "AllJobsCompleted", text)
            status["terminalState"] = "Completed"
        else:
            self._create(obj, jobs)
            self._suspend_or_resume(obj, conditions)
        self._finish(obj, status, conditions)

    def _finish(self, jobset: Json, status: Json, conditions: list[Json]) -> None:
        jobs = self._current(jobset, status["restarts"])
        rows = job_status.replicated_status(jobset, jobs)
        status["replicatedJobsStatus"] = rows
        replicas = {entry["name"]: entry["replicas"] for entry in jobset["spec"]["replicatedJobs"]}
        is_complete = all(row["ready"] + row["succeeded"] >= replicas[row["name"]] for row in rows)
        restarting = any(
            c["type"] == "RestartingJobSet" and c["status"] == "True" for c in conditions
        )
        if is_complete and restarting:
            args = ("RestartingJobSet", "False", "JobsReady", "all jobs are ready")
            self._set_condition(jobset, conditions, *args)
        if conditions:
            status["conditions"] = conditions
        self._world.set_status(JOBSETS, jobset, status, MANAGER)

    def _current(self, jobset: Json, attempt: int) -> list[Json]:
        """Return the Jobs of this attempt, and remove those of older attempts."""
        current = []
        for job in self._world.owned(jobset["metadata"]["uid"], JOBS):
            if job["metadata"].get("labels", {}).get(_ATTEMPT) == str(attempt):
                current.append(job)
            else:
                self._world.writer.remove(JOBS, key_of(job))
        return current

    def _is_complete(self, jobset: Json, jobs: list[Json]) -> bool:
        desired: int = sum(entry["replicas"] for entry in jobset["spec"]["replicatedJobs"])
        return sum(job_status.has_condition(job, "Complete") for job in jobs) >= desired

    def _create(self, jobset: Json, jobs: list[Json]) -> None:
        present = {job["metadata"]["name"] for job in jobs}
        rows = {row["name"]: row for row in job_status.replicated_status(jobset, jobs)}
        sizes = {entry["name"]: entry["replicas"] for entry in jobset["spec"]["replicatedJobs"]}
        for entry, job in child_objects.child_jobs(jobset):
            if job["metadata"]["name"] in present or not _may_begin(entry, rows, sizes):
                continue
            if (key_of(job)) not in self._world.store.table(JOBS).objects:
                self._world.writer.create(JOBS, job, manager=MANAGER)

    def _suspend_or_resume(self, jobset: Json, conditions: list[Json]) -> None:
        mode = jobset["metadata"].get("annotations", {}).get(_MODE)
        if self._independent and mode == "Independent":
            return
        is_suspended = bool(jobset["spec"].get("suspend"))

        def put(job: Json) -> Json:
            job["spec"]["suspend"] = is_suspended
            return job

        for job in self._world.owned(jobset["metadata"]["uid"], JOBS):
            if bool(job["spec"].get("suspend")) == is_suspended or job_status.is_finished(job):
                continue
            # The real Job controller always acted on a suspension before the JobSet controller reverted it.
            if is_suspended or job_status.has_condition(job, "Suspended"):
                # A Hold reverts this, and then there is no write at all.
                self._world.change(JOBS, job, put, MANAGER)
        if is_suspended:
            args = ("Suspended", "True", "SuspendedJobs", "jobset is suspended")
            self._set_condition(jobset, conditions, *args)
        elif any(c["type"] == "Suspended" and c["status"] == "True" for c in conditions):
            args = ("Suspended", "False", "ResumeJobs", "jobset is resumed")
            self._set_condition(jobset, conditions, *args)

    def _fail(self, jobset: Json, job: Json, status: Json, conditions: list[Json]) -> None:
        """Restart or fail the JobSet, as its failure policy says."""
        first = f"(first failed job: {job['metadata']['name']})"
        policy = jobset["spec"].get("failurePolicy")
        limit = policy.get("maxRestarts", 0) if policy else None
        if limit is not None and status["restarts"] < limit:
            status["restarts"] += 1
            status["restartsCountTowardsMax"] = status["restarts"]
            text = f"applying RestartJobSet failure policy action {first}"
            self._set_condition(
                jobset, conditions, "RestartingJobSet", "True", "DefaultFailurePolicy", text
            )
            return
        if limit is None:
            reason, text = "FailedJobs", f"jobset failed due to one or more job failures {first}"
        else:
            reason = "ReachedMaxRestarts"
            text = f"jobset failed due to reaching max number of restarts {first}"
        if any(c["type"] == "RestartingJobSet" for c in conditions):
            args = ("RestartingJobSet", "False", "JobSetFailed", "jobset failed")
            self._set_condition(jobset, conditions, *args)
        self._set_condition(jobset, conditions, "Failed", "True", reason, text)
        status["terminalState"] = "Failed"

    def _set_condition(
        self, jobset: Json, conditions: list[Json], kind: str, state: str, reason: str, text: str
    ) -> None:
        new = job_status.plain_condition(kind, state, reason, text, self._world.timestamp())
        if job_status.set_condition(conditions, new):
            warning = reason in ("DefaultFailurePolicy", "FailedJobs", "ReachedMaxRestarts")
            self._world.recorder.record(jobset, reason, text, source=MANAGER, warning=warning)


def _may_begin(entry: Json, rows: dict[str, Json], sizes: dict[str, int]) -> bool:
    """Return whether the entries that this one depends on have the required state."""
    for dependency in entry.get("dependsOn", []):
        row = rows[dependency["name"]]
        count = (
            row["succeeded"]
            if dependency["status"] == "Complete"
            else row["ready"] + row["succeeded"]
        )
        if count < sizes[dependency["name"]]:
            return False
    return True
