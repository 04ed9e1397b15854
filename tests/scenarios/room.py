"""Scenarios of room: too little, too scattered, too small, or on nodes that the gang may not use.

They mean the same on 1.37 and 1.36: the Jobs are gangs on both. The numbers follow from the
scenario's own nodes (8 cpu, 32 GiB and 110 pods unless said), which nobody else may use.
"""

from __future__ import annotations

from tests.scenarios.making import (
    all_of,
    apart,
    daemons,
    device,
    gang,
    holders,
    on_type,
    port,
    taint,
)
from tests.scenarios.scenario import POOL, Room, Scenario, Stage

FOUR = Room(gpus=4)
BARE = Room()


def _gang_after_agents(stage: Stage) -> None:
    stage.wait_running(2)
    stage.make(gang(4, cpu="3")(stage.namespace, {POOL: stage.pool}))


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
        says=("6", "3", "GPU"), members={"scheduled": 0}, rooms=(FOUR,) * 3, twin="gpu-occupied",
    ),
    # The same, 1 free on each: 3 of 6, and no pod finds room at all.
    Scenario(
        "gpu-occupied", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1, 2], gpu=3), gang(2, gpu=3)),
        says=("6", "3", "GPU"), members={"scheduled": 0}, rooms=(FOUR,) * 3,
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
        act=_gang_after_agents,
    ),
    # The same room taken by pods that can leave.
    Scenario(
        "others-leave", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1], cpu="3"), gang(4, cpu="3")),
        says=("12", "10", "CPU"), members={"scheduled": 0}, nodes=2, twin="agents-stay",
    ),
)  # fmt: skip

# No node that the gang may use at all.
EXCLUDED = (
    Scenario(
        "not-tolerated", "Job", "run", "untolerated-taint", "blocked", gang(3),
        says=("3", "team=vision"), members={"scheduled": 0},
        rooms=(Room(taints=[taint("team", "vision")]),) * 3, twin="all-cordoned",
    ),
    Scenario(
        "all-cordoned", "Job", "run", "nodes-unschedulable", "blocked", gang(3),
        says=("3",), members={"scheduled": 0}, rooms=(Room(unschedulable=True),) * 3,
        twin="not-tolerated",
    ),
    Scenario(
        "wrong-type", "Job", "run", "no-matching-node", "blocked",
        gang(3, affinity=on_type("gpu.example/type", "h100")),
        says=("3", "gpu.example/type"), members={"scheduled": 0},
        rooms=(Room(labels={"gpu.example/type": "a100"}),) * 2, twin="not-tolerated",
    ),
    Scenario(
        "nobody-has", "Job", "run", "no-matching-node", "blocked",
        gang(2, spec=device("example.com/fpga", 1)),
        says=("2", "example.com/fpga"), members={"scheduled": 0}, nodes=2, twin="all-cordoned",
    ),
)  # fmt: skip

# Room enough, and something else that a node gives once.
ONCE = (
    Scenario(
        "port-taken", "Job", "run", "port-conflict", "waiting",
        all_of(holders([0], spec=port(7077)), gang(2, spec=port(7077))),
        says=("2", "7077"), members={"scheduled": 0}, nodes=2, twin="ports-too-few",
    ),
    Scenario(
        "ports-too-few", "Job", "run", "port-conflict", "blocked",
        gang(3, spec=port(7077)),
        says=("3", "2", "7077"), members={"scheduled": 0}, nodes=2, twin="too-far-apart",
    ),
    Scenario(
        "too-far-apart", "Job", "run", "pod-anti-affinity", "blocked",
        gang(5, **apart("ring")),
        says=("5", "3"), members={"scheduled": 0}, nodes=3, twin="ports-too-few",
    ),
    Scenario(
        "one-of-the-set", "Job", "run", "pod-anti-affinity", "waiting",
        all_of(holders([0], **apart("ring")), gang(3, **apart("ring"))),
        says=("3",), members={"scheduled": 0}, nodes=3, twin="port-taken",
    ),
    # The rule of the members alone counts, whatever the pod that is there thinks of it.
    Scenario(
        "without-the-rule", "Job", "run", "pod-anti-affinity", "waiting",
        all_of(holders([0], labels=apart("ring")["labels"]), gang(3, **apart("ring"))),
        says=("3",), members={"scheduled": 0}, nodes=3, twin="port-taken",
    ),
    # And so does the rule of the pod that is there.
    Scenario(
        "kept-out", "Job", "run", "pod-anti-affinity", "waiting",
        all_of(holders([0], **apart("ring")), gang(3, labels=apart("ring")["labels"])),
        says=("3",), members={"scheduled": 0}, nodes=1, twin="port-taken",
    ),
    Scenario(
        "pods-too-many", "Job", "run", "node-pod-limit", "blocked",
        gang(5, cpu="100m"),
        says=("5", "4", "pods"), members={"scheduled": 0}, rooms=(Room(pods=2),) * 2,
        twin="one-too-many",
    ),
    Scenario(
        "pods-used-up", "Job", "run", "node-pod-limit", "waiting",
        all_of(holders([0, 1], cpu="100m"), gang(5, cpu="100m")),
        says=("5", "4", "pods"), members={"scheduled": 0}, rooms=(Room(pods=3),) * 2,
        twin="others-leave",
    ),
)  # fmt: skip

ROOM = (*TWINS, *EXCLUDED, *ONCE)
ON_136 = (
    "gpu-short", "gpu-too-large", "gpu-fragmented", "gpu-occupied", "cpu-fragmented", "cpu-short",
    "pod-too-large", "one-too-many", "not-tolerated", "all-cordoned", "wrong-type", "port-taken",
    "ports-too-few", "too-far-apart",
)  # fmt: skip
"""Those that are played on 1.36 too."""


def room_scenarios(minor: str) -> tuple[Scenario, ...]:
    """Return those that are played on a minor."""
    if minor == "1.37":
        return ROOM
    return tuple(scenario for scenario in ROOM if scenario.name in ON_136)
