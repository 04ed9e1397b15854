"""Scenarios of gangs that lose members: a pod dies, its seat is taken, or its node falls silent."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.controlplane.client import Json
from tests.controlplane.nodes import cordon, silence_node, wake_node
from tests.controlplane.objects import jobset, pod, podgroup
from tests.scenarios.making import Objects, gang, one_job, quorum
from tests.scenarios.scenario import PATIENCE, Played, Room, Scenario, Stage, Step, is_ready


def _lose_one(stage: Stage) -> None:
    stage.wait_seen()
    stage.lose_one()


def _finish_one_lose_one(stage: Stage) -> None:
    """One member finishes its work; then another dies and its replacement must wait forever."""
    first, second = stage.wait_running(3)[:2]
    stage.script(first, complete_after="1s")
    stage.client.wait_for(
        "v1",
        "Pod",
        first["metadata"]["name"],
        stage.namespace,
        until=lambda result: result["status"]["phase"] == "Succeeded",
        timeout=PATIENCE,
    )
    # A scheduler that has not heard of the first yet counts it, and places the replacement of the second.
    stage.wait_scheduler()
    stage.delete_pod(second)


def _silence_one(stage: Stage) -> None:
    victim = stage.wait_running(3)[0]
    stage.wait_seen()
    silence_node(stage.client, victim["spec"]["nodeName"])


def _silence(node: str) -> Callable[[Stage], None]:
    """Return the action after which the kubelet of that node is silent."""

    def act(stage: Stage) -> None:
        stage.wait_seen()
        silence_node(stage.client, stage.node(node))

    return act


def _take_seat(stage: Stage) -> None:
    """Lose the member on node 1 and give its room to a stranger before its replacement comes."""
    stage.wait_seen()
    node = stage.node("1")
    cordon(stage.client, node)
    stage.delete_pod(next(p for p in stage.pods() if is_ready(p) and p["spec"]["nodeName"] == node))
    stage.make([pod("stranger", stage.namespace, cpu="6", spec={"nodeName": node})])
    stage.uncordon()


def _in_ring(ns: str, where: Mapping[str, str]) -> list[Json]:
    """Return a Job of three whose pods name a PodGroup that somebody created by hand."""
    return [podgroup("ring", ns, gang=3), *one_job("run", 3, pod_group="ring")(ns, where)]


def _cells(ns: str, nodes: Mapping[str, str]) -> list[Json]:
    """Return a JobSet of two Jobs of 6 CPU."""
    return [jobset("run", ns, jobs={"cells": {"replicas": 2, "cpu": "6", "node_selector": nodes}})]


_LOST: Objects = one_job("bereft", 3, gang="all", cpu="6")

ON_EVERY_GANG_CLUSTER = (
    # One of 3 is lost and its node, the only one, cordoned: 2 run on, the replacement has no node.
    Scenario(
        "lost-members", "Job", "run", "lost-members", "degraded", gang(3, cpu="2"),
        says=("2 of 3", "lost-members-0"), advises=("lost-members-0",),
        members={"desired": 3, "quorum": 3, "scheduled": 2, "ready": 2}, nodes=1, act=_lose_one,
        twin="quorum-lost",
        steps=(Step(Stage.uncordon, "running", "running", (), {"scheduled": 3, "ready": 3}),),
    ),
    # Its replacement and the one that runs are 2, the quorum is 3, and finished pods do not count.
    Scenario(
        "quorum-lost", "Job", "bereft", "quorum-lost", "blocked", _LOST,
        says=("1", "3"), members={"desired": 3, "quorum": 3, "succeeded": 1, "ready": 1}, nodes=3,
        act=_finish_one_lose_one, twin="lost-members",
    ),
    Scenario(
        "node-lost", "Job", "bereft", "node-lost", "degraded", _LOST,
        says=("node-lost-",), members={"desired": 3, "quorum": 3}, nodes=3, act=_silence_one,
        twin="lost-members",
    ),
)  # fmt: skip

GANGS = (
    # One of three members is done, one is lost: one runs and one waits, 2 live pods for a quorum of 3,
    # and done ones do not count. With the quorum at 2 the replacement goes.
    Scenario(
        "finished-mate", "Job", "run", "quorum-lost", "blocked", _in_ring,
        nodes=1, act=_finish_one_lose_one, says=("1", "3"), members={"quorum": 3, "succeeded": 1},
        steps=(Step(lambda stage: stage.lower_quorum("ring", 2), "running", "running"),),
        twin="seat-taken",
    ),
    # 5 CPU each on three nodes of 8. A stranger of 6 takes the place of a lost member: 2, 3 and 3 are free.
    Scenario(
        "seat-taken", "Job", "run", "lost-members", "degraded", gang(3, cpu="5"), nodes=3,
        act=_take_seat, says=("2 of 3", "CPU"), members={"desired": 3, "quorum": 3, "ready": 2},
        steps=(Step(lambda stage: stage.delete("stranger"), "running", "running"),),
        twin="one-seat-short",
    ),
    # 4 CPU each: node 0 (8) has two members, node 1 (4) has one. Without node 0 one is ready, quorum 2.
    Scenario(
        "node-silent", "PodGroup", "run", "node-lost", "degraded", quorum(3, 2, cpu="4"),
        rooms=(Room(cpu="8"), Room(cpu="4")), act=_silence("0"), says=("node-silent-0",),
        members={"desired": 3, "quorum": 2, "ready": 1},
        steps=(Step(lambda stage: wake_node(stage.client, stage.node("0")), "running", "running"),),
        twin="small-node-silent",
    ),
    # The same without node 1: two are ready, and two are enough.
    Scenario(
        "small-node-silent", "PodGroup", "run", "below-size", "degraded", quorum(3, 2, cpu="4"),
        rooms=(Room(cpu="8"), Room(cpu="4")), act=_silence("1"), says=("2 of 3",),
        members={"desired": 3, "quorum": 2, "ready": 2}, twin="node-silent",
    ),
)  # fmt: skip

JOBSETS = (
    # One member a node (6 of 8). The kubelet of node 1 dies: its pod stays for five more minutes, not
    # ready. Then the kubelet is back.
    Scenario(
        "set-quiet", "JobSet", "run", "running", "running",
        _cells, nodes=2, members={"desired": 2, "ready": 2},
        steps=(
            Step(lambda stage: silence_node(stage.client, stage.node("1")), "node-lost",
                "degraded", ("set-quiet-1", "1 of 2"), {"ready": 1}),
            Step(lambda stage: wake_node(stage.client, stage.node("1")), "running", "running",
                members={"ready": 2}),
        ), twin="set-loses",
    ),
)  # fmt: skip

PLAYED: Played = {
    "k137": (*ON_EVERY_GANG_CLUSTER, *GANGS),
    "k136": ON_EVERY_GANG_CLUSTER,
    "plain": JOBSETS,
}
