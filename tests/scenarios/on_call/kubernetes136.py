"""Scenarios of Kubernetes 1.36, written from the objects.

There every indexed Job with as many completions as parallelism, and more than one, is a gang by itself,
also below a JobSet. Groups that a person made are PodGroups of `v1alpha2`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.objects import job, jobset, podgroup, priority_class
from tests.scenarios.making import SET, Objects, all_of, apart, holders, one_job, port, taint
from tests.scenarios.scenario import PATIENCE, Room, Scenario, Stage, Step

_IMAGE = "registry.example/train:1"


def _sandboxed(count: int, *, polite: bool | None = None) -> Objects:
    """Return a Job whose RuntimeClass adds 1.5 CPU to each pod, and a pod of 3 CPU that is slow to go.

    With `polite` it is urgent, and so is its hand-made group; a polite class never preempts.
    """

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        runtime = {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": f"{ns}-kata"},
            "handler": "kata",
            "overhead": {"podFixed": {"cpu": "1500m"}},
        }
        urgent = f"{ns}-urgent"
        before: list[Json] = []
        options: dict[str, Any] = {"cpu": "2", "spec": {"runtimeClassName": f"{ns}-kata"}}
        if polite is not None:
            rank = priority_class(urgent, 1000)
            if polite:
                rank["preemptionPolicy"] = "Never"
            before = [
                rank,
                podgroup("crew", ns, version="v1alpha2", gang=count, priority_class=urgent),
            ]
            options |= {"priority_class": urgent, "pod_group": "crew"}
        held = holders([0], cpu="3", linger="20m")(ns, where)
        run = job("run", ns, parallelism=count, node_selector=where, **options)
        return [runtime, *before, *held, run]

    return make


def _init(name: str, cpu: str, **fields: str) -> Json:
    return {"name": name, "image": _IMAGE, "resources": {"requests": {"cpu": cpu}}, **fields}


_SETUP = _init("setup", "5")
_PROXY = _init("proxy", "4", restartPolicy="Always")


def _prepared(*inits: Json) -> Objects:
    """Return a Job of 3 whose pods begin with these containers, and a pod of 4 CPU on the last node."""
    return all_of(holders([2], cpu="4"), one_job("run", 3, spec={"initContainers": list(inits)}))


def _bench(ns: str, where: Mapping[str, str]) -> list[Json]:
    """Return a Job of 3 that wants no spot nodes and tolerates the bench of another team."""
    terms = [{"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["spot"]}]}]
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    tolerated = {"key": "dedicated", "operator": "Equal", "value": "web", "effect": "NoSchedule"}
    options: dict[str, Any] = {"affinity": {"nodeAffinity": rule}, "tolerations": [tolerated]}
    return [job("run", ns, parallelism=3, cpu="2", node_selector=where, **options)]


_SPOT = Room(labels={"tier": "spot"})
_RESERVED = Room(labels={"tier": "steady"}, taints=[taint("dedicated", "lab")])
_RESERVED_UNLABELLED = Room(taints=[taint("dedicated", "lab")])
_DRAINED = Room(
    labels={"tier": "steady"},
    taints=[{"key": "flaky", "value": "disk", "effect": "PreferNoSchedule"}],
    unschedulable=True,
)
_DRAINED_UNLABELLED = Room(unschedulable=True)


def _ring(**driver: str) -> Objects:
    """Return a JobSet of a driver and a ring, one to a node, and a pod with the ring's label."""

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        leftover = holders([1], labels={SET: "ring"})(ns, where)
        run = jobset(
            "run",
            ns,
            jobs={
                "driver": {"pods": 2, "node_selector": {**where, **driver}},
                "ring": {"pods": 3, "node_selector": where, **apart("ring")},  # type: ignore[typeddict-item] # words of PodOptions
            },
        )
        return [*leftover, run]

    return make


def _listens(**more: str) -> Json:
    ports = [{"containerPort": 7070, "hostPort": 7070, **more}]
    return {"containers": [{"name": "main", "image": _IMAGE, "ports": ports}]}


def _crew(group: str, **options: Any) -> Objects:
    """Return a PodGroup of 3 and a Job of 3 that listen on a port of their nodes and name `crews`.

    Who holds the port on node 0 speaks another protocol; who holds it on node 1 does so on one address.
    """

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        run = job(
            "run",
            ns,
            parallelism=3,
            node_selector=where,
            pod_group="crews",
            spec=port(7070),
            **options,
        )
        return [podgroup(group, ns, version="v1alpha2", gang=3), run]

    others = (
        holders([0], spec=_listens(protocol="UDP")),
        holders([1], spec=_listens(protocol="TCP", hostIP="127.0.0.1")),
    )
    return all_of(*others, make)


def _found_too_large(stage: Stage) -> None:
    """Make the group that was missing, for one more than there are."""
    stage.make([podgroup("crews", stage.namespace, version="v1alpha2", gang=4)])


def _ungate(stage: Stage) -> None:
    for pod in stage.pods(**{"batch.kubernetes.io/job-name": "run"}):
        name = pod["metadata"]["name"]
        stage.client.patch("v1", "Pod", name, {"spec": {"schedulingGates": None}}, stage.namespace)


def _finish(stage: Stage) -> None:
    """Let the pod on the last node come to its end."""
    stage.script({"metadata": {"name": "holder-2"}}, complete_after="1s")


def _one_done_one_dead(stage: Stage) -> None:
    """Let one member finish and then lose another."""
    stage.wait_seen()
    done, dead, *_ = stage.pods()
    stage.script(done, complete_after="1s")
    stage.client.wait_for(
        "v1",
        "Pod",
        done["metadata"]["name"],
        stage.namespace,
        until=lambda found: found["status"].get("phase") == "Succeeded",
        timeout=PATIENCE,
    )
    stage.delete_pod(dead)


def _one_dead_on_a_cordon(stage: Stage) -> None:
    stage.wait_seen()
    stage.lose_one()


ON_136 = (
    # The template says 2 CPU, the RuntimeClass adds 1.5: 4 x 3.5 = 14. Free: 8 - 3 = 5 (one) and 8 (two):
    # 13 in all, 3 of 4 fit. Without the holder 4 fit. The class never preempts, so it waits for the holder.
    Scenario("call-kata-polite", "Job", "run", "insufficient-resources", "waiting",
             _sandboxed(4, polite=True), ("CPU", "3 of 4"),
             {"desired": 4, "quorum": 4, "created": 4, "scheduled": 0},
             nodes=2, twin="call-kata-preempts"),
    # The same with a class that preempts: only holder-0 is in the way, and it takes 20 minutes to go.
    # When it is gone node 0 has 8 again: 2 + 2 = 4 members.
    Scenario("call-kata-preempts", "Job", "run", "preempting", "waiting",
             _sandboxed(4, polite=False), (), {"desired": 4, "created": 4, "scheduled": 0, "ready": 0},
             nodes=2, twin="call-kata-polite",
             steps=(Step(lambda stage: stage.delete("holder-0"), "running", "running", (),
                         {"scheduled": 4, "ready": 4}),)),
    # 5 x 3.5 = 17.5 on 16: two a node, 4 of 5 even when both are empty. By the template it would be 10.
    Scenario("call-kata-too-many", "Job", "run", "exceeds-capacity", "blocked",
             _sandboxed(5), ("CPU", "4 of 5"), {"desired": 5, "quorum": 5, "created": 5, "scheduled": 0},
             nodes=2, twin="call-kata-polite"),
    # A pod: max(setup 5, main 1 + proxy 4) = 5, one a node. Free: 8, 8, 4 = 20 for 15, and 2 of 3 fit.
    # When the holder of 4 has finished (not: is deleted) all 3 do.
    Scenario("call-setup-then-proxy", "Job", "run", "fragmented", "waiting",
             _prepared(_SETUP, _PROXY), ("CPU", "2 of 3"), {"created": 3, "scheduled": 0},
             nodes=3, twin="call-proxy-then-setup",
             steps=(Step(_finish, "running", "running", (), {"scheduled": 3, "ready": 3}),)),
    # The same containers the other way round: the proxy runs beside setup, 4 + 5 = 9 and no node has
    # more than 8, although main and proxy ask for 5.
    Scenario("call-proxy-then-setup", "Job", "run", "no-matching-node", "blocked",
             _prepared(_PROXY, _SETUP), ("CPU", "9"), {"created": 3, "scheduled": 0},
             nodes=3, twin="call-setup-then-proxy"),
    # Node 0 is not asked for. Of 1, 2, 3 (NotIn takes a node without the label) the taint removes two,
    # the cordon one. It tolerates dedicated=web, not lab.
    Scenario("call-bench-mostly-reserved", "Job", "run", "untolerated-taint", "blocked",
             _bench, ("dedicated=lab",), {"created": 3, "scheduled": 0},
             rooms=(_SPOT, _RESERVED, _RESERVED_UNLABELLED, _DRAINED), twin="call-bench-mostly-drained"),
    # Of 1, 2, 3 the taint removes one and the cordon two; the PreferNoSchedule taint of 3 removes nobody.
    Scenario("call-bench-mostly-drained", "Job", "run", "nodes-unschedulable", "blocked",
             _bench, ("call-bench-mostly-drained-2", "call-bench-mostly-drained-3"),
             {"created": 3, "scheduled": 0},
             rooms=(_SPOT, _RESERVED, _DRAINED_UNLABELLED, _DRAINED), twin="call-bench-mostly-reserved"),
    # Two gangs. The driver (2) runs. The ring (3) is one to a node, and node 1 has a pod that carries
    # the ring's label: nodes 0 and 2 are left. CPU abounds; when that pod goes, the ring fits.
    Scenario("call-ring-leftover", "JobSet", "run", "pod-anti-affinity", "waiting",
             _ring(), ("ring",), {"desired": 5, "quorum": 5, "created": 5, "scheduled": 2},
             nodes=3, twin="call-ring-nowhere"),
    # The driver also wants tier=login, which no node has: that will not go by itself, the ring's will.
    Scenario("call-ring-nowhere", "JobSet", "run", "no-matching-node", "blocked",
             _ring(tier="login"), ("driver", "tier"), {"desired": 5, "created": 5, "scheduled": 0},
             nodes=3, twin="call-ring-leftover"),
    # The pods name `crews`, the group is called `crew`; that a port is taken comes later. Then somebody
    # makes `crews` for 4, and there are 3 pods.
    Scenario("call-crew-misspelt", "Job", "run", "podgroup-missing", "blocked",
             _crew("crew"), ("crews",), {"desired": 3, "created": 3, "scheduled": 0},
             nodes=3, twin="call-crew-unlicensed",
             steps=(Step(_found_too_large, "below-quorum", "blocked", ("3 of 4",),
                         {"quorum": 4, "created": 3, "scheduled": 0}),)),
    # Gates first. Without them: one member a node by its own port 7070/TCP. Node 0 is open (its holder
    # speaks UDP), node 1 is not (127.0.0.1 clashes with all addresses), node 2 is: 2 of 3, until that goes.
    Scenario("call-crew-unlicensed", "Job", "run", "scheduling-gated", "waiting",
             _crew("crews", gates=["example.com/licence"]), ("example.com/licence",),
             {"desired": 3, "quorum": 3, "created": 3, "scheduled": 0},
             nodes=3, twin="call-crew-misspelt",
             steps=(Step(_ungate, "port-conflict", "waiting", ("7070",), {"created": 3, "scheduled": 0}),)),
    # One of 3 has finished, one is lost: its replacement and the one that runs are 2, the quorum is 3,
    # and 1.36 counts no finished pods and lets nobody change the group.
    Scenario("call-shard-done-shard-lost", "Job", "run", "quorum-lost", "blocked",
             one_job("run", 3, cpu="2"), (), {"desired": 3, "quorum": 3, "succeeded": 1, "ready": 1},
             nodes=1, act=_one_done_one_dead, twin="call-shard-lost"),
    # One of 3 is lost and its node, the only one, cordoned: 2 run on, the replacement has no node.
    Scenario("call-shard-lost", "Job", "run", "lost-members", "degraded",
             one_job("run", 3, cpu="2"), ("2 of 3", "call-shard-lost-0"),
             {"desired": 3, "quorum": 3, "scheduled": 2, "ready": 2}, ("call-shard-lost-0",),
             nodes=1, act=_one_dead_on_a_cordon, twin="call-shard-done-shard-lost",
             steps=(Step(Stage.uncordon, "running", "running", (), {"scheduled": 3, "ready": 3}),)),
)  # fmt: skip
