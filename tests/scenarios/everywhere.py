"""Scenarios that mean the same on every cluster, with or without gang scheduling."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from tests.controlplane.client import Json
from tests.controlplane.objects import job, jobset, pod, quota
from tests.scenarios.scenario import WHEN_TOLD, Played, Scenario, Stage, Step

Where = Mapping[str, str]


def _suspended(ns: str, nodes: Where) -> list[Json]:
    return [job("night-run", ns, parallelism=4, suspend=True)]


def _queued(ns: str, nodes: Where) -> list[Json]:
    labels = {"kueue.x-k8s.io/queue-name": "gpu-lq"}
    return [job("queued-run", ns, parallelism=4, suspend=True, job_labels=labels)]


def _refused(ns: str, nodes: Where) -> list[Json]:
    return [
        quota("pods-quota", ns, pods="2"),
        job("refused", ns, parallelism=4, gang="all", node_selector=nodes),
    ]


def _jobset_running(ns: str, nodes: Where) -> list[Json]:
    return [
        jobset(
            "whole",
            ns,
            jobs={
                "driver": {"node_selector": nodes},
                "workers": {"replicas": 2, "pods": 2, "node_selector": nodes},
            },
        )
    ]


def _depends(ns: str, nodes: Where) -> list[Json]:
    return [
        jobset(
            "staged",
            ns,
            jobs={
                "driver": {"never_ready": "pending", "node_selector": nodes},
                "workers": {"pods": 3, "depends_on": {"driver": "Ready"}, "node_selector": nodes},
            },
        )
    ]


def _image(ns: str, nodes: Where) -> list[Json]:
    return [
        job(
            "typo",
            ns,
            parallelism=2,
            never_ready="image-pull",
            image="registry.example/no-such:1",
            node_selector=nodes,
        )
    ]


def _crash(ns: str, nodes: Where) -> list[Json]:
    return [
        job(
            "crashing",
            ns,
            parallelism=2,
            never_ready="crash-loop",
            restart_policy="OnFailure",
            backoff_limit=100,
            restarts=5,
            node_selector=nodes,
        )
    ]


def _starting(ns: str, nodes: Where) -> list[Json]:
    return [job("pulling", ns, parallelism=2, never_ready="pending", node_selector=nodes)]


def _failed(ns: str, nodes: Where) -> list[Json]:
    return [
        jobset("broken", ns, jobs={"w": {"pods": 2, "fail_after": "1s", "node_selector": nodes}})
    ]


def _succeeded(ns: str, nodes: Where) -> list[Json]:
    return [job("done", ns, parallelism=2, complete_after="1s", node_selector=nodes)]


def _restarting(ns: str, nodes: Where) -> list[Json]:
    return [
        jobset(
            "flaky",
            ns,
            max_restarts=3,
            jobs={
                "a": {"pods": 2, "start_after": WHEN_TOLD, "node_selector": nodes},
                "b": {"pods": 1, "start_after": WHEN_TOLD, "node_selector": nodes},
            },
        )
    ]


def _fail_one(stage: Stage) -> None:
    """One pod fails; the JobSet makes all pods anew, and those do not start."""
    stage.start(3)
    first = stage.wait_running(3)[0]
    stage.wait_seen()
    stage.script(first, fail_after="1s")


def _lone_pod(ns: str, nodes: Where) -> list[Json]:
    return [pod("notebook", ns, node_selector=nodes)]


def _gated_pod(ns: str, nodes: Where) -> list[Json]:
    return [pod("gated", ns, gates=["example.com/data-staged"], node_selector=nodes)]


def _nobody(ns: str, nodes: Where) -> list[Json]:
    return [pod("orphaned", ns, scheduler="retired-scheduler", node_selector=nodes)]


def _managed(ns: str, nodes: Where) -> list[Json]:
    return [
        job("delegated", ns, parallelism=2, job_spec={"managedBy": "example.com/other-controller"})
    ]


def _copy_status(stage: Stage) -> None:
    """Its manager runs it somewhere else and copies the status of that run."""
    started = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    copied = {"startTime": started, "active": 2, "ready": 2}
    stage.client.patch_status("batch/v1", "Job", "delegated", copied, stage.namespace)


EVERYWHERE = (
    Scenario(
        "suspended", "Job", "night-run", "suspended", "suspended", _suspended,
        members={"desired": 4, "created": 0, "ready": 0}, twin="queue-evaluating",
    ),
    Scenario(
        # None of these clusters serves Kueue, so no controller will admit it.
        "queue-evaluating", "Job", "queued-run", "queue-evaluating", "blocked", _queued,
        says=("gpu-lq", "but this cluster serves no"), advises=("Resume", "queued-run"),
        members={"desired": 4, "created": 0}, twin="suspended",
    ),
    Scenario(
        "refused", "Job", "refused", "pod-creation-refused", "blocked", _refused,
        says=("2 of 4", "pods-quota"), members={"desired": 4, "created": 2}, nodes=1,
        twin="starting",
    ),
    Scenario(
        "whole", "JobSet", "whole", "running", "running", _jobset_running,
        members={"desired": 5, "created": 5, "scheduled": 5, "ready": 5, "held": 0}, nodes=1,
        twin="staged",
    ),
    Scenario(
        "staged", "JobSet", "staged", "dependency-waiting", "waiting", _depends,
        says=("workers", "driver"), members={"desired": 4, "created": 1, "ready": 0}, nodes=1,
        twin="whole",
    ),
    Scenario(
        "image-pull", "Job", "typo", "image-pull", "blocked", _image,
        says=("registry.example/no-such:1",), members={"scheduled": 2, "ready": 0}, nodes=1,
        twin="crash-loop",
    ),
    Scenario(
        "crash-loop", "Job", "crashing", "crash-loop", "blocked", _crash,
        says=("main", "5"), members={"scheduled": 2, "ready": 0}, nodes=1, twin="image-pull",
    ),
    Scenario(
        "starting", "Job", "pulling", "starting", "starting", _starting,
        says=("Both pods are placed",), members={"scheduled": 2, "ready": 0}, nodes=1, twin="image-pull",
    ),
    Scenario(
        "failed", "JobSet", "broken", "failed", "failed", _failed,
        says=("broken-w-0",), nodes=1, twin="succeeded",
    ),
    Scenario(
        "succeeded", "Job", "done", "succeeded", "succeeded", _succeeded,
        members={"desired": 2, "succeeded": 2}, nodes=1, twin="failed",
    ),
    Scenario(
        "restarting", "JobSet", "flaky", "restarting", "degraded", _restarting,
        says=("1 of 3",), members={"desired": 3}, nodes=1, act=_fail_one, twin="failed",
        steps=(Step(lambda stage: stage.start(3), "running", "running", (), {"ready": 3}),),
    ),
    Scenario(
        "lone-pod", "Pod", "notebook", "running", "running", _lone_pod,
        members={"desired": 1, "ready": 1, "quorum": None}, nodes=1, twin="gated",
    ),
    Scenario(
        "gated", "Pod", "gated", "scheduling-gated", "waiting", _gated_pod,
        says=("example.com/data-staged",), members={"scheduled": 0}, nodes=1, twin="lone-pod",
    ),
    Scenario(
        "not-attempted", "Pod", "orphaned", "not-attempted", "blocked", _nobody,
        says=("retired-scheduler",), members={"scheduled": 0}, nodes=1, twin="gated",
    ),
    Scenario(
        # It says that another controller makes its pods. That controller does not exist, so no pods appear.
        "managed-by", "Job", "delegated", "pods-not-created", "starting", _managed,
        says=("example.com/other-controller",), members={"desired": 2, "created": 0},
        twin="suspended",
        steps=(
            Step(
                lambda stage: None, "pods-not-created", "blocked",
                ("example.com/other-controller",), {"desired": 2, "created": 0},
            ),
        ),
    ),
    Scenario(
        # Nobody here sees those pods, so it is not said to run either.
        "managed-elsewhere", "Job", "delegated", "not-observed", "unknown", _managed,
        says=("example.com/other-controller", "2 of 2 pods are ready"), members={"desired": 2},
        act=_copy_status, twin="managed-by",
    ),
)  # fmt: skip

PLAYED: Played = dict.fromkeys(("k137", "k136", "plain"), EVERYWHERE)
