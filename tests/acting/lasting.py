"""One Job of three is held for a minute while everything around it happens, on real 1.37 and 1.36."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from tests.acting.scene import Scene, Witness, until, wait
from tests.controlplane.objects import JOBSET, JobOptions, jobset, podgroup
from tests.scenarios.scenario import is_ready

HELD_SECONDS = 60.0
API_SERVER_KILLS = 3
PROVED_SECONDS = 300.0
JOB, SIBLINGS = "run-w-1", ("run-w-0", "run-w-2")
PODS = 2


def lasts(scene: Scene) -> None:
    """Reasons for the Hold, in the order of the first line."""
    brings_group = scene.plane.minor >= 37
    workers: JobOptions = {"replicas": 3, "pods": PODS, "grace": 1, "node_selector": scene.where}
    if brings_group:
        workers["pod_group"] = "together"
    manifest = jobset("run", scene.namespace, jobs={"w": workers}, max_restarts=3)
    group = [podgroup("together", scene.namespace, gang=PODS)] if brings_group else []
    scene.set_up(*group, manifest)
    scene.wait_running(3 * PODS)
    groups = {_group(pod) for pod in scene.pods(JOB)}
    assert len(groups) == 1
    assert groups != {""}

    action = scene.hold("run", JOB)
    assert [step["result"] != "" for step in action["steps"]]
    assert scene.pods(JOB) == []
    siblings = {job: scene.uids(job) for job in SIBLINGS}
    _held_through_everything(scene, siblings)
    _held_through_suspend_of_all(scene)
    _is_proved(scene)
    _released(scene, groups)
    _collected(scene)


def _group(pod: dict[str, object]) -> str:
    spec = pod["spec"]
    assert isinstance(spec, dict)
    return str((spec.get("schedulingGroup") or {}).get("podGroupName", ""))


def _held_through_everything(scene: Scene, siblings: dict[str, set[str]]) -> None:
    witness = Witness(scene.client, scene.namespace, JOB)
    first_uid = scene.job(JOB)["metadata"]["uid"]
    started_at = time.monotonic()

    def touch() -> None:
        stamp = {"metadata": {"annotations": {"test/touched": str(time.time())}}}
        for job in SIBLINGS:
            scene.client.patch("batch/v1", "Job", job, stamp, scene.namespace)

    with witness.watching():
        until(10, touch, every=0.5)
        scene.plane.restart_process("jobset", kill=True)
        until(5, touch, every=0.5)
        # Touched all the while: JobSet must be at work in the moment in which the server comes up.
        with ThreadPoolExecutor(1) as busy:
            touching = busy.submit(until, 15, touch, 0.1)
            for _ in range(API_SERVER_KILLS):
                scene.plane.restart_process("kube-apiserver", kill=True)
                time.sleep(1)
            touching.result()
        # After three lost connections it would look away for half a minute (client-go's back-off).
        scene.plane.restart_process("kube-scheduler")
        until(5, touch, every=0.5)
        scene.may_go_on.set()  # kills one process only, because other stories may run on this control plane
        assert {job: scene.uids(job) for job in SIBLINGS} == siblings, (
            "the siblings were left alone"
        )
        assert scene.jobset("run")["status"].get("restarts", 0) == 0
        _fail_a_sibling(scene)
        remaining = HELD_SECONDS - (time.monotonic() - started_at)
        until(max(remaining, 10), touch)
        wait(lambda: witness.checks > 100, what="the witness to have looked often")
    assert witness.lapses == []
    assert witness.uids > {first_uid}, "the restart made a new Job of the same name"
    assert scene.pods(JOB) == []
    gang = scene.wait_for_text("run", "Restart 1 re-created ")
    assert gang["code"] == "job-suspended"
    assert "1 of 3" in gang["message"]
    held_job = scene.shown_job("run", JOB)
    assert held_job is not None
    assert (held_job["held"], held_job["suspended"]) == (True, True)


def _is_proved(scene: Scene) -> None:
    """The Hold is proved repeatedly, because a proof during a restart returns "not known"."""

    def is_released() -> bool:
        holds = scene.installation.get("holds/", cluster=scene.cluster)["results"]
        (hold,) = (row for row in holds if row["namespace"] == scene.namespace)
        assert hold["job"] == JOB
        assert hold["in_force"] is not False
        return hold["in_force"] is True

    # The next proof comes a minute later.
    wait(is_released, timeout=PROVED_SECONDS, what="the Hold to be proved again")


def _fail_a_sibling(scene: Scene) -> None:
    """Let a pod of a sibling fail: the Job fails (no retries) and the JobSet restarts all of them."""
    pod = next(pod for pod in scene.pods(SIBLINGS[0]) if is_ready(pod))
    note = {"metadata": {"annotations": {"test.gangboard.dev/fail-after": "1s"}}}
    scene.client.patch("v1", "Pod", pod["metadata"]["name"], note, scene.namespace)
    wait(
        lambda: scene.jobset("run")["status"].get("restarts") == 1,
        what="the JobSet to restart",
    )
    for job in SIBLINGS:
        scene.wait_running(PODS, job)


def _held_through_suspend_of_all(scene: Scene) -> None:
    """Suspend and resume the whole JobSet by gangboard while one of its Jobs is held."""
    witness = Witness(scene.client, scene.namespace, JOB)
    with witness.watching():
        scene.wait_seen("run")
        ended = scene.act(
            "suspend", {**scene.jobset("run"), "apiVersion": JOBSET, "kind": "JobSet"}
        )
        assert (ended["state"], ended["lever"]) == ("verified", "suspend"), ended
        wait(lambda: not scene.pods(), what="all pods to be gone")
        scene.wait_seen("run")
        ended = scene.act("resume", {**scene.jobset("run"), "apiVersion": JOBSET, "kind": "JobSet"})
        assert (ended["state"], ended["lever"]) == ("verified", "suspend"), ended
        for job in SIBLINGS:
            scene.wait_running(PODS, job)
        wait(lambda: witness.checks > 20, what="the witness to have looked often")
    assert witness.lapses == []
    held_job = scene.shown_job("run", JOB)
    assert held_job is not None
    assert held_job["held"]


def _released(scene: Scene, groups: set[str]) -> None:
    scene.wait_seen("run", JOB)
    siblings = {job: scene.uids(job) for job in SIBLINGS}
    job = {**scene.job(JOB), "apiVersion": "batch/v1", "kind": "Job"}
    ended = scene.act("resume", job)
    assert (ended["state"], ended["lever"]) == ("verified", "hold"), ended
    pods = scene.wait_running(PODS, JOB)
    if scene.plane.minor >= 37:
        assert {_group(pod) for pod in pods} == groups, "they are in the group they had"
    else:
        # On 1.36 the Job controller makes the group, and a restart made a new Job with a new one.
        assert all(_group(pod).startswith(f"{JOB}-") for pod in pods)
    assert scene.holds() == []
    assert {job: scene.uids(job) for job in SIBLINGS} == siblings
    scene.code("run", "running")


def _collected(scene: Scene) -> None:
    """A Hold goes with its JobSet."""
    scene.hold("run", JOB)
    assert len(scene.holds()) == 1
    scene.client.delete(JOBSET, "JobSet", "run", scene.namespace)
    wait(lambda: not scene.holds(), what="the Hold to be collected")
