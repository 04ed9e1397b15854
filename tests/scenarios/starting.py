"""Scenarios of members that have their place and do not come up, on every cluster.

The kubelet's words come from a real one; the fake kubelet or the scenario itself says them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.objects import jobset
from tests.scenarios.lifecycle import IN_ORDER
from tests.scenarios.making import Objects, one_job
from tests.scenarios.scenario import Played, Scenario, Stage, Step, patiently

MOUNT = 'MountVolume.SetUp failed for volume "config" : configmap "train-config" not found'
SANDBOX = (
    "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for "
    'sandbox "4f0c": plugin type="calico" failed (add): no more IP addresses'
)


def _beside_driver(**workers: Any) -> Objects:
    """Return a JobSet `run` whose driver runs and whose two workers are as said."""

    def make(ns: str, nodes: Any) -> list[Json]:
        trouble = {"pods": 2, "node_selector": nodes, **workers}
        jobs: Any = {"driver": {"node_selector": nodes}, "workers": trouble}
        return [jobset("run", ns, jobs=jobs)]

    return make


def _creating(stage: Stage) -> list[Json]:
    """Return the two pods that wait for their containers, once they do: the driver does only for a moment."""

    def look() -> list[Json] | None:
        result = [pod for pod in stage.pods() if _waits(pod) and not _drives(pod)]
        return result if len(result) == 2 else None

    return patiently(look, f"two pods to be created in {stage.namespace}")


def _waits(pod: Json) -> bool:
    statuses = pod.get("status", {}).get("containerStatuses") or []
    return any(
        pod_status["state"].get("waiting", {}).get("reason") == "ContainerCreating"
        for pod_status in statuses
    )


def _drives(pod: Json) -> bool:
    labels = pod["metadata"].get("labels") or {}
    return bool(labels.get("jobset.sigs.k8s.io/replicatedjob-name") == "driver")


def _told(reason: str, text: str, pods: int) -> Callable[[Stage], None]:
    """Return an act: the kubelet says that of the first so many pods that wait."""

    def act(stage: Stage) -> None:
        for pod in _creating(stage)[:pods]:
            stage.tell(pod, reason, text, "kubelet", "Warning")

    return act


def _mended(stage: Stage) -> None:
    """The pods continue as usual afterwards."""
    for pod in _creating(stage):
        stage.script(pod, never_ready="no")


def _crashing_loader(ns: str, nodes: Any) -> list[Json]:
    """Return a JobSet in order whose first Job crashes again and again."""
    loader = {"never_ready": "crash-loop", "restart_policy": "OnFailure", "backoff_limit": 50}
    jobs: Any = {
        "loader": {**loader, "node_selector": nodes},
        "learners": {"pods": 2, "node_selector": nodes},
    }
    return [jobset("run", ns, jobs=jobs, jobset_spec=IN_ORDER)]


STARTING = (
    # In order: the loader crashes again and again, so it is never ready and there are no learners. No
    # member runs.
    Scenario(
        "loader-crash", "JobSet", "run", "crash-loop", "blocked",
        _crashing_loader, nodes=1, says=("loader",),
        members={"desired": 3, "created": 1, "scheduled": 1, "ready": 0},
        twin="secret-missing-beside",
    ),
    Scenario(
        "secret-missing", "Job", "run", "container-config", "blocked",
        one_job("run", 2, never_ready="container-config"),
        says=("main", "2 pods", 'secret "token" not found'),
        members={"scheduled": 2, "ready": 0}, nodes=1, twin="init-failing",
    ),
    Scenario(
        "secret-missing-beside", "JobSet", "run", "container-config", "degraded",
        _beside_driver(never_ready="container-config"),
        says=("main", "2 pods", 'secret "token" not found'),
        members={"desired": 3, "scheduled": 3, "ready": 1}, nodes=1, twin="image-pull-beside",
    ),
    Scenario(
        "init-failing", "Job", "run", "init-failing", "blocked",
        one_job("run", 2, never_ready="init-crash-loop", init=True, restarts=3),
        says=("setup", "2 pods", "3 restarts"), members={"scheduled": 2, "ready": 0}, nodes=1,
        twin="secret-missing",
    ),
    Scenario(
        "init-failing-beside", "JobSet", "run", "init-failing", "degraded",
        _beside_driver(never_ready="init-crash-loop", init=True, restarts=3),
        says=("setup", "2 pods"), members={"desired": 3, "scheduled": 3, "ready": 1}, nodes=1,
        twin="crash-loop-beside",
    ),
    Scenario(
        "image-pull-beside", "JobSet", "run", "image-pull", "degraded",
        _beside_driver(never_ready="image-pull", image="registry.example/no-such:2"),
        says=("2 pods", "registry.example/no-such:2"),
        members={"desired": 3, "scheduled": 3, "ready": 1}, nodes=1, twin="unready-beside",
    ),
    Scenario(
        "crash-loop-beside", "JobSet", "run", "crash-loop", "degraded",
        _beside_driver(never_ready="crash-loop", restart_policy="OnFailure", restarts=7, backoff_limit=100),
        says=("main", "7"), members={"desired": 3, "scheduled": 3, "ready": 1}, nodes=1,
        twin="unready-beside",
    ),
    # They run and their probe fails: not down, not up.
    Scenario(
        "unready-beside", "JobSet", "run", "starting", "starting",
        _beside_driver(never_ready="unready"),
        says=("Both pods are placed", "not ready"), members={"desired": 3, "scheduled": 3, "ready": 1}, nodes=1,
        twin="crash-loop-beside",
    ),
    # Kubelet failures before any container exists: only its events show them.
    Scenario(
        "config-map-missing", "Job", "run", "pod-setup-failing", "blocked",
        one_job("run", 2, never_ready="pending"),
        says=("2 pods", 'configmap "train-config" not found'),
        members={"scheduled": 2, "ready": 0}, nodes=1, act=_told("FailedMount", MOUNT, 2),
        twin="mounted-late", steps=(Step(_mended, "running", "running", (), {"ready": 2}),),
    ),
    Scenario(
        "no-network", "JobSet", "run", "pod-setup-failing", "degraded",
        _beside_driver(never_ready="pending"),
        says=("1 pod", "no more IP addresses"), members={"desired": 3, "scheduled": 3, "ready": 1},
        nodes=1, act=_told("FailedCreatePodSandBox", SANDBOX, 1), twin="unready-beside",
    ),
    # A mount that fails at first and then does not: no fault at all.
    Scenario(
        "mounted-late", "Job", "run", "running", "running",
        one_job("run", 2, start_after="20s"), members={"ready": 2}, nodes=1,
        act=_told("FailedMount", MOUNT, 2), twin="config-map-missing",
    ),
)  # fmt: skip

PLAYED: Played = {"plain": STARTING}
