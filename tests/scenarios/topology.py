"""Scenarios of gangs that must be in one rack, and of Jobs that want a rack each."""

from __future__ import annotations

from collections.abc import Mapping

from tests.controlplane.client import Json
from tests.controlplane.objects import JOBSET, JobOptions, jobset
from tests.scenarios.making import Objects, all_of, gang, holders, once_running
from tests.scenarios.scenario import Played, Room, Scenario, Stage, Step, nodes_with

RACK = "example.com/rack"
FULL, TAKEN, FEW = (f"example.com/{word}-rack" for word in ("full", "taken", "few"))


def _rack(name: str, gpus: int) -> Room:
    return Room(gpus=gpus, labels={RACK: name})


def _exclusive(key: str, replicas: int, pods: int, cpu: str = "2", name: str = "run") -> Objects:
    """Return a JobSet whose Jobs want a domain of this node label each, for themselves alone.

    The webhooks of JobSet write that: the first pod of a Job gets anti-affinity to all other Jobs
    of JobSets (of any namespace, so each scenario has a label of its own), and the rest of its pods
    are refused until the first has a node, and then get the domain of that node as selector.
    """
    annotations = {"alpha.jobset.sigs.k8s.io/exclusive-topology": key}

    def make(ns: str, nodes: Mapping[str, str]) -> list[Json]:
        slices: JobOptions = {
            "replicas": replicas,
            "pods": pods,
            "cpu": cpu,
            "node_selector": nodes,
        }
        return [jobset(name, ns, jobs={"slice": slices}, annotations=annotations)]

    return make


def _delete_others(stage: Stage) -> None:
    stage.client.delete(JOBSET, "JobSet", "other", stage.namespace)


GANGS = (
    # 5 x 3 CPU in one rack: a rack of two nodes of 8 holds 2 + 2. The node of 16 would hold all five
    # and has no rack. No pod runs here, so none can leave.
    Scenario(
        "racks-too-small", "Job", "run", "topology-does-not-fit", "blocked",
        gang(5, topology=RACK, cpu="3"),
        rooms=(*nodes_with(RACK, "east", "east", "west", "west"), Room(cpu="16")),
        says=(RACK, "4 of 5"), members={"desired": 5, "quorum": 5, "scheduled": 0},
        twin="racks-taken",
    ),
    # The same with three nodes in rack west: it holds 6 when empty, and 4 while a holder has one node.
    # Over both racks 4 + 4 fit.
    Scenario(
        "racks-taken", "Job", "run", "topology-does-not-fit", "waiting",
        all_of(holders((4,), cpu="8"), gang(5, topology=RACK, cpu="3")),
        rooms=nodes_with(RACK, "east", "east", "west", "west", "west"),
        says=(RACK, "4 of 5"), members={"desired": 5, "quorum": 5, "scheduled": 0},
        steps=(Step(lambda stage: stage.delete("holder-4"), "running", "running"),),
        twin="racks-too-small",
    ),
    # Room for all of it, and no node has the label.
    Scenario(
        "no-racks", "Job", "run", "topology-does-not-fit", "blocked",
        gang(3, gpu=4, topology=RACK),
        says=("3", RACK), members={"scheduled": 0}, rooms=(Room(gpus=4),) * 3, twin="one-rack",
    ),
    # One rack is large enough.
    Scenario(
        "one-rack", "Job", "run", "running", "running",
        gang(3, gpu=4, topology=RACK),
        members={"desired": 3, "ready": 3},
        rooms=(_rack("a", 4), _rack("b", 8), _rack("b", 8)), twin="racks-too-small",
    ),
)  # fmt: skip

JOBSETS = (
    # One Job of three pods of 6 CPU, one a node of 8, and a rack has two nodes. The first pod takes a
    # rack, the second its other node; the third may not go to the other rack, where two nodes are idle.
    Scenario(
        "rack-full", "JobSet", "run", "partly-placed", "degraded",
        _exclusive(FULL, 1, 3, cpu="6"), says=("2 of 3", FULL),
        rooms=nodes_with(FULL, "left", "left", "right", "right"),
        members={"desired": 3, "created": 3, "scheduled": 2, "ready": 2},
        twin="racks-of-others",
    ),
    # Two racks, and each has a Job of another JobSet that wants it alone. So no first pod has a rack;
    # that the second pods are refused until then is only the symptom. When the other JobSet is gone,
    # two racks are enough for two Jobs.
    Scenario(
        "racks-of-others", "JobSet", "run", "pod-anti-affinity", "waiting",
        _exclusive(TAKEN, 2, 1, name="other"), rooms=nodes_with(TAKEN, "left", "right"),
        act=once_running(2, _exclusive(TAKEN, 2, 2)),
        says=(TAKEN,), members={"desired": 4, "created": 2, "scheduled": 0},
        steps=(Step(_delete_others, "running", "running", members={"ready": 4}),),
        twin="racks-few",
    ),
    # Three Jobs want a rack each, and there are two. Two Jobs of two pods stand; the first pod of the
    # third has no rack, and its second pod is refused for that (five pods exist).
    Scenario(
        "racks-few", "JobSet", "run", "partly-placed", "degraded",
        _exclusive(FEW, 3, 2), rooms=nodes_with(FEW, "left", "right"), says=("4 of 6", FEW),
        members={"desired": 6, "created": 5, "scheduled": 4, "ready": 4},
        twin="racks-of-others",
    ),
)  # fmt: skip

PLAYED: Played = {"k137": GANGS, "plain": JOBSETS}
