"""Scenarios with two causes at once: their order, and the findings that must not appear.

A cause precedes a symptom, the owner's request precedes changes to nodes, an earlier stage precedes a later
one, and the constraint that excludes most nodes precedes the others.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.controlplane.client import Json
from tests.controlplane.objects import JobOptions, jobset, priority_class, quota
from tests.scenarios.making import all_of, apart, bare, gang, holders, quorum, taint
from tests.scenarios.scenario import Played, Room, Scenario, Stage, Step
from tests.scenarios.topology import RACK

Where = Mapping[str, str]
VISION = taint("team", "vision")


def _small_quota(ns: str, nodes: Where) -> list[Json]:
    return [quota("two-pods", ns, pods="2")]


def _two_units(ns: str, nodes: Where) -> list[Json]:
    """One Job that no node will ever take, and one for which there is no room now."""
    full: JobOptions = {"pods": 2, "node_selector": nodes, "cpu": "6"}
    return [
        jobset(
            "run",
            ns,
            jobs={
                "lunar": {"node_selector": {**nodes, "zone": "moon"}},
                "workers": full,
            },
        )
    ]


def _ranked(ns: str, nodes: Where) -> list[Json]:
    """A gang whose pods have a priority that their PodGroup has not, on nodes too small for it."""
    urgent = priority_class(f"{ns}-urgent", 1000)
    created = quorum(2, 2, cpu="20", priority_class=f"{ns}-urgent")(ns, nodes)
    return [urgent, *created]


_DISK = "example.com/disk"
_WRONG_VALUE = {"key": "team", "operator": "Equal", "value": "speech", "effect": "NoExecute"}
_EVICTING = {"key": "team", "value": "vision", "effect": "NoExecute"}


def _not_slow() -> Json:
    """Return the affinity to disks that are not slow, or to a rack, which no node has."""
    exists = {"key": _DISK, "operator": "Exists"}
    not_slow = {"key": _DISK, "operator": "NotIn", "values": ["slow"]}
    terms = [
        {"matchExpressions": [exists, not_slow]},
        {"matchExpressions": [{"key": RACK, "operator": "Exists"}]},
    ]
    required = {"nodeSelectorTerms": terms}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


_CORDONED = Room(labels={_DISK: "fast"}, unschedulable=True)
_TAINTED = Room(labels={_DISK: "fast"}, taints=[_EVICTING])
_SLOW = Room(labels={_DISK: "slow"}, taints=[{**_EVICTING, "effect": "PreferNoSchedule"}])
_PICKY = gang(2, affinity=_not_slow(), tolerations=[_WRONG_VALUE])


def _soften(stage: Stage) -> None:
    """Let the taint of the first node only warn."""
    taints = [{**_EVICTING, "effect": "PreferNoSchedule"}]
    stage.client.patch("v1", "Node", stage.node("0"), {"spec": {"taints": taints}})


def _open_gate(stage: Stage) -> None:
    """Take the gate from the pod that has one."""
    stage.client.patch("v1", "Pod", "m-2", {"spec": {"schedulingGates": []}}, stage.namespace)


TWO_CAUSES = (
    # Affinity leaves 5 of 6 nodes (the slow one is open: PreferNoSchedule excludes no pod). Taints
    # take 3 of them (the toleration names another value), cordons 2. Then one taint only warns: both
    # fit.
    Scenario(
        "taints-then-cordon", "Job", "run", "untolerated-taint", "blocked", _PICKY,
        says=("2", "team=vision"), members={"scheduled": 0},
        rooms=(_TAINTED, _TAINTED, _TAINTED, _CORDONED, _CORDONED, _SLOW), twin="cordons-then-taint",
        steps=(Step(_soften, "running", "running", members={"ready": 2}),),
    ),
    # One node cordoned instead of tainted: cordons take 3 of the 5, taints 2.
    Scenario(
        "cordons-then-taint", "Job", "run", "nodes-unschedulable", "blocked", _PICKY,
        says=("2", "3"), members={"scheduled": 0},
        rooms=(_TAINTED, _TAINTED, _CORDONED, _CORDONED, _CORDONED, _SLOW), twin="taints-then-cordon",
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
    # The pods that need capacity do not exist, so capacity does not matter.
    Scenario(
        "quota-and-room", "Job", "run", "pod-creation-refused", "blocked",
        all_of(_small_quota, gang(4, cpu="20")),
        says=("2 of 4", "two-pods"), members={"created": 2, "scheduled": 0}, nodes=1,
        twin="gate-and-room",
    ),
    # One gated pod holds all three. Without the gate they would not fit: 3 x 6 = 18 CPU on 8 + 8.
    Scenario(
        "gate-and-room", "PodGroup", "run", "scheduling-gated", "waiting",
        bare(3, {}, {}, {"gates": ["example.com/licence"]}, cpu="6"), nodes=2,
        says=("example.com/licence",), members={"created": 3, "scheduled": 0},
        steps=(Step(_open_gate, "exceeds-capacity", "blocked", ("2 of 3", "CPU")),),
        twin="few-and-room",
    ),
    # The quorum is 4, three pods exist: that comes first, although there is no room either. With the
    # quorum lowered to 3 the next cause shows: 3 x 6 = 18 CPU, nodes of 8 + 8 take one member each.
    Scenario(
        "few-and-room", "PodGroup", "run", "below-quorum", "blocked", quorum(3, 4, cpu="6"),
        nodes=2, says=("3 of the 4",), members={"quorum": 4, "created": 3, "scheduled": 0},
        steps=(
            Step(
                lambda stage: stage.lower_quorum("run", 3),
                "exceeds-capacity", "blocked", ("2 of 3", "CPU"),
            ),
        ),
        twin="gate-and-room",
    ),
    Scenario(
        "rank-and-room", "PodGroup", "run", "priority-mismatch", "blocked", _ranked,
        says=("1000",), members={"scheduled": 0}, nodes=1, twin="few-and-room",
    ),
    # One usable node takes one of two pods. The node for the other pod is tainted.
    Scenario(
        "taint-and-capacity", "Job", "run", "exceeds-capacity", "blocked", gang(2, cpu="6"),
        says=("12", "8", "CPU"), members={"scheduled": 0},
        rooms=(Room(), Room(taints=[VISION])), twin="not-tolerated",
    ),
    # Two nodes may be used and have room for three pods when they are empty; one is cordoned.
    Scenario(
        "cordon-and-room", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0], cpu="8"), gang(2, cpu="6")),
        says=("12", "8", "CPU"), members={"scheduled": 0},
        rooms=(Room(), Room(), Room(unschedulable=True)), twin="cordons-then-taint",
    ),
    # Free capacity on the tainted node does not count for this gang: 6 free, not 14.
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
    # A gang that can never run precedes a waiting one.
    Scenario(
        "never-and-not-now", "JobSet", "run", "no-matching-node", "blocked",
        all_of(holders([0, 1], cpu="8"), _two_units),
        says=("zone",), members={"desired": 3, "scheduled": 0}, nodes=2, twin="cordon-and-room",
    ),
)  # fmt: skip

PLAYED: Played = {
    "k137": TWO_CAUSES,
    "k136": tuple(cause for cause in TWO_CAUSES if cause.name == "taint-and-capacity"),
}
