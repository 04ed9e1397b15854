"""Scenarios of Kubernetes 1.35, written from the objects.

There a group is no object: pods name a Workload and an entry in it. Members that fit wait at the gate
with a nominated node and hold room there, at most five minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.nodes import cordon
from tests.controlplane.objects import job, workload
from tests.scenarios.making import Objects, all_of, daemons, holders, port
from tests.scenarios.scenario import POOL, Room, Scenario, Stage, Step, is_ready, patiently

_V1ALPHA1 = "scheduling.k8s.io/v1alpha1"
_JOB_NAME = "batch.kubernetes.io/job-name"


def _plan(entry: str, quorum: int, name: str = "plan") -> Objects:
    """Return a Workload with one entry."""
    return lambda ns, where: [workload(name, ns, templates={entry: quorum}, version="v1alpha1")]


def _job(name: str, count: int, group: tuple[str, str], **options: Any) -> Objects:
    """Return a Job whose pods name a Workload and an entry in it."""
    return lambda ns, where: [
        job(name, ns, parallelism=count, node_selector=where, pod_group=group, **options)
    ]


def _gang(count: int, quorum: int | None = None, **options: Any) -> Objects:
    """Return a Workload and a Job `run` of that entry."""
    least = count if quorum is None else quorum
    return all_of(_plan("all", least), _job("run", count, ("plan", "all"), **options))


def _then(make: Objects, ready: Callable[[Stage], object]) -> Callable[[Stage], None]:
    """Return an act that makes these objects once it is time for them."""

    def act(stage: Stage) -> None:
        patiently(lambda: ready(stage), f"the others in {stage.namespace}")
        stage.make(make(stage.namespace, {POOL: stage.pool}))

    return act


def _plan_without_workers(stage: Stage) -> None:
    stage.make(_plan("all", 3)(stage.namespace, {}))


def _plan_with_workers(stage: Stage) -> None:
    """Entries cannot be added: the Workload goes and comes again."""
    stage.client.delete(_V1ALPHA1, "Workload", "plan", stage.namespace)
    stage.client.wait_gone(_V1ALPHA1, "Workload", "plan", stage.namespace)
    stage.make(_plan("workers", 3)(stage.namespace, {}))


def _finish(stage: Stage) -> None:
    """Let the pod on the second node come to its end."""
    stage.script({"metadata": {"name": "holder-1"}}, complete_after="1s")


def _lose_two(stage: Stage) -> None:
    """Cordon the only node and lose two of its members."""
    cordon(stage.client, stage.node("0"))
    for pod in [pod for pod in stage.pods() if is_ready(pod)][:2]:
        stage.delete_pod(pod)


# A neighbour of 3 x 6 CPU on two nodes of 8: two of its pods fit and wait at the gate for the third.
_NEIGHBOUR = ("grand", "all")
_RUN = _job("run", 2, ("plan", "all"), cpu="4")


def _neighbour(count: int) -> Objects:
    """Return a Job `big` of that many pods, of which 3 are needed, and the Workload of `run`."""
    return all_of(
        _plan("all", 3, "grand"), _plan("all", 2), _job("big", count, _NEIGHBOUR, cpu="6")
    )


def _at_gate(stage: Stage) -> bool:
    """Whether two pods of the neighbour hold room at the gate."""
    found = stage.pods(**{_JOB_NAME: "big"})
    return sum("nominatedNodeName" in pod["status"] for pod in found) == 2


def _there(stage: Stage) -> bool:
    """Whether both pods of the neighbour exist."""
    return len(stage.pods(**{_JOB_NAME: "big"})) == 2


def _fpga(count: int) -> Objects:
    """Return a gang of 2 that says only limits, and tolerates its nodes' taint for new pods alone."""
    limits = {"cpu": "1500m", "example.com/fpga": str(count)}
    container = {
        "name": "main",
        "image": "registry.example/train:1",
        "resources": {"limits": limits},
    }
    tolerated = {"key": "quarantine", "operator": "Exists", "effect": "NoSchedule"}
    return _gang(2, spec={"containers": [container]}, tolerations=[tolerated])


_QUARANTINED = Room(
    extra={"example.com/fpga": "2"}, taints=[{"key": "quarantine", "effect": "NoExecute"}]
)


def _exporter(ns: str, where: Mapping[str, str]) -> list[Json]:
    """Return a DaemonSet that listens on a port of every node, and the Workload of `run`."""
    return all_of(daemons(spec=port(9100)), _plan("all", 2))(ns, where)


def _exporters_run(stage: Stage) -> bool:
    return sum(is_ready(pod) for pod in stage.pods()) == 2


def _after_exporters(**options: Any) -> Callable[[Stage], None]:
    """Return an act that makes `run`, which listens on the same port, once every node has its exporter."""
    return _then(_job("run", 2, ("plan", "all"), spec=port(9100), **options), _exporters_run)


ON_135 = (
    # First there is no Workload `plan`. Then there is one without the entry `workers` that the pods
    # name. Then the right one: 3 x 1 CPU on 8.
    Scenario("call-plan-in-three-acts", "Job", "run", "podgroup-missing", "blocked",
             _job("run", 3, ("plan", "workers")), ("plan",), {"desired": 3, "created": 3, "scheduled": 0},
             nodes=1, twin="call-plan-too-ambitious",
             steps=(Step(_plan_without_workers, "podgroup-missing", "blocked", ("workers",),
                         {"created": 3, "scheduled": 0}),
                    Step(_plan_with_workers, "running", "running", (), {"quorum": 3, "ready": 3}))),
    # The entry wants 4, the Job makes 3. They are gated too, but opening the gates would not start it.
    Scenario("call-plan-too-ambitious", "Job", "run", "below-quorum", "blocked",
             all_of(_plan("workers", 4), _job("run", 3, ("plan", "workers"), gates=["example.com/budget"])),
             ("3 of 4",), {"desired": 3, "quorum": 4, "created": 3, "scheduled": 0},
             nodes=1, twin="call-plan-in-three-acts"),
    # 4 x 3 CPU. Free: 8 (two) and 8 - 4 = 4 (one) = 12 for 12, and 3 of 4 fit: they wait at the gate and
    # hold room that is their own, not taken from them. When the holder has finished all 4 go.
    Scenario("call-gate-scattered", "Job", "run", "fragmented", "waiting",
             all_of(holders([1], cpu="4"), _gang(4, cpu="3")), ("CPU", "3 of 4"),
             {"desired": 4, "quorum": 4, "created": 4, "scheduled": 0, "ready": 0},
             nodes=2, twin="call-gate-hopeless",
             steps=(Step(_finish, "running", "running", (), {"scheduled": 4, "ready": 4}),)),
    # 4 x 3 = 12 on the only node of 11.5: 3 of 4 even when nothing else is there. Three hold 9 at the gate.
    Scenario("call-gate-hopeless", "Job", "run", "exceeds-capacity", "blocked",
             _gang(4, cpu="3"), ("CPU", "3 of 4"),
             {"desired": 4, "quorum": 4, "created": 4, "scheduled": 0},
             nodes=1, cpu="11500m", twin="call-gate-elastic"),
    # The same where 2 of 4 are enough: 3 run. Then the node is cordoned and two die: 1 runs, fewer than 2,
    # and the others have no node.
    Scenario("call-gate-elastic", "Job", "run", "below-size", "degraded",
             _gang(4, quorum=2, cpu="3"), ("3 of 4",),
             {"desired": 4, "quorum": 2, "created": 4, "scheduled": 3, "ready": 3},
             nodes=1, cpu="11500m", twin="call-gate-hopeless",
             steps=(Step(_lose_two, "lost-members", "degraded", ("call-gate-elastic-0",),
                         {"quorum": 2, "scheduled": 1, "ready": 1}),)),
    # Nothing runs on the nodes, but two pods of `big` wait at the gate and hold 6 of 8 on each: free
    # 2 + 2 = 4 for 2 x 4 = 8, none fits. Without them both would. `run` itself holds nothing.
    Scenario("call-neighbour-at-gate", "Job", "run", "insufficient-resources", "waiting",
             _neighbour(3), ("CPU",), {"desired": 2, "quorum": 2, "created": 2, "scheduled": 0},
             nodes=2, act=_then(_RUN, _at_gate), twin="call-neighbour-too-few"),
    # `big` has 2 pods and needs 3: nobody tries them, they hold nothing, and 2 x 4 on 16 runs.
    Scenario("call-neighbour-too-few", "Job", "run", "running", "running",
             _neighbour(2), (), {"desired": 2, "quorum": 2, "scheduled": 2, "ready": 2},
             nodes=2, act=_then(_RUN, _there), twin="call-neighbour-at-gate"),
    # Node 2 has no fpga. Nodes 0 and 1 have 2 each, which is enough, and a NoExecute taint: tolerated is
    # NoSchedule only.
    Scenario("call-fpga-quarantined", "Job", "run", "untolerated-taint", "blocked",
             _fpga(2), ("quarantine",), {"created": 2, "scheduled": 0},
             rooms=(_QUARANTINED, _QUARANTINED, Room()), twin="call-fpga-too-many"),
    # 4 a member where a node has 2: no taint needs to go, no node can ever host one.
    Scenario("call-fpga-too-many", "Job", "run", "no-matching-node", "blocked",
             _fpga(4), ("example.com/fpga", "4"), {"created": 2, "scheduled": 0},
             rooms=(_QUARANTINED, _QUARANTINED, Room()), twin="call-fpga-quarantined"),
    # A DaemonSet holds port 9100 on every node, and it stays: that never goes by itself.
    Scenario("call-exporter-port", "Job", "run", "port-conflict", "blocked",
             _exporter, ("9100",), {"desired": 2, "created": 2, "scheduled": 0},
             nodes=2, act=_after_exporters(), twin="call-exporter-gated"),
    # The same behind a gate: nobody has looked at ports yet.
    Scenario("call-exporter-gated", "Job", "run", "scheduling-gated", "waiting",
             _exporter, ("example.com/budget",), {"desired": 2, "created": 2, "scheduled": 0},
             nodes=2, act=_after_exporters(gates=["example.com/budget"]), twin="call-exporter-port"),
)  # fmt: skip
