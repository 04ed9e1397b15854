"""Stories about one Job that leaves a place, on real control planes with a limited actor."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Unpack

from tests.acting.scene import Json, Scene, until, wait
from tests.controlplane.nodes import make_nodes, node
from tests.controlplane.objects import JobOptions, PodOptions, job, jobset, podgroup
from tests.controlplane.queues import (
    KUEUE,
    cluster_queue,
    in_queue,
    kueue_workload,
    local_queue,
    make_queue,
    resource_flavor,
)
from tests.controlplane.trainjobs import TRAINER, create_when_taken, runtime, trainjob

JOB, SIBLING = "run-w-1", "run-w-0"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
PODS = 2


def moved(scene: Scene) -> None:
    """A Job leaves its node, its sibling is not touched, and the exclusion is removed again."""
    _set_up(scene)
    ended = _relocate_and_check(scene)
    assert ended["after"]["exclusion"].startswith("node"), ended
    before = _pod_uids(scene, SIBLING)
    _wait_allowed(scene, {})
    ended = scene.act("relocate", _job(scene), avoid={})
    assert (ended["state"], ended["lever"]) == ("verified", "hold-exclusion"), ended
    assert "affinity" not in _job(scene)["spec"]["template"]["spec"]
    assert _pod_uids(scene, SIBLING) == before
    assert scene.jobset("run")["status"].get("restarts", 0) == 0


def moved_in_groups(scene: Scene) -> None:
    """One PodGroup over both Jobs, whose quorum counts all pods: the replacements are placed at once."""
    _set_up(scene, group=2 * PODS)
    _relocate_and_check(scene)


def left_a_zone(scene: Scene) -> None:
    """The terms of the user stay, and each gets the exclusion."""
    own = [
        {"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}
    ]
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": own}
        }
    }
    _set_up(scene, spec={"affinity": affinity})
    zones = {name: _zone(scene, name) for name in _nodes(scene, JOB)}
    zone = sorted(zones.values())[0]
    _relocate_and_check(scene, {"topology": {ZONE: zone}})
    assert zone not in {_zone(scene, name) for name in _nodes(scene, JOB)}
    (term,) = _terms(_job(scene))
    added = {"key": ZONE, "operator": "NotIn", "values": [zone]}
    assert term["matchExpressions"] == [*own[0]["matchExpressions"], added]


def moved_alone(scene: Scene) -> None:
    """A Job without an owner is suspended and resumed, without a Hold."""
    scene.set_up(
        job("alone", scene.namespace, parallelism=PODS, node_selector=scene.where), nodes=0
    )
    _make_nodes(scene, 4)
    scene.wait_running(PODS, "alone")
    old = _nodes(scene, "alone")
    avoid = {"nodes": [min(old)]}
    _wait_allowed(scene, avoid, "alone")
    ended = scene.act("relocate", _job(scene, "alone"), avoid=avoid)
    assert (ended["state"], ended["lever"]) == ("verified", "exclusion"), ended
    assert min(old) not in _nodes(scene, "alone")


def nothing_fits(scene: Scene) -> None:
    """A Job whose pods fit nowhere else is refused before anything is sent."""
    workers: JobOptions = {"pods": 1, "replicas": 2, "cpu": "6", "node_selector": scene.where}
    scene.set_up(jobset("run", scene.namespace, jobs={"w": workers}), nodes=0)
    _make_nodes(scene, 2)
    scene.wait_running(2)
    scene.wait_seen("run", JOB)
    (place,) = _nodes(scene, JOB)
    avoid = {"nodes": [place]}
    plan: Json = {}

    def is_refused() -> bool:
        plan.update(scene.dry_run("relocate", _job(scene), avoid=avoid))
        return "Nothing else fits" in plan["why_not"]

    wait(is_refused, what="the relocation to be refused", seen=lambda: plan)
    assert plan["why_not"] == (
        f"Nothing else fits: it has 1 pod of 6 CPUs, and the largest free place outside node {place} "
        "is 2 CPUs."
    )
    before = _job(scene)["metadata"]
    ended = scene.act("relocate", _job(scene), avoid=avoid)
    assert ended["state"] == "refused", ended
    after = _job(scene)["metadata"]
    assert (after["uid"], after["generation"]) == (before["uid"], before["generation"])


def lost_by_a_restart(scene: Scene) -> None:
    """A restart of the JobSet creates the Job again without the exclusion, and gangboard offers it again."""
    _set_up(scene, max_restarts=2)
    _relocate_and_check(scene)
    pod = scene.pods(SIBLING)[0]
    note = {"metadata": {"annotations": {"test.gangboard.dev/fail-after": "1s"}}}
    scene.client.patch("v1", "Pod", pod["metadata"]["name"], note, scene.namespace)
    wait(lambda: scene.jobset("run")["status"].get("restarts") == 1, what="the JobSet to restart")
    scene.wait_running(2 * PODS)
    assert _terms(_job(scene)) == []
    assert scene.holds() == []
    _relocate_and_check(scene)


def restarted_meanwhile(scene: Scene) -> None:
    """The JobSet restarts while its Job is away: the action says so, and no Job stays suspended."""
    _set_up(scene, max_restarts=3, grace=6)
    pod = scene.pods(SIBLING)[0]
    (place, *_) = sorted(_nodes(scene, JOB))
    avoid = {"nodes": [place]}
    _wait_allowed(scene, avoid)
    action = scene.request("relocate", _job(scene), avoid=avoid)
    wait(lambda: _job(scene)["spec"]["suspend"], what="the Job to be suspended")
    note = {"metadata": {"annotations": {"test.gangboard.dev/fail-after": "0s"}}}
    scene.client.patch("v1", "Pod", pod["metadata"]["name"], note, scene.namespace)
    ended = scene.follow(action)
    assert ended["state"] in ("gone", "verified", "reverted"), ended
    wait(lambda: scene.holds() == [], what="the Hold to be gone")
    wait(lambda: scene.jobset("run")["status"].get("restarts", 0) >= 1, what="the restart")
    scene.wait_running(2 * PODS)
    assert not _job(scene)["spec"]["suspend"]


def moved_under_kills(scene: Scene) -> None:
    """JobSet, the Job controller and the API server are killed while a Job moves."""
    try:
        _set_up(scene)
        before = _pod_uids(scene, SIBLING)
        (place, *_) = sorted(_nodes(scene, JOB))
        avoid = {"nodes": [place]}
        _wait_allowed(scene, avoid)
        uid = _job(scene)["metadata"]["uid"]
        with _killing(scene):
            action = scene.request("relocate", _job(scene), avoid=avoid)
            ended = scene.follow(action, timeout=240)
        wait(lambda: scene.holds() == [], what="the Hold to be gone")
        scene.wait_running(PODS, JOB)
        assert _pod_uids(scene, SIBLING) == before
        assert _job(scene)["metadata"]["uid"] == uid
        assert ended["state"] in ("verified", "failed"), ended
        if ended["state"] == "verified":
            assert place not in _nodes(scene, JOB)
    finally:
        scene.may_go_on.set()


def moved_in_a_queue(scene: Scene) -> None:
    """Kueue keeps the quota of an admitted JobSet and evicts nothing while one Job moves."""
    scene.set_up(nodes=0)
    _make_nodes(scene, 6)
    queue = make_queue(scene.client, scene.namespace, {"cpu": "32"})
    workers: JobOptions = {
        "replicas": 2,
        "pods": PODS,
        "cpu": "3",
        "grace": 1,
        "node_selector": scene.where,
    }
    labels = {"kueue.x-k8s.io/queue-name": queue}
    manifest = jobset("run", scene.namespace, jobs={"w": workers}, labels=labels)
    scene.client.create(manifest)
    scene.wait_running(2 * PODS)
    scene.wait_seen("run", JOB)
    _relocate_and_check(scene)
    (workload,) = scene.client.list(KUEUE, "Workload", scene.namespace)
    conditions = {entry["type"]: entry["status"] for entry in workload["status"]["conditions"]}
    assert (conditions["Admitted"], conditions.get("Evicted", "False")) == ("True", "False")


def moved_through_its_entry(scene: Scene) -> None:
    """Kueue admits a Job again that left a node. The flavor adds a node selector, which Kueue restores meanwhile."""
    scene.set_up(nodes=0)
    _make_nodes(scene, 4)
    name = scene.namespace
    scene.client.create_all(
        [
            resource_flavor(name, node_labels=scene.where),
            cluster_queue(name, {"cpu": "32"}, flavor=name),
            local_queue("team", scene.namespace, cluster_queue=name),
        ]
    )
    _run_in_queue(scene, "alone", "team", cpu="3", grace=1)
    old, uid = _nodes(scene, "alone"), _job(scene, "alone")["metadata"]["uid"]
    pods, workload = scene.uids("alone"), _workload_of(scene, "alone")
    assert "annotations" not in scene.job("alone")["metadata"]
    ended = _leave_through_entry(scene, "alone")
    assert (ended["state"], ended["lever"]) == ("verified", "kueue-exclusion"), ended
    assert min(old) not in _nodes(scene, "alone")
    assert not pods & scene.uids("alone")
    assert _job(scene, "alone")["metadata"]["uid"] == uid
    assert _workload_of(scene, "alone")["metadata"]["uid"] == workload["metadata"]["uid"]
    assert all(step["state"] == "done" for step in ended["steps"]), ended
    before = scene.uids("alone")
    _wait_allowed(scene, {}, "alone")
    ended = scene.act("relocate", _job(scene, "alone"), avoid={})
    assert (ended["state"], ended["lever"]) == ("verified", "kueue-exclusion"), ended
    assert _terms(_job(scene, "alone")) == []
    assert not before & scene.uids("alone")


def overtaken_in_a_queue(scene: Scene) -> None:
    """Kueue admits another Job first. The action waits, and succeeds when the Job runs again."""
    scene.set_up(nodes=0)
    _make_nodes(scene, 6)
    queue = make_queue(scene.client, scene.namespace, {"cpu": "8"})
    pods: PodOptions = {"cpu": "3", "grace": 1, "node_selector": scene.where}
    _run_in_queue(scene, "alone", queue, **pods)
    scene.client.create(_job_in_queue(scene, "rival", queue, **pods))
    scene.code("rival", "waiting-for-quota")
    avoid = {"nodes": [min(_nodes(scene, "alone"))]}
    _wait_allowed(scene, avoid, "alone")
    plan = scene.dry_run("relocate", _job(scene, "alone"), avoid=avoid)
    assert any("1 waiting Workload could be admitted" in text for text in plan["warnings"]), plan
    action = scene.request("relocate", _job(scene, "alone"), avoid=avoid)
    seen: Json = {}

    def waits() -> bool:
        seen.update(scene.installation.get(f"actions/{action}/"))
        return "not admitted yet" in seen["message"]

    wait(waits, what="the action to wait for the queue", seen=lambda: seen)
    assert seen["state"] == "applied", seen
    scene.wait_running(PODS, "rival")
    assert scene.pods("alone") == []
    scene.client.delete("batch/v1", "Job", "rival", scene.namespace)
    ended = scene.follow(action)
    assert (ended["state"], ended["lever"]) == ("verified", "kueue-exclusion"), ended
    assert avoid["nodes"][0] not in _nodes(scene, "alone")


def _job_in_queue(scene: Scene, name: str, queue: str, **pods: Unpack[PodOptions]) -> Json:
    return job(name, scene.namespace, parallelism=PODS, job_labels=in_queue(queue), **pods)


def _run_in_queue(scene: Scene, name: str, queue: str, **pods: Unpack[PodOptions]) -> None:
    """Create a Job in a queue and wait until it runs."""
    scene.client.create(_job_in_queue(scene, name, queue, **pods))
    scene.wait_running(PODS, name)


def _leave_through_entry(scene: Scene, name: str) -> Json:
    avoid = {"nodes": [min(_nodes(scene, name))]}
    _wait_allowed(scene, avoid, name)
    return scene.act("relocate", _job(scene, name), avoid=avoid)


def _workload_of(scene: Scene, name: str) -> Json:
    workload = kueue_workload(scene.client, _job(scene, name))
    assert workload is not None
    return workload


def moved_under_a_trainjob(scene: Scene) -> None:
    """One Job of a TrainJob moves. Trainer and JobSet leave it alone."""
    scene.set_up(nodes=0)
    _make_nodes(scene, 6)
    pods: PodOptions = {"grace": 1, "cpu": "3", "node_selector": scene.where}
    name, child = scene.namespace, "run-node-0"
    scene.client.create(runtime(name, node=pods, beside={"driver": pods}))
    try:
        create_when_taken(scene.client, trainjob("run", scene.namespace, name, nodes=PODS))
        scene.wait_running(PODS + 1)
        scene.code("run", "running")
        before, generation = (
            scene.uids("run-driver-0"),
            scene.jobset("run")["metadata"]["generation"],
        )
        (left, *_) = sorted(_nodes(scene, child))
        avoid = {"nodes": [left]}
        scene.wait_seen("run", child)
        _wait_allowed(scene, avoid, child)
        ended = scene.act("relocate", _job(scene, child), avoid=avoid)
        assert (ended["state"], ended["lever"]) == ("verified", "hold-exclusion"), ended
        assert left not in _nodes(scene, child)
        assert scene.uids("run-driver-0") == before
        assert scene.jobset("run")["metadata"]["generation"] == generation
    finally:
        scene.client.delete(TRAINER, "ClusterTrainingRuntime", name)


# Set-up


def _set_up(
    scene: Scene,
    *,
    group: int = 0,
    spec: Json | None = None,
    max_restarts: int = 0,
    grace: int = 1,
) -> None:
    workers: JobOptions = {
        "replicas": 2,
        "pods": PODS,
        "cpu": "3",
        "grace": grace,
        "node_selector": scene.where,
    }
    has_groups = bool(group) and scene.plane.minor >= 37
    if has_groups:
        workers["pod_group"] = "all"
    manifest = jobset("run", scene.namespace, jobs={"w": workers}, max_restarts=max_restarts)
    for entry in manifest["spec"]["replicatedJobs"]:
        entry["template"]["spec"]["template"]["spec"].update(spec or {})
    groups = [podgroup("all", scene.namespace, gang=group)] if has_groups else []
    scene.set_up(nodes=0)
    _make_nodes(scene, 6)
    scene.client.create_all([*groups, manifest])
    scene.wait_running(2 * PODS)
    scene.wait_seen("run", JOB)


def _make_nodes(scene: Scene, number: int) -> None:
    """Make nodes with 8 cores, half of them in each zone."""
    names = [f"{scene.namespace}-{index}" for index in range(number)]
    make_nodes(
        scene.client,
        [
            node(name, cpu="8", labels={**scene.where, ZONE: f"z{index % 2}"})
            for index, name in enumerate(names)
        ],
    )


def _relocate_and_check(scene: Scene, avoid: Json | None = None) -> Json:
    """Relocate the Job away from one of its nodes and compare everything with the state before."""
    places = _nodes(scene, JOB)
    left = min(places)
    avoid = avoid or {"nodes": [left]}
    before = _pod_uids(scene, SIBLING), scene.jobset("run")["status"].get("restarts", 0)
    own, uid = _pod_uids(scene, JOB), _job(scene)["metadata"]["uid"]
    _wait_allowed(scene, avoid)
    ended = scene.act("relocate", _job(scene), avoid=avoid)
    assert (ended["state"], ended["lever"]) == ("verified", "hold-exclusion"), ended
    if "nodes" in avoid:
        assert left not in _nodes(scene, JOB)
    assert not own & _pod_uids(scene, JOB)
    after = _pod_uids(scene, SIBLING), scene.jobset("run")["status"].get("restarts", 0)
    assert after == before
    assert _job(scene)["metadata"]["uid"] == uid
    assert not _job(scene)["spec"]["suspend"]
    assert scene.holds() == []
    assert all(name in ended["message"] for name in _nodes(scene, JOB)), ended
    assert "siblings untouched" in ended["message"], ended
    assert all(step["state"] == "done" for step in ended["steps"]), ended
    return ended


def _wait_allowed(scene: Scene, avoid: Json, name: str = JOB) -> None:
    """Wait until gangboard has stored the pods on their nodes."""
    plan: Json = {}

    def is_allowed() -> bool:
        plan.update(scene.dry_run("relocate", _job(scene, name), avoid=avoid))
        return bool(plan["allowed"])

    scene.wait_seen("run", name) if name.startswith("run-") else scene.gang(name)
    wait(is_allowed, what="the relocation to be allowed", seen=lambda: plan)


@contextmanager
def _killing(scene: Scene) -> Iterator[None]:
    """Kill one process after the other while the block runs."""
    over = threading.Event()

    def run() -> None:
        for name in ("jobset", "kube-controller-manager", "kube-apiserver", "jobset") * 4:
            if over.wait(0.7):
                return
            scene.plane.restart_process(name, kill=True)
            if name == "kube-apiserver":
                until(3, lambda: scene.client.list("v1", "Node"), every=1.0)

    thread = threading.Thread(target=run, name="kills")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(120)
        time.sleep(1)


def _job(scene: Scene, name: str = JOB) -> Json:
    return {"apiVersion": "batch/v1", "kind": "Job", **scene.job(name)}


def _nodes(scene: Scene, name: str) -> set[str]:
    return {pod["spec"]["nodeName"] for pod in scene.pods(name) if "nodeName" in pod["spec"]}


def _zone(scene: Scene, name: str) -> str:
    labels: dict[str, str] = scene.client.get("v1", "Node", name)["metadata"]["labels"]
    return labels[ZONE]


def _pod_uids(scene: Scene, name: str) -> set[str]:
    return scene.uids(name)


def _terms(obj: Json) -> list[dict[str, Any]]:
    affinity = obj["spec"]["template"]["spec"].get("affinity", {})
    required = affinity.get("nodeAffinity", {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    return [] if required is None else list(required["nodeSelectorTerms"])
