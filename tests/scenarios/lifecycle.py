"""Scenarios of owners on every cluster: suspended, ordered, retried, finished, scaled to zero."""

from __future__ import annotations

from collections.abc import Mapping

from tests.controlplane.client import Json
from tests.controlplane.objects import JOBSET, JobOptions, job, jobset, pod
from tests.scenarios.making import loose, one_job
from tests.scenarios.scenario import WHEN_TOLD, Played, Scenario, Stage, Step

Where = Mapping[str, str]
KEEP = "example.com/keep"
ROLE = "jobset.sigs.k8s.io/replicatedjob-name"
TIER = "example.com/tier"
IN_ORDER = {"startupPolicy": {"startupPolicyOrder": "InOrder"}}


def _suspended(ns: str, nodes: Where) -> list[Json]:
    workers: JobOptions = {"replicas": 2, "pods": 2, "node_selector": nodes}
    return [jobset("run", ns, jobs={"workers": workers}, suspend=True)]


def _queued(ns: str, nodes: Where) -> list[Json]:
    labels = {"kueue.x-k8s.io/queue-name": "team-queue"}
    return [
        jobset(
            "run", ns, jobs={"w": {"pods": 3, "node_selector": nodes}}, suspend=True, labels=labels
        )
    ]


def _resume_jobset(stage: Stage) -> None:
    stage.client.patch(JOBSET, "JobSet", "run", {"spec": {"suspend": False}}, stage.namespace)


def _in_order(ns: str, nodes: Where) -> list[Json]:
    return [
        jobset(
            "run",
            ns,
            jobs={
                "prepare": {"node_selector": nodes},
                "train": {
                    "pods": 2,
                    "depends_on": {"prepare": "Complete"},
                    "node_selector": nodes,
                },
            },
        )
    ]


def _complete_prepare(stage: Stage) -> None:
    (result,) = stage.pods(**{ROLE: "prepare"})
    stage.script(result, complete_after="1s")


def _driver_lost(ns: str, nodes: Where) -> list[Json]:
    """Return a JobSet in order whose driver asks for a label that no node has."""
    driver: JobOptions = {"node_selector": {**nodes, TIER: "head"}}
    workers: JobOptions = {"pods": 2, "node_selector": nodes}
    jobs = {"driver": driver, "workers": workers}
    return [jobset("run", ns, jobs=jobs, jobset_spec=IN_ORDER)]


def _done(ns: str, nodes: Where) -> list[Json]:
    short: JobOptions = {"complete_after": "1s", "node_selector": nodes}
    return [jobset("run", ns, jobs={"a": {"pods": 2, **short}, "b": short})]


def _fail_one(stage: Stage) -> None:
    """One pod ends with an error; the Job makes another, which does not start yet."""
    stage.start(2)
    first = stage.wait_running(2)[0]
    stage.wait_seen()
    stage.script(first, fail_after="1s")


def _delete_what_is_kept(stage: Stage) -> None:
    """A user deletes the Job, and a finalizer of another user delays it."""
    stage.wait_running(2)
    keep = {"metadata": {"finalizers": [KEEP]}}
    stage.client.patch("batch/v1", "Job", "run", keep, stage.namespace)
    stage.client.delete("batch/v1", "Job", "run", stage.namespace)


def _delete_pod(stage: Stage) -> None:
    stage.client.delete("v1", "Pod", "solo", stage.namespace)


def _kept_pod(ns: str, nodes: Where) -> list[Json]:
    created = pod("solo", ns, node_selector=nodes)
    created["metadata"]["finalizers"] = [KEEP]
    return [created]


def _nothing_happens(stage: Stage) -> None:
    """Time passes."""


def _scale_to_zero(stage: Stage) -> None:
    stage.wait_running(2)
    spec = {"spec": {"parallelism": 0}}
    stage.client.patch("batch/v1", "Job", "run", spec, stage.namespace)


def _ended(ns: str, nodes: Where) -> list[Json]:
    return [job("run", ns, parallelism=2, fail_after="1s", backoff_limit=0, node_selector=nodes)]


LIFECYCLE = (
    Scenario(
        "jobset-suspended", "JobSet", "run", "suspended", "suspended", _suspended,
        members={"desired": 4, "created": 0, "ready": 0}, twin="jobset-queued",
    ),
    Scenario(
        # No Kueue is served in any of these clusters: what resumes it is its own field.
        "jobset-queued", "JobSet", "run", "queue-evaluating", "blocked", _queued,
        says=("team-queue", "but this cluster serves no"), advises=("Resume", "run"),
        members={"desired": 3, "created": 0}, nodes=1, twin="jobset-suspended",
        steps=(
            Step(_resume_jobset, "running", "running", (), {"ready": 3}),
        ),
    ),
    # The first Job runs; the second may begin when it has ended, not before.
    Scenario(
        "in-order", "JobSet", "run", "dependency-waiting", "waiting", _in_order,
        says=("train", "prepare"), members={"desired": 3, "created": 1, "ready": 1}, nodes=1,
        twin="jobset-done",
        steps=(
            Step(
                _complete_prepare, "running", "running",
                members={"desired": 3, "succeeded": 1, "ready": 2},
            ),
        ),
    ),
    Scenario(
        "jobset-done", "JobSet", "run", "succeeded", "succeeded", _done,
        members={"desired": 3, "succeeded": 3}, nodes=1, twin="job-failed",
    ),
    Scenario(
        "job-failed", "Job", "run", "failed", "failed", _ended,
        says=("exited 1", "no retries left"), nodes=1, twin="job-retried",
    ),
    # A retry of a Job that may fail three times.
    Scenario(
        "job-retried", "Job", "run", "restarting", "degraded",
        one_job("run", 2, start_after=WHEN_TOLD, backoff_limit=3), says=("1 of 3",),
        members={"desired": 2}, nodes=1, act=_fail_one, twin="job-failed",
    ),
    # The deletion is intended. A late deletion is reported after its deadline.
    Scenario(
        "job-deleted", "Job", "run", "being-deleted", "suspended", loose(2),
        says=("Job run", "being deleted", "2 pods"), nodes=1, act=_delete_what_is_kept,
        twin="scaled-to-zero",
        steps=(
            Step(
                _nothing_happens, "being-deleted", "blocked", ("Job run", "should be gone"),
                advises=("finalizer", "Job run"),
            ),
        ),
    ),
    Scenario(
        "pod-deleted", "Pod", "solo", "being-deleted", "suspended", _kept_pod,
        says=("Pod solo", "being deleted"), nodes=1, act=_delete_pod, twin="scaled-to-zero",
        steps=(
            Step(
                _nothing_happens, "being-deleted", "blocked", ("Pod solo", "should be gone"),
                advises=("finalizer", "solo"),
            ),
        ),
    ),
    # Neither suspended nor waiting: it requests no pods.
    Scenario(
        "scaled-to-zero", "Job", "run", "paused", "suspended", loose(2),
        says=("run", "parallelism", "0"), nodes=1, act=_scale_to_zero, twin="job-failed",
    ),
)  # fmt: skip

DRIVER_LOST = (
    # In order: the workers come when the driver is ready. The driver wants a label that no node has,
    # so the workers are not even made. The driver is the cause.
    Scenario(
        "driver-lost", "JobSet", "run", "no-matching-node", "blocked",
        _driver_lost,
        nodes=2, says=("driver", TIER), members={"desired": 3, "created": 1, "scheduled": 0},
        twin="in-order",
    ),
)  # fmt: skip

PLAYED: Played = {"k136": LIFECYCLE, "plain": (*LIFECYCLE, *DRIVER_LOST)}
