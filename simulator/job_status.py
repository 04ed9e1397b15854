"""The status of Jobs and JobSets, computed from the objects that they own, as their controllers do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]

_COMPLETE = "Reached expected number of succeeded pods"
_BACKOFF = "Job has reached the specified backoff limit"


def condition_of(obj: Json, kind: str) -> Json | None:
    """Return the condition of a type, or None."""
    for condition in obj.get("status", {}).get("conditions", []):
        if condition["type"] == kind:
            result: Json = condition
            return result
    return None


def has_condition(obj: Json, kind: str) -> bool:
    """Return whether a condition exists and is True."""
    condition = condition_of(obj, kind)
    return condition is not None and condition["status"] == "True"


def set_condition(conditions: list[Json], new: Json) -> bool:
    """Insert a condition or replace its older form. Return whether status or reason changed."""
    for index, old in enumerate(conditions):
        if old["type"] == new["type"]:
            if (old["status"], old.get("reason")) == (new["status"], new.get("reason")):
                return False
            conditions[index] = new
            return True
    conditions.append(new)
    return True


def is_ready(pod: Json) -> bool:
    """Return whether the pod is ready."""
    return has_condition(pod, "Ready")


def phase(pod: Json) -> str:
    """Return the phase of the pod."""
    return str(pod.get("status", {}).get("phase", "Pending"))


def job_condition(kind: str, status: str, reason: str, message: str, now: str) -> Json:
    """Return a condition in the form of Jobs."""
    return {
        "lastProbeTime": now,
        "lastTransitionTime": now,
        "message": message,
        "reason": reason,
        "status": status,
        "type": kind,
    }


def plain_condition(kind: str, status: str, reason: str, message: str, now: str) -> Json:
    """Return a condition in the form of JobSets and PodGroups."""
    return {
        "lastTransitionTime": now,
        "message": message,
        "reason": reason,
        "status": status,
        "type": kind,
    }


def count_pods(pods: Sequence[Json]) -> Json:
    """Return the counts of a Job's status for its pods, without zero counts that the API omits."""
    deleted = [pod for pod in pods if "deletionTimestamp" in pod["metadata"]]
    remaining = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
    live = [pod for pod in remaining if phase(pod) not in ("Succeeded", "Failed")]
    terminating = [pod for pod in deleted if phase(pod) not in ("Succeeded", "Failed")]
    counts: Json = {"ready": sum(map(is_ready, live)), "terminating": len(terminating)}
    counts["uncountedTerminatedPods"] = {}
    if live:
        counts["active"] = len(live)
    done = [pod for pod in pods if phase(pod) == "Succeeded"]
    failed = [pod for pod in pods if phase(pod) == "Failed"]
    if done:
        counts["succeeded"] = len(done)
        indexes = sorted({int(completion_index(pod)) for pod in done})
        counts["completedIndexes"] = ranges(indexes)
    if failed:
        counts["failed"] = len(failed)
    return counts


def completion_index(pod: Json) -> str:
    """Return the completion index of a Job's pod."""
    labels = pod["metadata"].get("labels", {})
    return str(labels.get("batch.kubernetes.io/job-completion-index", "0"))


def ranges(numbers: Sequence[int]) -> str:
    """Return sorted numbers as `0,2-4`, the format of Job indexes."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(_range(run) for run in runs)


def _range(run: list[int]) -> str:
    if len(run) == 1:
        return str(run[0])
    # Two neighbours are listed, and three or more become a range.
    return f"{run[0]},{run[1]}" if len(run) == 2 else f"{run[0]}-{run[-1]}"


def completed(now: str) -> list[Json]:
    """Return the conditions of a complete Job."""
    return [
        job_condition("SuccessCriteriaMet", "True", "CompletionsReached", _COMPLETE, now),
        job_condition("Complete", "True", "CompletionsReached", _COMPLETE, now),
    ]


def job_failed(now: str) -> list[Json]:
    """Return the conditions of a Job with too many failed pods."""
    return [
        job_condition("FailureTarget", "True", "BackoffLimitExceeded", _BACKOFF, now),
        job_condition("Failed", "True", "BackoffLimitExceeded", _BACKOFF, now),
    ]


def job_suspended(now: str) -> Json:
    """Return the condition of a suspended Job."""
    return job_condition("Suspended", "True", "JobSuspended", "Job suspended", now)


def job_resumed(now: str) -> Json:
    """Return the condition of a resumed Job."""
    return job_condition("Suspended", "False", "JobResumed", "Job resumed", now)


def is_finished(obj: Json) -> bool:
    """Return whether a Job or a JobSet has finished."""
    return any(has_condition(obj, kind) for kind in ("Complete", "Completed", "Failed"))


def replicated_status(jobset: Json, jobs: Sequence[Json]) -> list[Json]:
    """Return `replicatedJobsStatus`, the last entry first, as the real controller usually has it."""
    statuses = []
    for entry in reversed(jobset["spec"]["replicatedJobs"]):
        mine = [job for job in jobs if _entry_name(job) == entry["name"]]
        open_jobs = [job for job in mine if not is_finished(job)]
        statuses.append(
            {
                "active": sum(job.get("status", {}).get("active", 0) > 0 for job in open_jobs),
                "failed": sum(has_condition(job, "Failed") for job in mine),
                "name": entry["name"],
                "ready": sum(_is_ready_job(job) for job in open_jobs),
                "succeeded": sum(has_condition(job, "Complete") for job in mine),
                "suspended": sum(bool(job["spec"].get("suspend")) for job in open_jobs),
            }
        )
    return statuses


def _entry_name(job: Json) -> str:
    return str(job["metadata"].get("labels", {}).get("jobset.sigs.k8s.io/replicatedjob-name", ""))


def _is_ready_job(job: Json) -> bool:
    spec, status = job["spec"], job.get("status", {})
    desired = min(spec["parallelism"], spec.get("completions") or spec["parallelism"])
    return bool(status.get("succeeded", 0) + status.get("ready", 0) >= desired)
