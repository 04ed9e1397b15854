"""Scenarios of room: too little, too scattered, or too small. A scenario has its nodes for itself.

They mean the same on 1.37 and 1.36: the Jobs are gangs on both. The numbers follow from the scenario's own
nodes (8 cpu, 32 GiB and 110 pods by default).
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.controlplane.client import Json
from tests.controlplane.objects import JobOptions, jobset
from tests.scenarios.making import (
    Objects,
    all_of,
    daemons,
    device,
    gang,
    holders,
    lose_member,
    once_running,
    quorum,
)
from tests.scenarios.scenario import Played, Room, Scenario, Stage, Step

FOUR = Room(gpus=4)
FPGA = "example.com/fpga"
_CARDS = (Room(extra={FPGA: "4"}),) * 2


def _on_cards(least: int) -> Objects:
    """Return five pods of two FPGAs of which so many must be placed, and a holder of two."""
    spec = device(FPGA, 2)
    return all_of(holders([0], spec=spec), quorum(5, least, spec=spec))


def _jobset(ns: str, nodes: Mapping[str, str]) -> list[Json]:
    return [jobset("run", ns, jobs={"w": {"pods": 2, "gpu": 3, "node_selector": nodes}})]


def _cells(ns: str, nodes: Mapping[str, str]) -> list[Json]:
    """Return a JobSet of two Jobs of 6 CPU."""
    cells: JobOptions = {"replicas": 2, "cpu": "6", "backoff_limit": 6, "node_selector": nodes}
    return [jobset("run", ns, jobs={"cells": cells})]


# Six pairs of twins: one number apart, and another thing to do about it.
TWINS = (
    # 12 GPUs wanted, four nodes with 4 of which two are taken: 8 free.
    Scenario(
        "gpu-short", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1], gpu=4), gang(3, gpu=4)),
        says=("12", "8", "GPU"), members={"desired": 3, "quorum": 3, "scheduled": 0},
        rooms=(FOUR,) * 4, twin="gpu-too-large",
    ),
    # 20 wanted, and the four nodes have 16 in all.
    Scenario(
        "gpu-too-large", "Job", "run", "exceeds-capacity", "blocked",
        all_of(holders([0, 1], gpu=4), gang(5, gpu=4)),
        says=("20", "16", "GPU"), members={"desired": 5, "scheduled": 0},
        rooms=(FOUR,) * 4, twin="gpu-short",
    ),
    # 6 wanted by two pods of 3; 2 free on each of three nodes.
    Scenario(
        "gpu-fragmented", "Job", "run", "fragmented", "waiting",
        all_of(holders([0, 1, 2], gpu=2), gang(2, gpu=3)),
        says=("6", "3", "GPU"), members={"desired": 2, "quorum": 2, "scheduled": 0}, rooms=(FOUR,) * 3,
        twin="gpu-occupied",
        steps=(
            Step(lambda stage: stage.delete("holder-0"), "fragmented", "waiting", ("3", "8")),
            Step(lambda stage: stage.delete("holder-1"), "running", "running", (), {"ready": 2}),
        ),
    ),
    # The same, 1 free on each: 3 of 6, and no pod finds room at all.
    Scenario(
        "gpu-occupied", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1, 2], gpu=3), gang(2, gpu=3)),
        says=("6", "3", "GPU"), members={"desired": 2, "quorum": 2, "scheduled": 0}, rooms=(FOUR,) * 3,
        twin="gpu-fragmented",
    ),
    # 15 cores wanted by three pods of 5; 4 free on each of four nodes.
    Scenario(
        "cpu-fragmented", "Job", "run", "fragmented", "waiting",
        all_of(holders([0, 1, 2, 3], cpu="4"), gang(3, cpu="5")),
        says=("5", "16", "CPU"), members={"scheduled": 0}, nodes=4, twin="cpu-short",
    ),
    # The same gang, one whole node free: 8 of 15, one pod would fit.
    Scenario(
        "cpu-short", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1, 2], cpu="8"), gang(3, cpu="5")),
        says=("15", "8", "CPU"), members={"scheduled": 0}, nodes=4, twin="cpu-fragmented",
    ),
    # 60 GiB wanted by three pods of 20; 16, 16 and 32 free.
    Scenario(
        "memory-fragmented", "Job", "run", "fragmented", "waiting",
        all_of(holders([0, 1], memory="16Gi"), gang(3, memory="20Gi")),
        says=("memory",), members={"scheduled": 0}, nodes=3, twin="memory-short",
    ),
    # The same, 8, 8 and 32 free: 48 of 60.
    Scenario(
        "memory-short", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1], memory="24Gi"), gang(3, memory="20Gi")),
        says=("memory",), members={"scheduled": 0}, nodes=3, twin="memory-fragmented",
    ),
    # One pod wants 12 cores and the largest node has 8.
    Scenario(
        "pod-too-large", "Job", "run", "no-matching-node", "blocked",
        gang(2, cpu="12"),
        says=("12", "8", "CPU"), members={"scheduled": 0}, nodes=3, twin="one-too-many",
    ),
    # Each pod has a node that could host it, and there are three nodes for four of them.
    Scenario(
        "one-too-many", "Job", "run", "exceeds-capacity", "blocked",
        gang(4, cpu="6"),
        says=("4", "CPU"), members={"desired": 4, "scheduled": 0}, nodes=3, twin="pod-too-large",
    ),
    # 12 cores wanted; two nodes of 8 with an agent of 3 that never leaves: 10 at the very most.
    Scenario(
        "agents-stay", "Job", "run", "exceeds-capacity", "blocked",
        daemons(cpu="3"),
        says=("12", "10", "CPU"), members={"scheduled": 0}, nodes=2, twin="others-leave",
        act=once_running(2, gang(4, cpu="3")),
    ),
    # The same room taken by pods that can leave.
    Scenario(
        "others-leave", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1], cpu="3"), gang(4, cpu="3")),
        says=("12", "10", "CPU"), members={"scheduled": 0}, nodes=2, twin="agents-stay",
    ),
)  # fmt: skip

GANGS = (
    # Quorum 4 of 5: 8 FPGAs, all that the two nodes have; 2 are held, 6 free. The fifth member may wait.
    Scenario(
        "quorum-short", "PodGroup", "run", "insufficient-resources", "waiting", _on_cards(4),
        says=(FPGA, "8", "6"), members={"desired": 5, "quorum": 4, "created": 5, "scheduled": 0},
        rooms=_CARDS, twin="quorum-large",
    ),
    # Quorum 5 of 5: 10 FPGAs, and the two nodes have 8.
    Scenario(
        "quorum-large", "PodGroup", "run", "exceeds-capacity", "blocked", _on_cards(5),
        says=(FPGA, "10", "8"), members={"desired": 5, "quorum": 5, "created": 5, "scheduled": 0},
        rooms=_CARDS, twin="quorum-short",
    ),
    # One node has no GPU left, the other 2 CPU: 8 GPUs and 7 + 2 CPU are free for 2 x (4 GPUs, 4 CPU), and
    # no member fits. Without the holder of CPU the other takes both. One lost, its node cordoned: 1 of 2.
    Scenario(
        "gpus-stranded", "Job", "run", "fragmented", "waiting",
        all_of(holders([0], gpu=8), holders([1], cpu="6"), gang(2, cpu="4", gpu=4)),
        says=("GPU", "CPU"), nodes=2, gpus=8, twin="gpu-occupied", steps=(
            Step(lambda stage: stage.delete("holder-1"), "running", "running", (), {"ready": 2}),
            Step(lose_member, "lost-members", "degraded", ("1 of 2",), {"ready": 1}),
            Step(Stage.uncordon, "running", "running", (), {"ready": 2})),
    ),
)  # fmt: skip

JOBSETS = (
    Scenario(
        "jobset-fragmented", "JobSet", "run", "fragmented", "waiting",
        all_of(holders([0, 1, 2], gpu=2), _jobset),
        says=("6", "GPU"), members={"desired": 2, "scheduled": 0}, rooms=(FOUR,) * 3,
        twin="jobset-occupied",
    ),
    Scenario(
        "jobset-occupied", "JobSet", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1, 2], gpu=3), _jobset),
        says=("6", "3", "GPU"), members={"desired": 2, "scheduled": 0}, rooms=(FOUR,) * 3,
        twin="jobset-fragmented",
    ),
    # A cell needs 6 CPU. Holders have 4 of each 8: none fits. One holder goes: one cell. The other
    # goes: whole. Then a cell is lost and its node cordoned; the other node has 2 free.
    Scenario(
        "set-loses", "JobSet", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1], cpu="4"), _cells),
        nodes=2, says=("CPU",), members={"desired": 2, "scheduled": 0},
        steps=(
            Step(lambda stage: stage.delete("holder-0"), "partly-placed", "degraded",
                ("1 of 2", "CPU"), {"scheduled": 1, "ready": 1}),
            Step(lambda stage: stage.delete("holder-1"), "running", "running",
                members={"ready": 2}),
            Step(Stage.lose_one, "lost-members", "degraded", ("1 of 2",), {"ready": 1}),
            Step(Stage.uncordon, "running", "running", members={"ready": 2}),
        ), twin="set-half",
    ),
)  # fmt: skip

_NOT_ON_136 = ("memory-fragmented", "memory-short", "agents-stay", "others-leave")

PLAYED: Played = {
    "k137": (*TWINS, *GANGS),
    "k136": tuple(twin for twin in TWINS if twin.name not in _NOT_ON_136),
    "plain": JOBSETS,
}
