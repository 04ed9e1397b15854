"""Stories about a Job whose nodes the real Kueue has chosen (topology-aware scheduling)."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.acting.scene import Json, Scene, wait
from tests.controlplane.client import ApiError
from tests.controlplane.nodes import make_nodes, node, with_annotations
from tests.controlplane.objects import JobOptions, jobset
from tests.controlplane.queues import (
    KUEUE,
    cluster_queue,
    cluster_queue_name,
    in_queue,
    local_queue,
)

JOB, SIBLING = "run-w-1", "run-w-0"
PODS = 2
RACK = "rack"
MARK = "gangboard.dev/cordoned-by"
_HOST = "kubernetes.io/hostname"


def moved_by_a_cordon(scene: Scene) -> None:
    """A Job leaves its node for the spare node of the required rack. Its sibling is not touched."""
    with _assigned(scene, racks=("r0", "r0", "r0"), topology="required"):
        _relocate_and_check(scene)


def moved_to_another_rack(scene: Scene) -> None:
    """A preferred rack without a spare node: Kueue takes a node of the other rack."""
    with _assigned(scene, racks=("r0", "r0", "r1"), topology="preferred"):
        _relocate_and_check(scene)


def no_spare_node(scene: Scene) -> None:
    """A required rack without a spare node is refused before anything is sent."""
    with _assigned(scene, racks=("r0", "r0", "r1"), topology="required"):
        (left,) = _nodes(scene, JOB)
        avoid = {"nodes": [left]}
        plan: Json = {}

        def is_refused() -> bool:
            plan.update(scene.dry_run("relocate", _job(scene), avoid=avoid))
            return "Nothing else fits" in (plan["why_not"] or "")

        wait(is_refused, what="the relocation to be refused", seen=lambda: plan)
        assert plan["why_not"].endswith("Kueue would evict the whole JobSet."), plan
        before = _job(scene)["metadata"]
        ended = scene.act("relocate", _job(scene), avoid=avoid)
        assert ended["state"] == "refused", ended
        after = _job(scene)["metadata"]
        assert (after["uid"], after["generation"]) == (before["uid"], before["generation"])
        assert not _is_cordoned(scene, left)
        # A second node cannot be left with the first one.
        both = {"nodes": sorted({left, *_nodes(scene, SIBLING)})}
        assert "one node at a time" in scene.dry_run("relocate", _job(scene), avoid=both)["why_not"]


def cordoned_under_kills(scene: Scene) -> None:
    """Kueue and the worker are killed while the Job moves: no node stays cordoned, and the siblings run.

    A worker that dies between the record of the suspension and its request ends the action before the Job is
    suspended. Then Kueue is killed in a second relocation.
    """
    with _assigned(scene, racks=("r0", "r0", "r0"), topology="required"):
        killed = _relocate_under_kills(scene, ["worker", "kueue"])
        if killed == ["worker"]:
            killed += _relocate_under_kills(scene, ["kueue"])
        assert killed == ["worker", "kueue"]


# Set-up


@contextmanager
def _assigned(scene: Scene, *, racks: tuple[str, ...], topology: str) -> Iterator[None]:
    """Run a JobSet of two Jobs, each on a node of its own in rack r0, and remove all cluster-wide objects."""
    scene.set_up(nodes=0)
    names = [f"{scene.namespace}-{index}" for index in range(len(racks))]
    make_nodes(
        scene.client,
        [
            with_annotations(node(name, cpu="8", labels={**scene.where, RACK: rack}))
            for name, rack in zip(names, racks, strict=True)
        ],
    )
    levels = {"levels": [{"nodeLabel": RACK}, {"nodeLabel": _HOST}]}
    flavor = {"nodeLabels": scene.where, "topologyName": scene.namespace}
    shared = cluster_queue_name(scene.namespace, "queue")
    made = [
        _object("Topology", scene.namespace, levels),
        _object("ResourceFlavor", scene.namespace, flavor),
        cluster_queue(shared, {"cpu": "32"}, flavor=scene.namespace),
    ]
    scene.client.create_all(made)
    try:
        scene.client.create(local_queue("queue", scene.namespace, cluster_queue=shared))
        pods: JobOptions = {
            "replicas": 2,
            "pods": PODS,
            "cpu": "3",
            "grace": 1,
            "node_selector": scene.where,
        }
        manifest = jobset("run", scene.namespace, jobs={"w": pods}, labels=in_queue("queue"))
        for entry in manifest["spec"]["replicatedJobs"]:
            template = entry["template"]["spec"]["template"].setdefault("metadata", {})
            template["annotations"] = {f"kueue.x-k8s.io/podset-{topology}-topology": RACK}
        scene.client.create(manifest)
        scene.wait_running(2 * PODS)
        scene.wait_seen("run", JOB)
        assert not _nodes(scene, JOB) & _nodes(scene, SIBLING), scene.pods()
        yield
    finally:
        with suppress(ApiError):
            scene.client.delete("jobset.x-k8s.io/v1alpha2", "JobSet", "run", scene.namespace)
        for obj in reversed(made):
            with suppress(ApiError):
                scene.client.delete(obj["apiVersion"], obj["kind"], obj["metadata"]["name"])


def _object(kind: str, name: str, spec: Json) -> Json:
    return {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _relocate_and_check(scene: Scene, *, is_second: bool = False) -> None:
    """Relocate the Job away from its node and compare everything with the state before.

    After an eviction by Kueue the second relocation has to succeed.
    """
    evictions = _evictions(scene)
    (left,) = _nodes(scene, JOB)
    avoid = {"nodes": [left]}
    before = scene.uids(SIBLING), scene.jobset("run")["status"].get("restarts", 0)
    own, uid = scene.uids(JOB), _job(scene)["metadata"]["uid"]
    _wait_allowed(scene, avoid)
    ended = scene.act("relocate", _job(scene), avoid=avoid)
    if not is_second and _is_told_eviction(scene, ended, left):
        _relocate_and_check(scene, is_second=True)
        return
    assert (ended["state"], ended["lever"]) == ("verified", "hold-cordon"), ended
    assert left not in _nodes(scene, JOB)
    assert not own & scene.uids(JOB)
    after = scene.uids(SIBLING), scene.jobset("run")["status"].get("restarts", 0)
    assert after == before
    assert _job(scene)["metadata"]["uid"] == uid
    assert "affinity" not in _job(scene)["spec"]["template"]["spec"]
    assert scene.holds() == []
    assert not _is_cordoned(scene, left)
    assert all(step["state"] == "done" for step in ended["steps"]), ended
    assert "siblings untouched" in ended["message"], ended
    assert _evictions(scene) == evictions
    assert scene.code("run", "running")["health"] == "running"


def _relocate_under_kills(scene: Scene, kills: list[str]) -> list[str]:
    """Relocate the Job, and check all that has to be so whatever was killed. Return what was killed.

    If Kueue evicted the JobSet, return `kills`: what can be checked then has been checked.
    """
    siblings = scene.uids(SIBLING)
    (left,) = _nodes(scene, JOB)
    avoid = {"nodes": [left]}
    _wait_allowed(scene, avoid)
    own, generation = scene.uids(JOB), _job(scene)["metadata"]["generation"]
    with _killing(scene, left, kills) as killed:
        action = scene.request("relocate", _job(scene), avoid=avoid)
        ended = scene.follow(action, timeout=300)
    if _is_told_eviction(scene, ended, left):
        return kills
    wait(lambda: not _is_cordoned(scene, left), what="the end of the cordon")
    assert scene.holds() == []
    assert ended["state"] in ("verified", "failed"), ended
    if killed != kills:
        assert (killed, ended["state"]) == (["worker"], "failed"), (ended["message"], ended)
        assert _job(scene)["metadata"]["generation"] == generation, (ended["message"], ended)
        assert scene.uids(JOB) == own
    scene.wait_running(PODS, JOB, timeout=120)
    assert scene.uids(SIBLING) == siblings
    assert _evictions(scene) == []
    if ended["state"] == "verified":
        assert left not in _nodes(scene, JOB)
    return killed


def _is_told_eviction(scene: Scene, ended: Json, left: str) -> bool:
    """Return whether the action says that Kueue evicted the JobSet, and check what has to follow then.

    On a busy machine Kueue evicts the JobSet at times, although a node is free (observed). Its node controller seems to
    mark the node once more, by an old copy of the Workload, after the replacement.
    """
    if "evicted with all its pods" not in ended["message"]:
        return False
    assert ended["state"] == "failed", ended
    (workload,) = scene.client.list(KUEUE, "Workload", scene.namespace)
    assert "Evicted" in {item["type"] for item in workload["status"]["conditions"]}, ended
    wait(lambda: not _is_cordoned(scene, left), what="the end of the cordon")
    assert scene.holds() == []
    scene.wait_running(2 * PODS)
    return True


def _wait_allowed(scene: Scene, avoid: Json) -> None:
    """Wait until gangboard has stored the pods on their nodes."""
    plan: Json = {}

    def is_allowed() -> bool:
        plan.update(scene.dry_run("relocate", _job(scene), avoid=avoid))
        return bool(plan["allowed"])

    wait(is_allowed, what="the relocation to be allowed", seen=lambda: plan)


@contextmanager
def _killing(scene: Scene, left: str, kills: list[str]) -> Iterator[list[str]]:
    """Kill the worker once the node is cordoned, and Kueue once the Job is suspended. Yield what was killed.

    `kills` are those of "worker" and "kueue" that are to be killed.
    """
    over = threading.Event()
    killed: list[str] = []

    def is_time(name: str) -> bool:
        return (
            _is_cordoned(scene, left) if name == "worker" else bool(_job(scene)["spec"]["suspend"])
        )

    def kill(name: str) -> None:
        if name == "kueue":
            scene.plane.restart_process("kueue", kill=True)
            return
        pids = scene.installation.children("--queues act")
        assert pids
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def run() -> None:
        for name in kills:
            while not is_time(name):
                if over.wait(0.02):
                    return
            kill(name)
            killed.append(name)

    thread = threading.Thread(target=run, name="kills")
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join(120)


def _evictions(scene: Scene) -> list[Json]:
    (workload,) = scene.client.list(KUEUE, "Workload", scene.namespace)
    return [
        condition
        for condition in workload["status"]["conditions"]
        if condition["type"] == "Evicted" and condition["status"] == "True"
    ]


def _is_cordoned(scene: Scene, name: str) -> bool:
    obj = scene.client.get("v1", "Node", name)
    annotations = obj["metadata"].get("annotations", {})
    return bool(obj["spec"].get("unschedulable")) or MARK in annotations


def _job(scene: Scene) -> Json:
    return {"apiVersion": "batch/v1", "kind": "Job", **scene.job(JOB)}


def _nodes(scene: Scene, name: str) -> set[str]:
    return {pod["spec"]["nodeName"] for pod in scene.pods(name) if "nodeName" in pod["spec"]}
