"""Scenarios over time: waiting, running, a member lost, placed again. Each step is an expectation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.controlplane.client import Json
from tests.controlplane.nodes import silence_node, wake_node
from tests.controlplane.objects import pod, podgroup
from tests.scenarios.making import all_of, gang, holders, loose, quorum, taint
from tests.scenarios.scenario import Played, Room, Scenario, Stage, Step
from tests.scenarios.topology import RACK

GPUS = "nvidia.com/gpu"


def _holder_leaves(stage: Stage) -> None:
    stage.delete("holder-0")


def _lose_one(stage: Stage) -> None:
    stage.lose_one()


def _uncordon(stage: Stage) -> None:
    stage.uncordon()


def _untaint(stage: Stage) -> None:
    for at in (0, 1):
        patch = {"spec": {"taints": None}}
        stage.client.patch("v1", "Node", stage.node(str(at)), patch)


def _add(*rooms: Room) -> Callable[[Stage], None]:
    return lambda stage: stage.add_nodes(*rooms)


def _silence_one(stage: Stage) -> None:
    silence_node(stage.client, stage.node("0"))


def _wake(stage: Stage) -> None:
    wake_node(stage.client, stage.node("0"))


def _small_then_large(ns: str, nodes: Mapping[str, str]) -> list[Json]:
    """Return a gang of two sizes; the scheduler tries its pods in the order of their making."""
    sizes = {"small": "3", "large": "5"}
    pods = [
        pod(name, ns, pod_group="run", node_selector=nodes, cpu=cpu) for name, cpu in sizes.items()
    ]
    return [*pods, podgroup("run", ns, gang=2)]


RUNS = "running", "running"
OVER_TIME = (
    Scenario(
        "room-comes", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0], cpu="8"), gang(3, cpu="6")),
        says=("18", "16", "CPU"), members={"scheduled": 0}, nodes=3, twin="cordon-goes",
        steps=(
            Step(_holder_leaves, *RUNS, (), {"ready": 3}),
            Step(_lose_one, "lost-members", "degraded", ("2 of 3",), {"ready": 2}),
            Step(_uncordon, *RUNS, (), {"ready": 3}),
        ),
    ),
    Scenario(
        "nodes-come", "Job", "run", "no-matching-node", "blocked", gang(2, gpu=4),
        says=("2", GPUS), members={"scheduled": 0}, nodes=2, twin="room-comes",
        steps=(
            Step(_add(Room(gpus=4)), "exceeds-capacity", "blocked", ("8", "4", "GPU")),
            Step(_add(Room(gpus=4)), *RUNS, (), {"ready": 2}),
        ),
    ),
    Scenario(
        "taint-goes", "Job", "run", "untolerated-taint", "blocked", gang(2, cpu="6"),
        says=("2", "maintenance"), rooms=(Room(taints=[taint("maintenance")]),) * 2,
        twin="cordon-goes", steps=(Step(_untaint, *RUNS, (), {"ready": 2}),),
    ),
    Scenario(
        "cordon-goes", "Job", "run", "nodes-unschedulable", "blocked", gang(2, cpu="6"),
        says=("2",), rooms=(Room(unschedulable=True),) * 2, twin="taint-goes",
        steps=(
            Step(_uncordon, *RUNS, (), {"ready": 2}),
            Step(_lose_one, "lost-members", "degraded", ("1 of 2",), {"ready": 1}),
        ),
    ),
    Scenario(
        "quorum-then-all", "PodGroup", "run", "below-size", "degraded",
        quorum(3, 2, cpu="6"),
        says=("2 of 3",), members={"desired": 3, "quorum": 2, "scheduled": 2}, nodes=2,
        twin="gpu-fragmented",
        steps=(Step(_add(Room()), *RUNS, (), {"ready": 3}),),
    ),
    Scenario(
        # Free are 5 and 2 cores, then 5 and 3. The small pod goes where most is free: 2 are left.
        "order-misses", "PodGroup", "run", "insufficient-resources", "waiting",
        all_of(holders([1], cpu="1"), _small_then_large),
        says=("8", "7", "CPU"), members={"desired": 2, "scheduled": 0},
        rooms=(Room(cpu="5"), Room(cpu="3")), twin="gpu-fragmented",
        steps=(
            Step(
                lambda stage: stage.delete("holder-1"),
                "fragmented", "waiting", ("2 pods", "one by one"), {"scheduled": 0},
            ),
            Step(_add(Room()), *RUNS, (), {"ready": 2}),
        ),
    ),
    Scenario(
        # Rack a has a free node, and members that run have chosen rack b.
        "back-to-its-rack", "Job", "run", *RUNS, gang(2, gpu=4, topology=RACK),
        members={"ready": 2},
        rooms=(
            Room(gpus=4, labels={RACK: "a"}), Room(gpus=4, labels={RACK: "b"}),
            Room(gpus=4, labels={RACK: "b"}),
        ),
        twin="room-comes",
        steps=(
            Step(_lose_one, "lost-members", "degraded", ("1 of 2", RACK), {"ready": 1}),
            Step(_uncordon, *RUNS, (), {"ready": 2}),
        ),
    ),
    Scenario(
        "node-wakes", "Job", "run", *RUNS, gang(3, cpu="6"), members={"ready": 3}, nodes=3,
        twin="room-comes",
        steps=(
            Step(_silence_one, "node-lost", "degraded", ("node-wakes-0",), {"ready": 2}),
            Step(_wake, *RUNS, (), {"ready": 3}),
        ),
    ),
)  # fmt: skip
OVER_TIME_PODS = (
    Scenario(
        "half-then-all", "Job", "run", "partly-placed", "degraded", loose(3, cpu="6"),
        says=("2 of 3",), members={"scheduled": 2}, nodes=2, twin="preempting-pods",
        steps=(
            Step(_add(Room()), *RUNS, (), {"ready": 3}),
            Step(_lose_one, "lost-members", "degraded", ("2 of 3",), {"ready": 2}),
            Step(_uncordon, *RUNS, (), {"ready": 3}),
        ),
    ),
)  # fmt: skip
_ON_136 = ("room-comes", "cordon-goes", "taint-goes")
PLAYED: Played = {
    "k137": OVER_TIME,
    "k136": tuple(scenario for scenario in OVER_TIME if scenario.name in _ON_136),
    "plain": OVER_TIME_PODS,
}
