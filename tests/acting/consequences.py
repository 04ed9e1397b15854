"""Effects of a suspended Job on its JobSet, predicted and then observed: one story for each
policy."""

from __future__ import annotations

import time
from typing import Any

from tests.acting.scene import Json, Scene, wait
from tests.controlplane.objects import JOBSET, JobOptions, jobset
from tests.scenarios.scenario import WHEN_TOLD

_STAYS_SECONDS = 8.0
"""Longer than any controller here needs for its next move."""


def _warned(scene: Scene, job: str, *texts: str) -> None:
    """The dry run warns before any request is sent. Every word must be in the same sentence."""
    plan = scene.dry_run("suspend", {"apiVersion": "batch/v1", "kind": "Job", **scene.job(job)})
    sentences = [*plan["reactions"], *plan["warnings"]]
    assert any(all(text.lower() in warning.lower() for text in texts) for warning in sentences), (
        plan
    )


def _finish_pods(scene: Scene, job: str) -> None:
    """Let all pods of a Job succeed."""
    for pod in scene.pods(job):
        _label_pod(scene, pod, "complete-after", "1s")


def _label_pod(scene: Scene, pod: Json, what: str, value: str) -> None:
    """Tell the fake kubelet something about a pod (see `tests/controlplane/kwok.yaml`)."""
    note = {"metadata": {"annotations": {f"test.gangboard.dev/{what}": value}}}
    scene.client.patch("v1", "Pod", pod["metadata"]["name"], note, scene.namespace)


def _condition(obj: Json, type_: str) -> bool:
    conditions: list[dict[str, Any]] = obj.get("status", {}).get("conditions") or []
    return any(
        condition["type"] == type_ and condition["status"] == "True" for condition in conditions
    )


def _stays(condition: Any) -> None:
    ends_at = time.monotonic() + _STAYS_SECONDS
    while time.monotonic() < ends_at:
        assert condition()
        time.sleep(0.5)


def failure_policy(scene: Scene) -> None:
    """A sibling fails: the JobSet restarts, and the held Job is born suspended."""
    workers: JobOptions = {"replicas": 2, "node_selector": scene.where}
    scene.set_up(jobset("run", scene.namespace, jobs={"w": workers}, max_restarts=2))
    scene.wait_running(2)
    scene.wait_seen("run", "run-w-1")
    _warned(scene, "run-w-1", "restart", "suspended")
    scene.hold("run", "run-w-1")
    before = scene.job("run-w-1")["metadata"]["uid"]
    note = {"metadata": {"annotations": {"test.gangboard.dev/fail-after": "1s"}}}
    (pod,) = scene.pods("run-w-0")
    scene.client.patch("v1", "Pod", pod["metadata"]["name"], note, scene.namespace)
    wait(
        lambda: (
            scene.jobset("run")["status"].get("restarts") == 1
            and (job := scene.client.find("batch/v1", "Job", "run-w-1", scene.namespace))
            is not None
            and job["metadata"]["uid"] != before
        ),
        what="the JobSet to restart",
    )
    scene.wait_running(1, "run-w-0")
    _stays(lambda: scene.job("run-w-1")["spec"]["suspend"] is True)
    assert scene.pods("run-w-1") == []


def success_policy(scene: Scene) -> None:
    """`All` never completes while one Job is held; `Any` completes and deletes it."""
    two: JobOptions = {"replicas": 2, "node_selector": scene.where}
    scene.set_up(
        jobset("all", scene.namespace, jobs={"w": two}, success="All"),
        jobset("any", scene.namespace, jobs={"w": two}, success="Any"),
    )
    scene.wait_running(4)
    for name in ("all", "any"):
        scene.wait_seen(name, f"{name}-w-1")
    _warned(scene, "all-w-1", "cannot", "complete")
    _warned(scene, "any-w-1", "complete", "delete")
    scene.hold("all", "all-w-1")
    scene.hold("any", "any-w-1")
    for name in ("all", "any"):
        _finish_pods(scene, f"{name}-w-0")
    wait(lambda: _condition(scene.job("all-w-0"), "Complete"), what="all-w-0 to complete")
    wait(lambda: _condition(scene.jobset("any"), "Completed"), what="any to complete")
    scene.client.wait_gone("batch/v1", "Job", "any-w-1", scene.namespace)
    _stays(lambda: not _condition(scene.jobset("all"), "Completed"))
    scene.wait_seen("all", "all-w-1")
    ended = scene.act("resume", {"apiVersion": "batch/v1", "kind": "Job", **scene.job("all-w-1")})
    assert ended["state"] == "verified", ended
    scene.wait_running(1, "all-w-1")
    _finish_pods(scene, "all-w-1")
    wait(lambda: _condition(scene.jobset("all"), "Completed"), what="all to complete")


def depends_on(scene: Scene) -> None:
    """A Job that depends on the held Job does not exist until the held Job is resumed and ready."""
    jobs: dict[str, JobOptions] = {
        "first": {"node_selector": scene.where, "start_after": WHEN_TOLD},
        "second": {"node_selector": scene.where, "depends_on": {"first": "Ready"}},
    }
    scene.set_up(jobset("run", scene.namespace, jobs=jobs))
    wait(lambda: scene.pods("run-first-0"), what="the first pod")
    scene.wait_seen("run", "run-first-0")
    _warned(scene, "run-first-0", "second")
    scene.hold("run", "run-first-0")
    _stays(lambda: scene.client.find("batch/v1", "Job", "run-second-0", scene.namespace) is None)
    scene.wait_seen("run", "run-first-0")
    ended = scene.act(
        "resume", {"apiVersion": "batch/v1", "kind": "Job", **scene.job("run-first-0")}
    )
    assert ended["state"] == "verified", ended
    (first,) = wait(lambda: scene.pods("run-first-0"), what="the first pod after the resume")
    _label_pod(scene, first, "start-after", "0s")
    scene.wait_running(1, "run-second-0")


def time_to_live(scene: Scene) -> None:
    """The time to live begins with the end: while a Job is held under `All` it does not."""
    manifest = jobset(
        "run",
        scene.namespace,
        jobs={"w": {"replicas": 2, "node_selector": scene.where}},
        jobset_spec={"ttlSecondsAfterFinished": 1},
    )
    scene.set_up(manifest)
    scene.wait_running(2)
    scene.wait_seen("run", "run-w-1")
    _warned(scene, "run-w-1", "ttlSecondsAfterFinished")
    scene.hold("run", "run-w-1")
    _finish_pods(scene, "run-w-0")
    wait(lambda: _condition(scene.job("run-w-0"), "Complete"), what="run-w-0 to complete")
    _stays(lambda: scene.client.find(JOBSET, "JobSet", "run", scene.namespace) is not None)
    scene.wait_seen("run", "run-w-1")
    ended = scene.act("resume", {"apiVersion": "batch/v1", "kind": "Job", **scene.job("run-w-1")})
    assert ended["state"] == "verified", ended
    scene.wait_running(1, "run-w-1")
    _finish_pods(scene, "run-w-1")
    scene.client.wait_gone(JOBSET, "JobSet", "run", scene.namespace)


def coordinator(scene: Scene) -> None:
    """The address of the coordinator points at the held Job, so no pod answers there."""
    manifest = jobset(
        "run",
        scene.namespace,
        jobs={
            "driver": {"node_selector": scene.where},
            "w": {"replicas": 2, "node_selector": scene.where},
        },
        jobset_spec={"coordinator": {"replicatedJob": "driver", "jobIndex": 0, "podIndex": 0}},
    )
    scene.set_up(manifest)
    scene.wait_running(3)
    scene.wait_seen("run", "run-driver-0")
    _warned(scene, "run-driver-0", "coordinator")
    scene.hold("run", "run-driver-0")
    address = scene.job("run-w-0")["metadata"]["annotations"]["jobset.sigs.k8s.io/coordinator"]
    assert address.startswith("run-driver-0-0.")
    hosts = [pod["spec"].get("hostname") for pod in scene.pods()]
    assert "run-driver-0-0" not in hosts
    assert len(scene.wait_running(2)) == 2, "the workers run on"
