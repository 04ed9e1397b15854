"""Scenarios of pods that a silent node keeps: deleted, past their grace period, and still there."""

from __future__ import annotations

from collections.abc import Mapping

from gangboard.domain.pod_constraints import OUT_OF_SERVICE
from tests.controlplane.client import Json
from tests.controlplane.conditions import is_true
from tests.controlplane.nodes import silence_node
from tests.controlplane.objects import JobOptions, jobset
from tests.scenarios.making import gang, one_job
from tests.scenarios.scenario import PATIENCE, Played, Scenario, Stage, Step, is_ready, patiently

_WAITS = {"podReplacementPolicy": "Failed"}
"""`spec` of a Job that replaces a pod once the old one is gone. By default it replaces a terminating one."""


def _silence_one(stage: Stage) -> Json:
    """Silence the node of a member, and return that member once the node has become NotReady."""
    stage.wait_seen()
    victim = next(pod for pod in stage.pods() if is_ready(pod))
    node: str = victim["spec"]["nodeName"]
    silence_node(stage.client, node)
    stage.client.wait_for(
        "v1", "Node", node, until=lambda result: not is_true(result, "Ready"), timeout=PATIENCE
    )
    return victim


def _delete_on_silent_node(stage: Stage) -> Json:
    victim = _silence_one(stage)
    stage.client.delete("v1", "Pod", victim["metadata"]["name"], stage.namespace, grace=1)
    return victim


def _lose_one(stage: Stage) -> None:
    _delete_on_silent_node(stage)


def _replace_one(stage: Stage) -> None:
    """As above. Return once its successor runs, while the old pod is still there."""
    victim = _delete_on_silent_node(stage)
    stage.wait_running(3)
    assert victim["metadata"]["uid"] in {pod["metadata"]["uid"] for pod in _kept(stage)}


def _fail_another(stage: Stage) -> None:
    """Fail a member on a node that works. The owner then ends the one on the silent node, too.

    Kubernetes marks the silent node first and its pods a moment later, so the pod is told by its node.
    """
    silent_node = _silence_one(stage)["spec"]["nodeName"]
    others = [pod for pod in stage.pods() if pod["spec"]["nodeName"] != silent_node]
    stage.script(others[0], fail_after="1s")


def _fail_one(stage: Stage) -> None:
    stage.wait_seen()
    stage.script(stage.pods()[0], fail_after="1s")


def _kept(stage: Stage) -> list[Json]:
    return [pod for pod in stage.pods() if "deletionTimestamp" in pod["metadata"]]


def _force(stage: Stage) -> None:
    """Follow the last advice."""
    for pod in patiently(lambda: _kept(stage), f"a terminating pod in {stage.namespace}"):
        stage.delete_pod(pod)


def _declare_off(stage: Stage) -> None:
    """Taint the silent node, as after a look at the machine. A Job keeps its finalizer on a force-deleted pod."""
    (pod,) = patiently(lambda: _kept(stage), f"a terminating pod in {stage.namespace}")
    node = stage.client.get("v1", "Node", pod["spec"]["nodeName"])
    taint = {"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"}
    taints = [*node["spec"]["taints"], taint]
    stage.client.patch("v1", "Node", node["metadata"]["name"], {"spec": {"taints": taints}})


def _cells(ns: str, nodes: Mapping[str, str]) -> list[Json]:
    """Return a JobSet of two Jobs of 6 CPU that restarts."""
    cells: JobOptions = {"replicas": 2, "cpu": "6", "grace": 1, "node_selector": nodes}
    return [jobset("run", ns, jobs={"cells": cells}, max_restarts=3)]


def _pair(ns: str, nodes: Mapping[str, str]) -> list[Json]:
    """Return a JobSet of one Job of two pods of 6 CPU that restarts."""
    pair: JobOptions = {"pods": 2, "cpu": "6", "grace": 1, "node_selector": nodes}
    return [jobset("run", ns, jobs={"pair": pair}, max_restarts=3)]


JOBS = (
    # 6 CPU each on nodes of 8, with a node to spare. The Job waits for its pod, and nobody ends that.
    Scenario(
        "kept-by-silence", "Job", "run", "termination-stuck", "blocked",
        gang(3, cpu="6", job_spec=_WAITS), nodes=4, act=_lose_one,
        says=("2 of 3", "Job run waits for pod run-", "kept-by-silence-"),
        advises=("out-of-service", "kept-by-silence-"), members={"desired": 3, "ready": 2},
        steps=(Step(_declare_off, "running", "running", (), {"ready": 3}),),
        twin="replaced-elsewhere",
    ),
    # The same with the default policy: the successor runs on the spare node, beside the old pod.
    Scenario(
        "replaced-elsewhere", "Job", "run", "running", "running", gang(3, cpu="6"), nodes=4,
        members={"desired": 3, "ready": 3},
        steps=(Step(_replace_one, "running", "running", (), {"ready": 3}),), twin="kept-by-silence",
    ),
)  # fmt: skip

OWNERS = (
    # A member fails and the Job may not retry. It has failed only once its other pod is gone.
    Scenario(
        "fails-late", "JobSet", "run", "termination-stuck", "blocked", _pair, nodes=3,
        act=_fail_another, says=("Job run-pair-0 is failing and waits for pod run-pair-0-",),
        steps=(Step(_force, "running", "running", (), {"ready": 2}),), twin="restarts",
    ),
    # Without the JobSet the run is over, and its end is only reported late.
    Scenario(
        "ends-late", "Job", "run", "failed", "failed",
        one_job("run", 2, gang="all", cpu="6", grace=1, backoff_limit=0), nodes=2,
        act=_fail_another, says=("is failing", "ends-late-"), twin="fails-late",
    ),
    # A Job of two fails, so the JobSet makes both again. The old pod of the other Job stays.
    Scenario(
        "restart-waits", "JobSet", "run", "termination-stuck", "blocked", _cells, nodes=3,
        act=_fail_another, says=("JobSet run waits for pod run-cells-",),
        advises=("force-delete pod run-cells-",), members={"desired": 2},
        steps=(Step(_force, "running", "running", (), {"ready": 2}),), twin="restarts",
    ),
    Scenario(
        "restarts", "JobSet", "run", "running", "running", _cells, nodes=3,
        steps=(Step(_fail_one, "running", "running", (), {"ready": 2}),), twin="restart-waits",
    ),
)  # fmt: skip

PLAYED: Played = {"k137": (*JOBS, *OWNERS), "k136": JOBS}
