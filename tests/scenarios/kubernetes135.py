"""Scenarios of 1.35: groups without objects, and members that hold room while they wait at the gate.

There a pod names a Workload and a group in it (`spec.workloadRef`). Members that fit get a nominated
node and keep it without being bound; nobody writes a condition on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.objects import job, pod, workload
from tests.scenarios.making import Objects, all_of, apart, device, holders, loose, port, taint
from tests.scenarios.plain import dropped
from tests.scenarios.scenario import POOL, Room, Scenario, Stage, Step, patiently

Where = Mapping[str, str]


def _gang(count: int, *, least: int | None = None, **options: Any) -> Objects:
    """Return a Job `run` whose pods are one group of the Workload `plan`."""
    selector = options.pop("node_selector", {})

    def make(ns: str, where: Where) -> list[Json]:
        quorum = count if least is None else least
        run = job(
            "run",
            ns,
            parallelism=count,
            pod_group=("plan", "all"),
            node_selector={**where, **selector},
            **options,
        )
        return [workload("plan", ns, templates={"all": quorum}, version="v1alpha1"), run]

    return make


def _bare(count: int, *, least: int, **options: Any) -> Objects:
    """Return the same group of bare pods: its Workload is all that they have in common."""

    def make(ns: str, where: Where) -> list[Json]:
        plan = workload("plan", ns, templates={"all": least}, version="v1alpha1")
        pods = [
            pod(f"m-{index}", ns, pod_group=("plan", "all"), node_selector=where, **options)
            for index in range(count)
        ]
        return [plan, *pods]

    return make


def _without_plan(ns: str, where: Where) -> list[Json]:
    return [*_gang(2)(ns, where)][1:]


def _other_entry(ns: str, where: Where) -> list[Json]:
    run = _gang(2)(ns, where)[1]
    return [workload("plan", ns, templates={"others": 2}, version="v1alpha1"), run]


def _after_the_gang(stage: Stage) -> None:
    """A pod of somebody else, when two members hold their nodes at the gate."""

    def nominated() -> bool:
        return sum(bool(one["status"].get("nominatedNodeName")) for one in stage.pods()) == 2

    patiently(nominated, f"two nominated pods in {stage.namespace}")
    late = pod("late", stage.namespace, cpu="6", node_selector={POOL: stage.pool})
    stage.client.create(late)


def _holder_leaves(stage: Stage) -> None:
    stage.delete("holder-0")


def _lose_one(stage: Stage) -> None:
    stage.lose_one()


def _uncordon(stage: Stage) -> None:
    stage.uncordon()


RUNS = "running", "running"
KUBERNETES_135 = (
    # Two members keep their nodes by nomination, the third has none; what they keep is theirs.
    Scenario(
        "gate-and-room", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0], cpu="8"), _gang(3, cpu="6")),
        says=("18", "16", "CPU"), members={"desired": 3, "quorum": 3, "scheduled": 0}, nodes=3,
        twin="gate-too-small",
        steps=(
            Step(_holder_leaves, *RUNS, (), {"ready": 3}),
            Step(_lose_one, "lost-members", "degraded", ("2 of 3",), {"ready": 2}),
            Step(_uncordon, *RUNS, (), {"ready": 3}),
        ),
    ),
    Scenario(
        "gate-too-small", "Job", "run", "exceeds-capacity", "blocked", _gang(3, cpu="6"),
        says=("18", "16", "CPU"), members={"scheduled": 0}, nodes=2, twin="gate-and-room",
    ),
    # Both nodes look empty: their room is kept for a gang that waits.
    Scenario(
        "late-comer", "Pod", "late", "insufficient-resources", "waiting",
        all_of(holders([0], cpu="8"), _gang(3, cpu="6")),
        says=("6", "CPU"), members={"scheduled": 0}, nodes=3, act=_after_the_gang,
        twin="gate-too-small",
    ),
    Scenario(
        "bare-short", "Workload", "plan", "insufficient-resources", "waiting",
        all_of(holders([0, 1], gpu=4), _bare(3, least=3, gpu=4)),
        says=("12", "8", "GPU"), members={"quorum": 3, "scheduled": 0}, rooms=(Room(gpus=4),) * 4,
        twin="bare-fragmented",
    ),
    Scenario(
        "bare-fragmented", "Workload", "plan", "fragmented", "waiting",
        all_of(holders([0, 1, 2], gpu=2), _bare(2, least=2, gpu=3)),
        says=("6", "GPU"), members={"scheduled": 0}, rooms=(Room(gpus=4),) * 3, twin="bare-short",
    ),
    Scenario(
        "wrong-zone", "Job", "run", "no-matching-node", "blocked",
        _gang(3, node_selector={"zone": "moon"}),
        says=("3", "zone"), members={"scheduled": 0}, nodes=2, twin="not-tolerated",
    ),
    Scenario(
        "nobody-has", "Job", "run", "no-matching-node", "blocked",
        _gang(2, spec=device("example.com/fpga", 1)),
        says=("2", "example.com/fpga"), members={"scheduled": 0}, nodes=2, twin="not-tolerated",
    ),
    Scenario(
        "not-tolerated", "Job", "run", "untolerated-taint", "blocked", _gang(3),
        says=("3", "team=vision"), members={"scheduled": 0},
        rooms=(Room(taints=[taint("team", "vision")]),) * 3, twin="all-cordoned",
    ),
    Scenario(
        "all-cordoned", "Job", "run", "nodes-unschedulable", "blocked", _gang(3),
        says=("3",), members={"scheduled": 0}, rooms=(Room(unschedulable=True),) * 3,
        twin="not-tolerated",
    ),
    Scenario(
        "too-far-apart", "Job", "run", "pod-anti-affinity", "blocked", _gang(4, **apart("ring")),
        says=("4", "3"), members={"scheduled": 0}, nodes=3, twin="port-taken",
    ),
    Scenario(
        "port-taken", "Job", "run", "port-conflict", "waiting",
        all_of(holders([0], spec=port(7077)), _gang(2, spec=port(7077))),
        says=("2", "7077"), members={"scheduled": 0}, nodes=2, twin="too-far-apart",
    ),
    # Pods that name no group are placed one by one.
    Scenario(
        "half-placed", "Job", "run", "partly-placed", "degraded", loose(4, cpu="6"),
        says=("2 of 4",), members={"quorum": None, "scheduled": 2}, nodes=2,
        twin="gate-too-small",
    ),
    # Nobody writes a word about these: only counting tells.
    Scenario(
        "too-few", "Workload", "plan", "below-quorum", "blocked", _bare(2, least=3),
        says=("2", "3"), members={"quorum": 3, "created": 2, "scheduled": 0}, nodes=1,
        twin="enough",
    ),
    Scenario(
        "enough", "Workload", "plan", *RUNS, _bare(3, least=3),
        members={"quorum": 3, "ready": 3}, nodes=1, twin="too-few",
    ),
    Scenario(
        "no-plan", "Job", "run", "podgroup-missing", "blocked", _without_plan,
        says=("plan",), members={"scheduled": 0}, nodes=1, twin="enough",
    ),
    Scenario(
        "no-entry", "Job", "run", "podgroup-missing", "blocked", _other_entry,
        says=("plan", "all"), members={"scheduled": 0}, nodes=1, twin="enough",
    ),
    # The field by which pods of 1.36 and later name their group is unknown here, and dropped.
    Scenario(
        "not-ganged", "JobSet", "hopeful", "not-ganged", "degraded", dropped,
        says=("pg",), members={"desired": 2, "quorum": None, "ready": 2}, nodes=1, twin="enough",
    ),
)  # fmt: skip
