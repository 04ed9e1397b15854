"""Each kind of advice on a real cluster: its message, half of it without effect, and all of it.

The expected advice follows from the objects. All scenes play at once, each on nodes of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import pytest

from gangboard.domain.advice import Advice, AdviceKind, ChangeMethod
from tests.agreement.advice_scene import BATCH, Scene
from tests.controlplane.client import Json
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.fixtures import Namespaces
from tests.controlplane.nodes import cordon
from tests.controlplane.objects import job, pod
from tests.scenarios.making import taint
from tests.scenarios.scenario import Room

GPU = "nvidia.com/gpu"
MODEL = "test.gangboard.dev/model"
FOUR = Room(gpus=4)
DEADLINE_SECONDS = 25
OF_RULES = {
    AdviceKind.RESUME,
    AdviceKind.LOOK,
    AdviceKind.REPLACE_PODS,
    AdviceKind.OPEN_QUEUE,
    AdviceKind.OTHER,
}
"""Kinds of steps that no arithmetic has worked out."""
OF_VERDICTS = {AdviceKind.SUSPEND_BROKEN}
"""Kinds of steps that need verdicts of other gangs, which scenes do not have: tests/placement/test_advice.py has them."""


def _run(
    scene: Scene,
    pods: int,
    *,
    gang: Any = "all",
    gpu: int = 4,
    select: Mapping[str, str] = MappingProxyType({}),
    **options: Any,
) -> Json:
    """Return the gang: so many pods of four GPUs. `select`: what else its nodes must have."""
    return job(
        "run",
        scene.namespace,
        parallelism=pods,
        gang=gang,
        gpu=gpu,
        cpu="100m",
        node_selector={**scene.where, **select},
        **options,
    )


def _holder(scene: Scene, name: str, node: str, gpu: int, **options: Any) -> Json:
    """Return a lone pod that holds GPUs of a node."""
    spec = {"nodeName": scene.node(node)}
    return pod(name, scene.namespace, cpu="100m", gpu=gpu, spec=spec, **options)


def _running(scene: Scene, name: str, pods: int, **options: Any) -> None:
    """Let a Job of pods of four GPUs run."""
    scene.client.create(
        job(
            name,
            scene.namespace,
            parallelism=pods,
            gang="basic",
            gpu=4,
            cpu="100m",
            grace=0,
            node_selector=scene.where,
            **options,
        )
    )
    scene.wait_bound(pods, name)


def _waiting(scene: Scene, gang: Json, pods: int) -> None:
    scene.client.create(gang)
    scene.wait_refused(pods)


def _only(scene: Scene, change: AdviceKind) -> Advice:
    advice = scene.advice()
    named = [item for item in advice if item.change is change]
    assert named, f"{change} is not among {[item.text for item in advice]}"
    return named[0]


def _again(scene: Scene, gang: Json) -> None:
    """Make the gang anew."""
    scene.client.delete(BATCH, "Job", "run", scene.namespace, propagation="Foreground")
    scene.client.wait_gone(BATCH, "Job", "run", scene.namespace)
    scene.client.create(gang)


def _mend(scene: Scene, spec: Json, name: str = "run") -> None:
    scene.client.patch(BATCH, "Job", name, {"spec": spec}, scene.namespace)


# Room


def wait_for_room(scene: Scene) -> None:
    scene.make_nodes(a=FOUR, b=FOUR)
    # Two pods of two GPUs on each node that cannot be suspended.
    holders = [(f"{node}-{index}", node) for node in "ab" for index in range(2)]
    scene.client.create_all([_holder(scene, name, node, 2) for name, node in holders])
    _waiting(scene, _run(scene, 2), 2)
    advice = _only(scene, AdviceKind.WAIT_FOR_ROOM)
    assert advice.free == {scene.node("a"): {GPU: 4}, scene.node("b"): {GPU: 4}}
    assert "4 GPUs on each of the nodes" in advice.text
    assert advice.method is None
    for name, _ in holders[::2]:
        scene.client.delete("v1", "Pod", name, scene.namespace, grace=0)
    scene.still_waits()
    for name, _ in holders[1::2]:
        scene.client.delete("v1", "Pod", name, scene.namespace, grace=0)
    scene.wait_bound(2)


def uncordon(scene: Scene) -> None:
    shut = Room(gpus=4, unschedulable=True)
    scene.make_nodes(a=shut, b=shut, c=Room(gpus=4))
    _waiting(scene, _run(scene, 3), 3)
    result = _only(scene, AdviceKind.UNCORDON)
    assert [ref.name for ref in result.nodes] == [scene.node("a"), scene.node("b")]
    cordon(scene.client, scene.node("a"), unschedulable=False)
    scene.still_waits()
    cordon(scene.client, scene.node("b"), unschedulable=False)
    scene.wait_bound(3)


def restore(scene: Scene) -> None:
    scene.make_nodes(a=FOUR, b=Room(gpus=4, withheld={GPU: "0"}))
    _waiting(scene, _run(scene, 2), 2)
    result = _only(scene, AdviceKind.RESTORE)
    assert [ref.name for ref in result.nodes] == [scene.node("b")]
    for devices in ("2", "4"):
        allocatable = {"allocatable": {GPU: devices}}
        scene.client.patch_status("v1", "Node", scene.node("b"), allocatable)
        if devices == "2":
            scene.still_waits()
    scene.wait_bound(2)


def suspend_gangs(scene: Scene) -> None:
    scene.make_nodes(a=FOUR, b=FOUR, c=Room())
    _running(scene, "one", 1)
    _running(scene, "two", 1)
    _waiting(scene, _run(scene, 2), 2)
    result = _only(scene, AdviceKind.SUSPEND_GANGS)
    assert {ref.name for ref in result.gangs} == {"one", "two"}
    assert "8 GPUs together" in result.text
    _mend(scene, {"suspend": True}, "one")
    scene.still_waits()
    _mend(scene, {"suspend": True}, "two")
    scene.wait_bound(2)


def suspend_the_one_that_is_enough(scene: Scene) -> None:
    scene.make_nodes(a=FOUR, b=FOUR, c=FOUR)
    _running(scene, "pair", 2)
    _running(scene, "small", 1)
    _waiting(scene, _run(scene, 2), 2)
    result = _only(scene, AdviceKind.SUSPEND_GANGS)
    assert [ref.name for ref in result.gangs] == ["pair"]
    _mend(scene, {"suspend": True}, "small")
    scene.still_waits()
    _mend(scene, {"suspend": True}, "pair")
    scene.wait_bound(2)


def wait_for_end(scene: Scene) -> None:
    scene.make_nodes(a=FOUR)
    ends = {"activeDeadlineSeconds": DEADLINE_SECONDS}
    _running(scene, "batch", 1, spec=ends, backoff_limit=0)
    (held,) = scene.pods("batch")
    name = held["metadata"]["name"]
    started = scene.client.wait_for(
        "v1", "Pod", name, scene.namespace, until=lambda result: result["status"].get("startTime")
    )["status"]["startTime"]
    _waiting(scene, _run(scene, 1), 1)
    result = _only(scene, AdviceKind.WAIT_FOR_END)
    assert result.change is AdviceKind.WAIT_FOR_END
    assert [ref.name for ref in result.gangs] == ["batch"]
    assert result.at is not None
    assert (result.at - datetime.fromisoformat(started)).total_seconds() == DEADLINE_SECONDS
    scene.still_waits()
    time.sleep(max(0.0, (result.at - datetime.now(UTC)).total_seconds()))
    # Reaction of the kubelet (activeDeadlineHandler in pkg/kubelet/active_deadline.go).
    over = {"phase": "Failed", "reason": "DeadlineExceeded"}
    scene.client.patch_status("v1", "Pod", name, over, scene.namespace)
    scene.wait_bound(1)


def wait_for_the_deadline_of_a_job(scene: Scene) -> None:
    scene.make_nodes(a=FOUR)
    _running(scene, "batch", 1, job_spec={"activeDeadlineSeconds": DEADLINE_SECONDS})
    job = scene.client.get(BATCH, "Job", "batch", scene.namespace)
    _waiting(scene, _run(scene, 1), 1)
    advice = _only(scene, AdviceKind.WAIT_FOR_END)
    assert advice.change is AdviceKind.WAIT_FOR_END
    assert advice.text.startswith(f"Wait for Job {scene.namespace}/batch, which ends at ")
    assert advice.at is not None
    started = datetime.fromisoformat(job["status"]["startTime"])
    assert (advice.at - started).total_seconds() == DEADLINE_SECONDS
    scene.still_waits()
    # Its controller deletes the pods then, and makes none anew.
    scene.wait_bound(1)
    assert datetime.now(UTC) >= advice.at


def wait_for_deletion(scene: Scene) -> None:
    scene.make_nodes(a=FOUR, b=FOUR)
    scene.client.create(_holder(scene, "stays", "b", 4))
    for name in ("first", "last"):
        scene.client.create(_holder(scene, name, "a", 2, grace=600, linger="600s"))
    _waiting(scene, _run(scene, 1), 1)
    assert AdviceKind.WAIT_FOR_END not in {item.change for item in scene.advice()}
    requested = datetime.now(UTC)
    for name in ("first", "last"):
        scene.client.delete("v1", "Pod", name, scene.namespace)
    (advice,) = scene.advice()
    assert advice.change is AdviceKind.WAIT_FOR_END
    assert advice.text.startswith(f"Wait: 2 pods on node {scene.node('a')} will be gone by ")
    assert advice.at is not None
    # The API server writes the time at which the grace period is over.
    assert 595 <= (advice.at - requested).total_seconds() <= 605
    # Reaction of the kubelet after the containers have ended.
    scene.client.delete("v1", "Pod", "first", scene.namespace, grace=0)
    scene.still_waits()
    scene.client.delete("v1", "Pod", "last", scene.namespace, grace=0)
    scene.wait_bound(1)


# The gang itself


def tolerate(scene: Scene) -> None:
    stored = Room(gpus=4, taints=[taint("dedicated", "infra")])
    scene.make_nodes(a=stored, b=stored)
    _waiting(scene, _run(scene, 2), 2)
    advice = _only(scene, AdviceKind.TOLERATE)
    assert (advice.change, advice.method) == (AdviceKind.TOLERATE, ChangeMethod.RECREATE)
    assert "dedicated=infra:NoSchedule of 2 nodes" in advice.text
    entry = {"key": "dedicated", "operator": "Equal", "value": "infra", "effect": "NoSchedule"}
    _again(scene, _run(scene, 2, tolerations=[entry]))
    scene.wait_bound(2)


def select(scene: Scene) -> None:
    scene.make_nodes(
        a=Room(gpus=4, labels={MODEL: "h100"}),
        b=Room(gpus=4, labels={MODEL: "h100"}),
        c=Room(gpus=4, labels={MODEL: "a100"}),
    )
    _waiting(scene, _run(scene, 2, select={MODEL: "b200"}), 2)
    result = _only(scene, AdviceKind.SELECT)
    assert (result.label, result.values, result.method) == (MODEL, ("h100",), ChangeMethod.RECREATE)
    # There is one node of the other value.
    _again(scene, _run(scene, 2, select={MODEL: "a100"}))
    scene.still_waits()
    _again(scene, _run(scene, 2, select={MODEL: "h100"}))
    scene.wait_bound(2)


def size(scene: Scene) -> None:
    scene.make_nodes(a=FOUR, b=FOUR)
    _waiting(scene, _run(scene, 4), 4)
    advice = _only(scene, AdviceKind.SIZE)
    assert (advice.count, advice.method) == (2, ChangeMethod.IN_PLACE)
    assert "parallelism and completions of Job run from 4 to 2" in advice.text
    _mend(scene, {"parallelism": 3, "completions": 3})
    scene.still_waits()
    _mend(scene, {"parallelism": 2, "completions": 2})
    scene.wait_bound(2)


def size_with_its_quorum(scene: Scene) -> None:
    scene.make_nodes(a=FOUR, b=FOUR)
    _waiting(scene, _run(scene, 4, gang=4), 4)
    advice = _only(scene, AdviceKind.SIZE)
    assert (advice.count, advice.method) == (2, ChangeMethod.IN_PLACE)
    assert "parallelism, completions and minCount of Job run from 4 to 2" in advice.text
    for count in (3, 2):
        policy = {"schedulingPolicy": {"gang": {"minCount": count}}}
        _mend(scene, {"parallelism": count, "completions": count, "scheduling": policy})
        if count == 3:
            scene.still_waits()
    scene.wait_bound(2)


def size_of_a_list(scene: Scene) -> None:
    scene.make_nodes(a=FOUR, b=FOUR)
    _waiting(scene, _run(scene, 4, completions=100), 4)
    advice = _only(scene, AdviceKind.SIZE)
    assert (advice.count, advice.method) == (2, ChangeMethod.IN_PLACE)
    assert "Lower the parallelism of Job run from 4 to 2" in advice.text
    _mend(scene, {"parallelism": 3})
    scene.still_waits()
    _mend(scene, {"parallelism": 2})
    scene.wait_bound(2)


def quorum_left_open(scene: Scene) -> None:
    scene.make_nodes(a=FOUR, b=FOUR)
    _waiting(scene, _run(scene, 4), 4)
    advice = _only(scene, AdviceKind.QUORUM)
    assert (advice.count, advice.method) == (2, ChangeMethod.IN_PLACE)
    assert "Set minCount of Job run, which has none, to 2" in advice.text
    _lower_quorum(scene, 3)
    scene.still_waits()
    _lower_quorum(scene, 2)
    scene.wait_bound(2)


def quorum(scene: Scene) -> None:
    scene.make_nodes(a=FOUR, b=FOUR)
    _waiting(scene, _run(scene, 4, gang=4), 4)
    result = _only(scene, AdviceKind.QUORUM)
    assert (result.count, result.method) == (2, ChangeMethod.IN_PLACE)
    _lower_quorum(scene, 3)
    scene.still_waits()
    _lower_quorum(scene, 2)
    scene.wait_bound(2)


def _lower_quorum(scene: Scene, count: int) -> None:
    _mend(scene, {"scheduling": {"schedulingPolicy": {"gang": {"minCount": count}}}})


def drop_topology(scene: Scene) -> None:
    scene.make_nodes(
        a=Room(gpus=4, labels={"test.gangboard.dev/rack": "r1"}),
        b=Room(gpus=4, labels={"test.gangboard.dev/rack": "r2"}),
    )
    _waiting(scene, _run(scene, 2, topology="test.gangboard.dev/rack"), 2)
    result = _only(scene, AdviceKind.DROP_TOPOLOGY)
    assert (result.change, result.method) == (AdviceKind.DROP_TOPOLOGY, ChangeMethod.RECREATE)
    _again(scene, _run(scene, 2))
    scene.wait_bound(2)


def opt_out(scene: Scene) -> None:
    scene.make_nodes(a=FOUR, b=FOUR)
    _waiting(scene, _run(scene, 3, gang=None), 3)
    result = _only(scene, AdviceKind.OPT_OUT)
    assert (result.count, result.method) == (2, ChangeMethod.RECREATE)
    _again(scene, _run(scene, 3, gang=None, indexed=False))
    scene.wait_bound(2)


SCENES: tuple[Callable[[Scene], None], ...] = (
    wait_for_end,
    wait_for_the_deadline_of_a_job,
    wait_for_deletion,
    wait_for_room,
    restore,
    uncordon,
    suspend_gangs,
    suspend_the_one_that_is_enough,
    tolerate,
    select,
    size,
    size_with_its_quorum,
    size_of_a_list,
    quorum_left_open,
    quorum,
    drop_topology,
)


@pytest.fixture(scope="module")
def played(controlplane_137: ControlPlane) -> Iterator[dict[str, Future[None]]]:
    """Let all scenes begin; each ends by itself, with an assertion or without."""
    namespaces = Namespaces()
    scenes = {
        scene: Scene(controlplane_137.client, namespaces(controlplane_137)) for scene in SCENES
    }
    with ThreadPoolExecutor(len(SCENES)) as pool:
        yield {item.__name__: pool.submit(item, scene) for item, scene in scenes.items()}
    namespaces.delete()
    for scene in scenes.values():
        scene.clear()


@pytest.mark.parametrize("name", [scene.__name__ for scene in SCENES])
def test_advice_frees_and_half_of_it_does_not(played: dict[str, Future[None]], name: str) -> None:
    played[name].result(timeout=150)


def test_an_unrequested_gang_is_kept(controlplane_136: ControlPlane, namespace: Namespaces) -> None:
    scene = Scene(controlplane_136.client, namespace(controlplane_136), (1, 36))
    opt_out(scene)
    scene.clear()


def test_every_kind_of_advice_is_played() -> None:
    names = {item.__name__ for item in (*SCENES, opt_out)}
    assert {change.name.lower() for change in set(AdviceKind) - OF_RULES - OF_VERDICTS} <= names
