"""Scenarios of 1.35: groups without objects, and gated members that hold capacity.

There a pod names a Workload and a group in it (`spec.workloadRef`). Members that fit get a nominated node
and keep it without being bound. They get no condition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.nodes import cordon
from tests.controlplane.objects import pod, workload
from tests.scenarios.making import (
    Objects,
    all_of,
    apart,
    container,
    daemons,
    device,
    holders,
    loose,
    once_running,
    one_job,
    port,
    taint,
)
from tests.scenarios.plain import dropped
from tests.scenarios.scenario import POOL, Played, Room, Scenario, Stage, Step, is_ready, patiently

Where = Mapping[str, str]
_VERSION = "v1alpha1"
_API = f"scheduling.k8s.io/{_VERSION}"
_JOB_NAME = "batch.kubernetes.io/job-name"


def _plan(entry: str, quorum: int, name: str = "plan") -> Objects:
    """Return a Workload with one entry."""
    return lambda ns, nodes: [workload(name, ns, templates={entry: quorum}, version=_VERSION)]


def _job(name: str, count: int, group: tuple[str, str], **options: Any) -> Objects:
    """Return a Job whose pods name a Workload and an entry in it."""
    return one_job(name, count, pod_group=group, **options)


def _gang(count: int, *, least: int | None = None, **options: Any) -> Objects:
    """Return a Job `run` whose pods are one group of the Workload `plan`."""
    quorum = count if least is None else least
    return all_of(_plan("all", quorum), _job("run", count, ("plan", "all"), **options))


def _bare(count: int, *, least: int, **options: Any) -> Objects:
    """Return the same group of bare pods: its Workload is all that they have in common."""

    def make(ns: str, nodes: Where) -> list[Json]:
        return [
            pod(f"m-{index}", ns, pod_group=("plan", "all"), node_selector=nodes, **options)
            for index in range(count)
        ]

    return all_of(_plan("all", least), make)


def _after_the_gang(stage: Stage) -> None:
    """A pod of another user, while two members hold their nodes at the gate."""

    def nominated() -> bool:
        return sum(bool(item["status"].get("nominatedNodeName")) for item in stage.pods()) == 2

    patiently(nominated, f"two nominated pods in {stage.namespace}")
    late = pod("late", stage.namespace, cpu="6", node_selector={POOL: stage.pool})
    stage.client.create(late)


def _holder_leaves(stage: Stage) -> None:
    stage.delete("holder-0")


def _lose_one(stage: Stage) -> None:
    stage.lose_one()


def _uncordon(stage: Stage) -> None:
    stage.uncordon()


def _plan_without_workers(stage: Stage) -> None:
    stage.make(_plan("all", 3)(stage.namespace, {}))


def _plan_with_workers(stage: Stage) -> None:
    """Entries cannot be added: the Workload goes and comes again."""
    stage.client.delete(_API, "Workload", "plan", stage.namespace)
    stage.client.wait_gone(_API, "Workload", "plan", stage.namespace)
    stage.make(_plan("workers", 3)(stage.namespace, {}))


def _finish(stage: Stage) -> None:
    """Let the pod on the second node come to its end."""
    stage.script({"metadata": {"name": "holder-1"}}, complete_after="1s")


def _lose_two(stage: Stage) -> None:
    """Cordon the only node and lose two of its members."""
    cordon(stage.client, stage.node("0"))
    for member in [member for member in stage.pods() if is_ready(member)][:2]:
        stage.delete_pod(member)


# The neighbour has 3 x 6 CPU on two nodes of 8: two of its pods fit and wait at the gate for the third.
_RUN = _job("run", 2, ("plan", "all"), cpu="4")


def _neighbour(count: int) -> Objects:
    """Return a Job `big` of that many pods, of which 3 are needed, and the Workload of `run`."""
    return all_of(
        _plan("all", 3, "grand"), _plan("all", 2), _job("big", count, ("grand", "all"), cpu="6")
    )


def _at_gate(stage: Stage) -> bool:
    """Whether two pods of the neighbour hold room at the gate."""
    result = stage.pods(**{_JOB_NAME: "big"})
    return sum("nominatedNodeName" in pod["status"] for pod in result) == 2


def _there(stage: Stage) -> bool:
    """Whether both pods of the neighbour exist."""
    return len(stage.pods(**{_JOB_NAME: "big"})) == 2


def _fpga(count: int) -> Objects:
    """Return a gang of 2 that says only limits, and tolerates its nodes' taint for new pods alone."""
    limits = {"cpu": "1500m", "example.com/fpga": str(count)}
    tolerated = {"key": "quarantine", "operator": "Exists", "effect": "NoSchedule"}
    return _gang(
        2, spec={"containers": [container(resources={"limits": limits})]}, tolerations=[tolerated]
    )


_QUARANTINED = Room(
    extra={"example.com/fpga": "2"}, taints=[{"key": "quarantine", "effect": "NoExecute"}]
)
_EXPORTERS = all_of(daemons(spec=port(9100)), _plan("all", 2))


def _after_exporters(**options: Any) -> Callable[[Stage], None]:
    """Return the act that makes `run`, which listens on the same port, when each node has its exporter."""
    return once_running(2, _job("run", 2, ("plan", "all"), spec=port(9100), **options))


def _then(make: Objects, ready: Callable[[Stage], object]) -> Callable[[Stage], None]:
    """Return an act that makes these objects once it is time for them."""

    def act(stage: Stage) -> None:
        patiently(lambda: ready(stage), f"the others in {stage.namespace}")
        stage.make(make(stage.namespace, {POOL: stage.pool}))

    return act


RUNS = "running", "running"
KUBERNETES_135 = (
    # Two members keep their nodes by nomination, the third has none. The reserved capacity is theirs.
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
        says=("18", "16", "CPU", "2 of 3"),
        members={"desired": 3, "quorum": 3, "created": 3, "scheduled": 0}, nodes=2,
        twin="gate-and-room",
    ),
    # 4 x 3 CPU. Free: 8 (two) and 8 - 4 = 4 (one) = 12 for 12, and 3 of 4 fit: they wait at the gate and
    # hold room that is their own, not taken from them. When the holder has finished all 4 go.
    Scenario(
        "gate-scattered", "Job", "run", "fragmented", "waiting",
        all_of(holders([1], cpu="4"), _gang(4, cpu="3")), ("CPU", "3 of 4"),
        {"desired": 4, "quorum": 4, "created": 4, "scheduled": 0, "ready": 0},
        nodes=2, twin="gate-too-small",
        steps=(Step(_finish, "running", "running", (), {"scheduled": 4, "ready": 4}),),
    ),
    # 4 x 3 CPU on a node of 11.5, and 2 of 4 are enough: 3 run. Then the node is cordoned and two die: 1 runs,
    # fewer than 2, and the others have no node.
    Scenario(
        "gate-elastic", "Job", "run", "below-size", "degraded",
        _gang(4, least=2, cpu="3"), ("3 of 4",),
        {"desired": 4, "quorum": 2, "created": 4, "scheduled": 3, "ready": 3},
        nodes=1, cpu="11500m", twin="gate-too-small",
        steps=(Step(_lose_two, "lost-members", "degraded", ("gate-elastic-0",),
                    {"quorum": 2, "scheduled": 1, "ready": 1}),),
    ),
    # The nodes run no pods, but two pods of `big` wait at the gate and hold 6 of 8 on each: free 2 +
    # 2 = 4 for 2 x 4 = 8, none fits. Without them both would. `run` itself holds no capacity.
    Scenario(
        "neighbour-at-gate", "Job", "run", "insufficient-resources", "waiting",
        _neighbour(3), ("CPU",), {"desired": 2, "quorum": 2, "created": 2, "scheduled": 0},
        nodes=2, act=_then(_RUN, _at_gate), twin="neighbour-too-few",
    ),
    # `big` has 2 pods and needs 3. Its pods are not tried and hold no capacity, and 2 x 4 on 16 runs.
    Scenario(
        "neighbour-too-few", "Job", "run", "running", "running",
        _neighbour(2), (), {"desired": 2, "quorum": 2, "scheduled": 2, "ready": 2},
        nodes=2, act=_then(_RUN, _there), twin="neighbour-at-gate",
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
    # Node 2 has no fpga. Nodes 0 and 1 have 2 each, which is enough, and a NoExecute taint: tolerated is
    # NoSchedule only.
    Scenario(
        "fpga-quarantined", "Job", "run", "untolerated-taint", "blocked",
        _fpga(2), ("quarantine",), {"created": 2, "scheduled": 0},
        rooms=(_QUARANTINED, _QUARANTINED, Room()), twin="fpga-too-many",
    ),
    # 4 a member where a node has 2: no taint needs to go, no node can ever host one.
    Scenario(
        "fpga-too-many", "Job", "run", "no-matching-node", "blocked",
        _fpga(4), ("example.com/fpga", "4"), {"created": 2, "scheduled": 0},
        rooms=(_QUARANTINED, _QUARANTINED, Room()), twin="fpga-quarantined",
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
    # A DaemonSet holds port 9100 on every node, and it stays: that never goes by itself.
    Scenario(
        "exporter-port", "Job", "run", "port-conflict", "blocked",
        _EXPORTERS, ("9100",), {"desired": 2, "created": 2, "scheduled": 0},
        nodes=2, act=_after_exporters(), twin="exporter-gated",
    ),
    # The same behind a gate: the scheduler has not checked ports yet.
    Scenario(
        "exporter-gated", "Job", "run", "scheduling-gated", "waiting",
        _EXPORTERS, ("example.com/budget",), {"desired": 2, "created": 2, "scheduled": 0},
        nodes=2, act=_after_exporters(gates=["example.com/budget"]), twin="exporter-port",
    ),
    # Pods that name no group are placed one by one.
    Scenario(
        "half-placed", "Job", "run", "partly-placed", "degraded", loose(4, cpu="6"),
        says=("2 of 4",), members={"quorum": None, "scheduled": 2}, nodes=2,
        twin="gate-too-small",
    ),
    # These have no message, so only counting shows the cause.
    Scenario(
        "too-few", "Workload", "plan", "below-quorum", "blocked", _bare(2, least=3),
        says=("2", "3"), members={"quorum": 3, "created": 2, "scheduled": 0}, nodes=1,
        twin="enough",
    ),
    Scenario(
        "enough", "Workload", "plan", *RUNS, _bare(3, least=3),
        members={"quorum": 3, "ready": 3}, nodes=1, twin="too-few",
    ),
    # First there is no Workload `plan`. Then there is one without the entry `workers` that the pods
    # name. Then the right one: 3 x 1 CPU on 8.
    Scenario(
        "plan-in-three-acts", "Job", "run", "podgroup-missing", "blocked",
        _job("run", 3, ("plan", "workers")), ("plan",), {"desired": 3, "created": 3, "scheduled": 0},
        nodes=1, twin="plan-too-ambitious",
        steps=(Step(_plan_without_workers, "podgroup-missing", "blocked", ("plan", "workers"),
                    {"created": 3, "scheduled": 0}),
               Step(_plan_with_workers, "running", "running", (), {"quorum": 3, "ready": 3})),
    ),
    # The entry wants 4, the Job makes 3. They are gated too, but opening the gates would not start it.
    Scenario(
        "plan-too-ambitious", "Job", "run", "below-quorum", "blocked",
        all_of(_plan("workers", 4), _job("run", 3, ("plan", "workers"), gates=["example.com/budget"])),
        ("3 of the 4",), {"desired": 3, "quorum": 4, "created": 3, "scheduled": 0},
        nodes=1, twin="plan-in-three-acts",
    ),
    # The field by which pods of 1.36 and later name their group is unknown here, and dropped.
    Scenario(
        "not-ganged", "JobSet", "hopeful", "not-ganged", "degraded", dropped,
        says=("pg",), members={"desired": 2, "quorum": None, "ready": 2}, nodes=1, twin="enough",
    ),
)  # fmt: skip

PLAYED: Played = {"k135": KUBERNETES_135}
