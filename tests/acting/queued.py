"""Stories with the real Kueue: the owner through its Workload, a child Job through the Hold."""

from __future__ import annotations

import json
import time

from tests.acting.scene import Json, Scene, Witness
from tests.controlplane.client import wait
from tests.controlplane.objects import JOBSET, jobset
from tests.controlplane.queues import KUEUE, make_queue

_STAYS_SECONDS = 10.0


def _set_up(scene: Scene) -> None:
    scene.set_up()
    queue = make_queue(scene.client, scene.namespace, {"cpu": "8"})
    made = jobset(
        "run",
        scene.namespace,
        jobs={"w": {"replicas": 2, "pods": 2, "node_selector": scene.where}},
        labels={"kueue.x-k8s.io/queue-name": queue},
    )
    scene.client.create(made)
    scene.wait_running(4)


def _workload(scene: Scene) -> Json:
    (found,) = scene.client.list(KUEUE, "Workload", scene.namespace)
    return found


def _managers(obj: Json) -> set[str]:
    return {entry["manager"] for entry in obj["metadata"]["managedFields"]}


def _wait_suspended(scene: Scene, suspended: bool) -> None:
    wait(
        lambda: scene.jobset("run")["spec"]["suspend"] is suspended,
        timeout=30,
        what=f"the JobSet to be suspended: {suspended}",
    )


def owner_deactivated(scene: Scene) -> None:
    """The owner is stopped through its Kueue Workload, stays so, and queues again on resume."""
    _set_up(scene)
    scene.seen("run")
    ended = scene.act("suspend", {**scene.jobset("run"), "apiVersion": JOBSET, "kind": "JobSet"})
    assert (ended["state"], ended["lever"]) == ("verified", "kueue-active"), ended
    assert scene.pods() == []
    gang = scene.code("run", "deactivated")
    assert gang["health"] == "suspended"
    assert _workload(scene)["metadata"]["name"] in json.dumps(gang["findings"])
    ends_at = time.monotonic() + _STAYS_SECONDS
    while time.monotonic() < ends_at:
        assert _workload(scene)["spec"]["active"] is False
        assert scene.jobset("run")["spec"]["suspend"] is True
        time.sleep(0.5)
    scene.seen("run")
    resumed = scene.act("resume", {**scene.jobset("run"), "apiVersion": JOBSET, "kind": "JobSet"})
    assert (resumed["state"], resumed["lever"]) == ("verified", "kueue-active"), resumed
    scene.wait_running(4)
    scene.code("run", "running")
    for action in (ended, resumed):
        assert all("workloads" in str(step["path"]) for step in action["steps"]), action["steps"]
    assert "gangboard" not in _managers(scene.jobset("run")), "spec.suspend was never sent"
    assert "gangboard" in _managers(_workload(scene))


def child_held(scene: Scene) -> None:
    """A child Job is held: the warning names the quota, and it stays held through re-admission."""
    _set_up(scene)
    scene.seen("run", "run-w-1")
    job = {"apiVersion": "batch/v1", "kind": "Job", **scene.job("run-w-1")}
    plan = scene.dry_run("suspend", job)
    assert any("quota" in text for text in [*plan["warnings"], *plan["reactions"]]), plan
    scene.hold("run", "run-w-1")
    witness = Witness(scene.client, scene.namespace, "run-w-1")
    with witness.watching():
        for active in (False, True):
            name = _workload(scene)["metadata"]["name"]
            body = {"spec": {"active": active}}
            scene.client.patch(KUEUE, "Workload", name, body, scene.namespace)
            _wait_suspended(scene, not active)
            time.sleep(2)
        scene.wait_running(2, "run-w-0")
    assert witness.looks > 20
    assert witness.lapses == []
    shown = scene.shown_job("run", "run-w-1")
    assert shown is not None
    assert shown["held"]
    scene.seen("run", "run-w-1")
    job = {"apiVersion": "batch/v1", "kind": "Job", **scene.job("run-w-1")}
    ended = scene.act("resume", job)
    assert ended["state"] == "verified", ended
    scene.wait_running(2, "run-w-1")
