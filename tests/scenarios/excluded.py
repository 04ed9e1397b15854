"""Scenarios of unusable nodes: tainted, cordoned, or not requested by the owner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.objects import job, pod
from tests.scenarios.making import (
    Objects,
    all_of,
    device,
    gang,
    holders,
    loose,
    on_type,
    taint,
)
from tests.scenarios.scenario import Played, Room, Scenario, Stage, Step, is_ready

RACK = "example.com/rack"


def _models() -> Json:
    """Return the affinity to nodes of model ampere, or of another that is not too old, if not retired."""
    model = "example.com/model"
    terms = [
        {"matchExpressions": [{"key": model, "operator": "In", "values": ["ampere"]}]},
        {
            "matchExpressions": [
                {"key": model, "operator": "Exists"},
                {"key": model, "operator": "NotIn", "values": ["volta", "pascal"]},
                {"key": "example.com/retired", "operator": "DoesNotExist"},
            ]
        },
    ]
    required = {"nodeSelectorTerms": terms}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def _bench(ns: str, nodes: Mapping[str, str]) -> list[Json]:
    """Return a Job of 3 that wants no spot nodes and tolerates the bench of another team."""
    terms = [{"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["spot"]}]}]
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    tolerated = {"key": "dedicated", "operator": "Equal", "value": "web", "effect": "NoSchedule"}
    options: dict[str, Any] = {"affinity": {"nodeAffinity": rule}, "tolerations": [tolerated]}
    return [job("run", ns, parallelism=3, cpu="2", node_selector=nodes, **options)]


def _half_a_node(**options: Any) -> Objects:
    """Return two members of 4 CPU, where 3 of 8 are free on each of two nodes."""
    return all_of(holders([0, 1], cpu="5"), gang(2, cpu="4", **options))


def _steal(stage: Stage) -> None:
    """Delete a member when another user's pod has come to its node."""
    members = stage.pods(**{"batch.kubernetes.io/job-name": "run"})
    victim = next(member for member in members if is_ready(member))
    spec = {"nodeName": victim["spec"]["nodeName"]}
    stage.make([pod("thief", stage.namespace, cpu="4", spec=spec)])
    stage.delete_pod(victim)


def _untaint(stage: Stage) -> None:
    for at in ("0", "1"):
        stage.client.patch("v1", "Node", stage.node(at), {"spec": {"taints": None}})


NO_NEW, NONE_AT_ALL = (
    {"key": "team", "value": "vision", "effect": effect} for effect in ("NoSchedule", "NoExecute")
)
_WRONG_EFFECT = {"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}
_EDGE = Room(cpu="4", labels={RACK: "edge"})
_BATCH = Room(taints=[taint("dedicated", "batch")])
_SMALL_OPEN = (_EDGE, _EDGE, _BATCH, _BATCH, Room(unschedulable=True))
_SPOT = Room(labels={"tier": "spot"})
_RESERVED = Room(labels={"tier": "steady"}, taints=[taint("dedicated", "lab")])
_RESERVED_UNLABELLED = Room(taints=[taint("dedicated", "lab")])
_DRAINED = Room(
    labels={"tier": "steady"},
    taints=[{"key": "flaky", "value": "disk", "effect": "PreferNoSchedule"}],
    unschedulable=True,
)
_DRAINED_UNLABELLED = Room(unschedulable=True)

ON_EVERY_GANG_CLUSTER = (
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
)  # fmt: skip

GANGS = (
    Scenario(
        "nobody-has", "Job", "run", "no-matching-node", "blocked",
        gang(2, spec=device("example.com/fpga", 1)),
        says=("2", "example.com/fpga"), members={"scheduled": 0}, nodes=2, twin="all-cordoned",
    ),
    # Two open nodes of 4 CPU are too small for a member of 6. Of the 3 large ones, taints take 2
    # (tolerated with another effect only), a cordon 1. One open node of 8 more takes one member of
    # two. One more takes both.
    Scenario(
        "small-open", "Job", "run", "untolerated-taint", "blocked",
        gang(2, cpu="6", tolerations=[_WRONG_EFFECT]), says=("dedicated=batch",),
        rooms=_SMALL_OPEN, twin="small-chosen", steps=(
            Step(lambda stage: stage.add_nodes(Room(cpu="8")), "exceeds-capacity", "blocked",
                 ("CPU", "12"), {"scheduled": 0}),
            Step(lambda stage: stage.add_nodes(Room(cpu="8")), "running", "running", (), {"ready": 2})),
    ),
    # The same with a selector: the nodes of the rack have 4 CPU, those with 8 are not in the rack.
    Scenario(
        "small-chosen", "Job", "run", "no-matching-node", "blocked",
        gang(2, cpu="6", tolerations=[_WRONG_EFFECT], node_selector={RACK: "edge"}),
        says=(RACK, "CPU"), rooms=_SMALL_OPEN, twin="small-open",
    ),
    # A pod that tolerates every taint tolerates a cordon. The shortage is capacity, 3 + 3 free for 2 x 4.
    Scenario(
        "cordon-tolerated", "Job", "run", "insufficient-resources", "waiting",
        _half_a_node(tolerations=[{"operator": "Exists"}]), says=("CPU", "8", "6"),
        rooms=(Room(unschedulable=True),) * 2, twin="cordon-held",
    ),
    # Without the toleration both nodes are shut. Opened, they have 3 + 3 for 8; without one holder, 8 + 3.
    Scenario(
        "cordon-held", "Job", "run", "nodes-unschedulable", "blocked", _half_a_node(),
        says=("2",), rooms=(Room(unschedulable=True),) * 2, twin="cordon-tolerated", steps=(
            Step(Stage.uncordon, "insufficient-resources", "waiting", ("CPU", "8", "6")),
            Step(lambda stage: stage.delete("holder-0"), "running", "running", (), {"ready": 2})),
    ),
)  # fmt: skip

GANGS_136 = (
    # Node 0 is not requested. Of 1, 2, 3 (NotIn takes a node without the label) the taint removes
    # two, the cordon one. It tolerates dedicated=web, not lab.
    Scenario(
        "bench-mostly-reserved", "Job", "run", "untolerated-taint", "blocked",
        _bench, ("dedicated=lab",), {"created": 3, "scheduled": 0},
        rooms=(_SPOT, _RESERVED, _RESERVED_UNLABELLED, _DRAINED), twin="bench-mostly-drained",
    ),
    # Of 1, 2, 3 the taint removes one and the cordon two. The PreferNoSchedule taint of 3 removes no node.
    Scenario(
        "bench-mostly-drained", "Job", "run", "nodes-unschedulable", "blocked",
        _bench, ("bench-mostly-drained-2", "bench-mostly-drained-3"),
        {"created": 3, "scheduled": 0},
        rooms=(_SPOT, _RESERVED, _DRAINED_UNLABELLED, _DRAINED), twin="bench-mostly-reserved",
    ),
)  # fmt: skip

LOOSE = (
    Scenario(
        "taint-and-cordon", "Job", "run", "untolerated-taint", "blocked", loose(2),
        says=("2", "team=vision"), members={"scheduled": 0},
        rooms=(
            Room(taints=[taint("team", "vision")]), Room(taints=[taint("team", "vision")]),
            Room(unschedulable=True),
        ),
        twin="jobset-occupied",
    ),
    # The same taint twice, and only its NoSchedule half is tolerated. Later the members run, one on
    # each node (6 of 8); a stranger of 4 comes to one node, the member there goes: free are 4 and 2.
    Scenario(
        "noexecute", "Job", "run", "untolerated-taint", "blocked",
        loose(2, cpu="6", tolerations=[
            {"key": "team", "operator": "Exists", "effect": "NoSchedule"}]),
        rooms=(Room(taints=[NO_NEW, NONE_AT_ALL]),) * 2, says=("team=vision",),
        members={"desired": 2, "scheduled": 0},
        steps=(
            Step(_untaint, "running", "running", members={"ready": 2}),
            Step(_steal, "lost-members", "degraded", ("1 of 2", "CPU"), {"ready": 1}),
            Step(lambda stage: stage.delete("thief"), "running", "running", members={"ready": 2}),
        ), twin="fenced",
    ),
    # The last three of six nodes do not match the request (retired, volta, no model). Of the three
    # that match, two are cordoned and one is tainted.
    Scenario(
        "fenced", "Job", "run", "nodes-unschedulable", "blocked",
        loose(2, affinity=_models()), rooms=(
            Room(labels={"example.com/model": "hopper"}, unschedulable=True),
            Room(labels={"example.com/model": "ampere", "example.com/retired": "soon"},
                 unschedulable=True),
            Room(labels={"example.com/model": "hopper"}, taints=[NO_NEW]),
            Room(labels={"example.com/model": "hopper", "example.com/retired": "soon"}),
            Room(labels={"example.com/model": "volta"}),
            Room(),
        ), members={"desired": 2, "scheduled": 0}, twin="noexecute",
    ),
)  # fmt: skip

PLAYED: Played = {
    "k137": (*ON_EVERY_GANG_CLUSTER, *GANGS),
    "k136": (*ON_EVERY_GANG_CLUSTER, *GANGS_136),
    "plain": LOOSE,
}
