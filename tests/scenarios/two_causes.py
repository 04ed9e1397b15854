"""Scenarios with two causes at once: which one is said first, and what must not be said.

Cause before symptom; what the owner asked for before what was done to nodes; an earlier stage
before a later one; what keeps most nodes away before what keeps fewer.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.controlplane.client import Json
from tests.controlplane.objects import JobOptions, jobset, podgroup, priority_class, quota
from tests.scenarios.making import all_of, apart, gang, holders, quorum, taint
from tests.scenarios.scenario import Room, Scenario
from tests.scenarios.topology import RACK

Where = Mapping[str, str]
VISION = taint("team", "vision")


def _small_quota(ns: str, where: Where) -> list[Json]:
    return [quota("two-pods", ns, pods="2")]


def _two_units(ns: str, where: Where) -> list[Json]:
    """One Job that no node will ever take, and one for which there is no room now."""
    full: JobOptions = {"pods": 2, "node_selector": where, "cpu": "6"}
    return [
        jobset(
            "run",
            ns,
            jobs={
                "lunar": {"node_selector": {**where, "zone": "moon"}},
                "workers": full,
            },
        )
    ]


def _ranked(ns: str, where: Where) -> list[Json]:
    """A gang whose pods have a priority that their PodGroup has not, on nodes too small for it."""
    urgent = priority_class(f"{ns}-urgent", 1000)
    made = quorum(2, 2, cpu="20", priority_class=f"{ns}-urgent")(ns, where)
    return [urgent, *made]


def _too_few(ns: str, where: Where) -> list[Json]:
    """Two of four pods exist, and not even these would fit."""
    _group, *pods = quorum(2, 4, cpu="20")(ns, where)
    return [podgroup("run", ns, gang=4), *pods]


TWO_CAUSES = (
    Scenario(
        "taints-then-cordon", "Job", "run", "untolerated-taint", "blocked", gang(2),
        says=("2", "team=vision"), members={"scheduled": 0},
        rooms=(Room(taints=[VISION]), Room(taints=[VISION]), Room(unschedulable=True)),
        twin="cordons-then-taint",
    ),
    Scenario(
        "cordons-then-taint", "Job", "run", "nodes-unschedulable", "blocked", gang(2),
        says=("2",), members={"scheduled": 0},
        rooms=(Room(taints=[VISION]), Room(unschedulable=True), Room(unschedulable=True)),
        twin="taints-then-cordon",
    ),
    # Nodes of the type are too small, nodes that are large enough have another type.
    Scenario(
        "type-and-size", "Job", "run", "no-matching-node", "blocked",
        gang(2, cpu="6", node_selector={"disk": "ssd"}),
        says=("6", "CPU"), members={"scheduled": 0},
        rooms=(
            Room(cpu="4", labels={"disk": "ssd"}), Room(cpu="4", labels={"disk": "ssd"}),
            Room(cpu="16", labels={"disk": "hdd"}),
        ),
        twin="cordons-then-taint",
    ),
    # Whatever room there is: the pods that would need it are not made.
    Scenario(
        "quota-and-room", "Job", "run", "pod-creation-refused", "blocked",
        all_of(_small_quota, gang(4, cpu="20")),
        says=("2 of 4", "two-pods"), members={"created": 2, "scheduled": 0}, nodes=1,
        twin="gate-and-room",
    ),
    Scenario(
        "gate-and-room", "Job", "run", "scheduling-gated", "waiting",
        gang(2, cpu="20", gates=["example.com/data-staged"]),
        says=("example.com/data-staged",), members={"scheduled": 0}, nodes=1,
        twin="quota-and-room",
    ),
    Scenario(
        "few-and-room", "PodGroup", "run", "below-quorum", "blocked", _too_few,
        says=("2", "4"), members={"quorum": 4, "created": 2}, nodes=1, twin="rank-and-room",
    ),
    Scenario(
        "rank-and-room", "PodGroup", "run", "priority-mismatch", "blocked", _ranked,
        says=("1000",), members={"scheduled": 0}, nodes=1, twin="few-and-room",
    ),
    # One node may be used and takes one of two pods; what would take the other is tainted.
    Scenario(
        "taint-and-capacity", "Job", "run", "exceeds-capacity", "blocked", gang(2, cpu="6"),
        says=("12", "8", "CPU"), members={"scheduled": 0},
        rooms=(Room(), Room(taints=[VISION])), twin="taints-then-cordon",
    ),
    # Two nodes may be used and have room for three pods when they are empty; one is cordoned.
    Scenario(
        "cordon-and-room", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0], cpu="8"), gang(2, cpu="6")),
        says=("12", "8", "CPU"), members={"scheduled": 0},
        rooms=(Room(), Room(), Room(unschedulable=True)), twin="cordons-then-taint",
    ),
    # What is free on the tainted node is no room for this gang: 6 free, not 14.
    Scenario(
        "fragmented-and-taint", "Job", "run", "fragmented", "waiting",
        all_of(holders([0, 1, 2], gpu=2), gang(2, gpu=3)),
        says=("6", "GPU"), members={"scheduled": 0},
        rooms=(*(Room(gpus=4),) * 3, Room(gpus=8, taints=[VISION])), twin="racks-and-room",
    ),
    # Not in one rack, and not anywhere either: room is the cause.
    Scenario(
        "racks-and-room", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1, 2], gpu=8), gang(3, gpu=4, topology=RACK)),
        says=("3", "GPU"), members={"scheduled": 0},
        rooms=(
            Room(gpus=8, labels={RACK: "a"}), Room(gpus=8, labels={RACK: "a"}),
            Room(gpus=8, labels={RACK: "b"}), Room(gpus=8, labels={RACK: "b"}),
        ),
        twin="fragmented-and-taint",
    ),
    # Together on the two free nodes they would fit; one to a node they need the third.
    Scenario(
        "apart-and-room", "Job", "run", "pod-anti-affinity", "waiting",
        all_of(holders([0], cpu="8"), gang(3, cpu="2", **apart("ring"))),
        says=("3",), members={"scheduled": 0}, nodes=3, twin="cordon-and-room",
    ),
    # What can never run stands before what waits.
    Scenario(
        "never-and-not-now", "JobSet", "run", "no-matching-node", "blocked",
        all_of(holders([0, 1], cpu="8"), _two_units),
        says=("zone",), members={"desired": 3, "scheduled": 0}, nodes=2, twin="cordon-and-room",
    ),
)  # fmt: skip
ON_136 = ("taints-then-cordon", "cordons-then-taint", "taint-and-capacity")


def two_causes(minor: str) -> tuple[Scenario, ...]:
    """Return those that are played on a minor."""
    if minor == "1.37":
        return TWO_CAUSES
    return tuple(scenario for scenario in TWO_CAUSES if scenario.name in ON_136)
