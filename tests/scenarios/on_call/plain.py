"""Scenarios of Jobs whose pods are placed one by one, written from the objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.nodes import cordon
from tests.controlplane.objects import pod, quota
from tests.scenarios.making import (
    SET,
    Objects,
    all_of,
    daemons,
    holders,
    loose,
    port,
    resource_claim,
    volume,
)
from tests.scenarios.scenario import POOL, Room, Scenario, Stage, Step, is_ready

ZONE, HOST = "example.com/zone", "kubernetes.io/hostname"
NORTH, SOUTH = Room(labels={ZONE: "north"}), Room(labels={ZONE: "south"})
NO_NEW, NONE_AT_ALL = (
    {"key": "team", "value": "vision", "effect": effect} for effect in ("NoSchedule", "NoExecute")
)


# How pods look


def _container(name: str = "main", **fields: Any) -> Json:
    return {"name": name, "image": "registry.example/train:1", **fields}


def _asks(cpu: str) -> Json:
    return {"resources": {"requests": {"cpu": cpu}}}


def _with_init(cpu: str, **fields: Any) -> Json:
    """Return a pod spec of 2 CPU and an init container that asks for so many."""
    init = _container("tunnel", **_asks(cpu), **fields)
    return {"initContainers": [init], "containers": [_container(**_asks("2"))]}


def _near(kind: str, name: str, key: str) -> Json:
    """Return the required affinity (`podAffinity`, `podAntiAffinity`) to pods of that label."""
    term = {"labelSelector": {"matchLabels": {SET: name}}, "topologyKey": key}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _even(*keys: str) -> dict[str, Any]:
    """Return options of pods that are spread evenly over each of these node labels."""
    chosen = {"labelSelector": {"matchLabels": {SET: "even"}}}
    rule = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **chosen}
    constraints = [{**rule, "topologyKey": key} for key in keys]
    return {"labels": {SET: "even"}, "spec": {"topologySpreadConstraints": constraints}}


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


# What else there is


def _sandbox(ns: str, where: Mapping[str, str]) -> list[Json]:
    """Return a RuntimeClass whose pods cost 1.5 CPU more than their containers."""
    kind = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass"}
    overhead = {"podFixed": {"cpu": "1500m"}}
    name = f"{ns}-sandbox"
    return [{**kind, "metadata": {"name": name}, "handler": "sandbox", "overhead": overhead}]


def _sandboxed(count: int) -> Objects:
    """Return a Job of pods of 2.5 CPU in the sandbox of the namespace."""
    return lambda ns, where: loose(count, cpu="2500m", spec={"runtimeClassName": f"{ns}-sandbox"})(
        ns, where
    )


def _full_of_agents(count: int) -> Objects:
    return all_of(holders([0, 1], cpu="4500m"), daemons(cpu="1500m"), _sandbox, _sandboxed(count))


def _corpus(mode: str, *, disc: bool) -> Objects:
    """Return a claim `corpus` of one named disc, and that disc if it is there."""

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        name, size = f"{ns}-disc", {"storage": "1Gi"}
        alike = {"accessModes": [mode], "storageClassName": ""}
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "corpus", "namespace": ns},
            "spec": {**alike, "volumeName": name, "resources": {"requests": size}},
        }
        there = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {**alike, "capacity": size, "hostPath": {"path": "/corpus"}},
        }
        return [there, claim] if disc else [claim]

    return make


def _earlier(ns: str, where: Mapping[str, str]) -> list[Json]:
    """Return five even pods: two on node 0, one on node 1, two on node 2."""
    return [
        pod(f"earlier-{index}", ns, labels={SET: "even"}, spec={"nodeName": f"{ns}-{at}"})
        for index, at in enumerate((0, 0, 1, 2, 2))
    ]


def _limited(ns: str, where: Mapping[str, str]) -> list[Json]:
    """Return a quota of 9 CPU and a Job of four pods that only have limits, 3 CPU each."""
    spec = {"containers": [_container(resources={"limits": {"cpu": "3"}})]}
    return [quota("team-cpu", ns, **{"requests.cpu": "9"}), *loose(4, spec=spec)(ns, where)]


# What happens


def _once_running(count: int, make: Objects) -> Callable[[Stage], None]:
    """Return the act that makes these objects when so many pods are there before them."""

    def act(stage: Stage) -> None:
        stage.wait_running(count)
        stage.make(make(stage.namespace, {POOL: stage.pool}))

    return act


def _member(stage: Stage) -> Json:
    members = stage.pods(**{"batch.kubernetes.io/job-name": "run"})
    return next(found for found in members if is_ready(found))


def _lose_member(stage: Stage) -> None:
    """Delete a member and cordon its node; there are pods that are not members."""
    victim = _member(stage)
    cordon(stage.client, victim["spec"]["nodeName"])
    stage.delete_pod(victim)


def _steal(stage: Stage) -> None:
    """Delete a member when somebody's pod has come to its node."""
    victim = _member(stage)
    spec = {"nodeName": victim["spec"]["nodeName"]}
    stage.make([pod("thief", stage.namespace, cpu="4", spec=spec)])
    stage.delete_pod(victim)


def _untaint(stage: Stage) -> None:
    for at in ("0", "1"):
        stage.client.patch("v1", "Node", stage.node(at), {"spec": {"taints": None}})


def _delete_holders(stage: Stage) -> None:
    for name in ("holder-0", "holder-1"):
        stage.delete(name)


def _raise_quota(stage: Stage) -> None:
    hard = {"hard": {"requests.cpu": "12"}}
    stage.client.patch("v1", "ResourceQuota", "team-cpu", {"spec": hard}, stage.namespace)


PLAIN_CLUSTER: tuple[Scenario, ...] = (
    # A sidecar runs beside the main container: 2 + 3 = 5 CPU a pod, one on each node of 8. Counted
    # without it all three would have room.
    Scenario("call-plain-sidecar", "Job", "run", "partly-placed", "degraded",
        loose(3, spec=_with_init("3", restartPolicy="Always")), nodes=2,
        says=("2 of 3", "CPU"), members={"desired": 3, "scheduled": 2, "ready": 2},
        twin="call-plain-init-giant"),
    # An init container runs alone: max(10, 2) = 10 CPU, more than an empty node of 8 has. Nobody has
    # to leave, no node is big enough.
    Scenario("call-plain-init-giant", "Job", "run", "no-matching-node", "blocked",
        loose(3, spec=_with_init("10")), nodes=2, says=("CPU", "10"),
        members={"desired": 3, "scheduled": 0}, twin="call-plain-sidecar"),
    # A member is 2.5 + 1.5 overhead = 4. Holders have 4.5 and an agent 1.5 of each 8: 2 free, none
    # fits. Without the holders 8 - 1.5 = 6.5: one a node, 2 of 4. (Forget overhead or agents: four.)
    Scenario("call-plain-agents-stay", "Job", "run", "exceeds-capacity", "blocked",
        _full_of_agents(4), nodes=2, says=("CPU",), members={"desired": 4, "scheduled": 0},
        twin="call-plain-agents-two"),
    # The same with two members: they fit once the holders leave. Later one is lost; its node is
    # cordoned and the other has 8 - 1.5 - 4 = 2.5 free.
    Scenario("call-plain-agents-two", "Job", "run", "insufficient-resources", "waiting",
        _full_of_agents(2), nodes=2, says=("CPU",), members={"desired": 2, "scheduled": 0},
        steps=(
            Step(_delete_holders, "running", "running", members={"ready": 2}),
            Step(_lose_member, "lost-members", "degraded", ("1 of 2",), {"ready": 1}),
            Step(Stage.uncordon, "running", "running", members={"ready": 2}),
        ), twin="call-plain-agents-stay"),
    # Both nodes have a pod that holds the port on one address only; the members want it on all
    # addresses, which clashes. The holders can leave, then it is one a node.
    Scenario("call-plain-port-held", "Job", "run", "port-conflict", "waiting",
        all_of(
            holders([0, 1], spec={"containers": [_container(
                ports=[{"containerPort": 9400, "hostPort": 9400, "hostIP": "127.0.0.1"}])]}),
            loose(2, spec=port(9400))),
        nodes=2, says=("9400",), members={"desired": 2, "scheduled": 0},
        twin="call-plain-port-agent"),
    # The same port is held on every node by a DaemonSet, which never leaves.
    Scenario("call-plain-port-agent", "Job", "run", "port-conflict", "blocked",
        daemons(spec=port(9400)), nodes=2, act=_once_running(2, loose(2, spec=port(9400))),
        says=("9400",), members={"desired": 2, "scheduled": 0}, twin="call-plain-port-held"),
    # The members ask for nothing special. A pod in each zone does: no trainer in its zone. So the two
    # nodes with nobody on them are closed as well, until the holders leave.
    Scenario("call-plain-guarded-zones", "Job", "run", "pod-anti-affinity", "waiting",
        all_of(
            holders([0, 2], affinity=_near("podAntiAffinity", "trainer", ZONE)),
            loose(2, labels={SET: "trainer"})),
        rooms=(NORTH, NORTH, SOUTH, SOUTH), says=(ZONE,), members={"desired": 2, "scheduled": 0},
        twin="call-plain-apart-agent"),
    # The members want no agent on their node, and the agents are a DaemonSet on every node.
    Scenario("call-plain-apart-agent", "Job", "run", "pod-anti-affinity", "blocked",
        daemons(), nodes=2, act=_once_running(2, loose(
            2, affinity=_near("podAntiAffinity", "agent", HOST))),
        members={"desired": 2, "scheduled": 0}, twin="call-plain-guarded-zones"),
    # Hosts 1+1+1, then the south host (zones 2:2), then one in the north (3:2). The sixth: north would
    # be 4:2 by zone, the south host 3 against 1 by host. Five stand in any order; there is CPU for 24.
    Scenario("call-plain-even-both", "Job", "run", "partly-placed", "degraded",
        loose(6, **_even(ZONE, HOST)), rooms=(NORTH, NORTH, SOUTH), says=("5 of 6", ZONE),
        members={"desired": 6, "scheduled": 5, "ready": 5}, twin="call-plain-even-stuck"),
    # The five of before are somebody else's: 2+1 in the north, 2 in the south. The zone closes both
    # nodes of the north, the host closes the south. Without them two members fit.
    Scenario("call-plain-even-stuck", "Job", "run", "spread-constraints", "waiting",
        all_of(_earlier, loose(2, **_even(ZONE, HOST))), rooms=(NORTH, NORTH, SOUTH),
        says=(ZONE, HOST), members={"desired": 2, "scheduled": 0}, twin="call-plain-even-both"),
    # The cordoned south counts as a zone with nobody in it, so the north (one there) takes no second.
    # Without that one the north takes one member and not two: it needs the uncordon.
    Scenario("call-plain-even-cordon", "Job", "run", "spread-constraints", "blocked",
        all_of(holders([0], labels={SET: "even"}), loose(2, **_even(ZONE))),
        rooms=(NORTH, Room(labels={ZONE: "south"}, unschedulable=True)), says=(ZONE,),
        members={"desired": 2, "scheduled": 0},
        steps=(Step(Stage.uncordon, "running", "running", members={"ready": 2}),),
        twin="call-plain-even-stuck"),
    # All must be in the zone of the first. A zone is one node of 8: two of 4 CPU. The other zone has
    # 8 free for the third and may not be used.
    Scenario("call-plain-same-zone", "Job", "run", "partly-placed", "degraded",
        loose(3, cpu="4", labels={SET: "close"}, affinity=_near("podAffinity", "close", ZONE)),
        rooms=(NORTH, SOUTH), says=("2 of 3", ZONE),
        members={"desired": 3, "scheduled": 2, "ready": 2}, twin="call-plain-guarded-zones"),
    # The claim asks for one volume by name, and there is no volume of that name: it never binds.
    Scenario("call-plain-claim-typo", "Job", "run", "volume-unavailable", "blocked",
        all_of(_corpus("ReadWriteOnce", disc=False), loose(2, spec=volume("corpus"))), nodes=2,
        says=("corpus",), members={"desired": 2, "scheduled": 0}, twin="call-plain-claim-alone"),
    # The volume is there, but its claim is for a single pod of the cluster, and the Job has two.
    Scenario("call-plain-claim-alone", "Job", "run", "partly-placed", "degraded",
        all_of(_corpus("ReadWriteOncePod", disc=True), loose(2, spec=volume("corpus"))), nodes=2,
        says=("1 of 2", "corpus"), members={"desired": 2, "scheduled": 1, "ready": 1},
        twin="call-plain-claim-typo"),
    # Nobody made the claim of devices. The scheduler does not even try such pods: no condition.
    Scenario("call-plain-device", "Job", "run", "claim-unavailable", "blocked",
        loose(2, spec=resource_claim("gpu-slice")), nodes=2, says=("gpu-slice",),
        members={"desired": 2, "scheduled": 0}, twin="call-plain-claim-typo"),
    # The same taint twice, and only its NoSchedule half is tolerated. Later the members run, one on
    # each node (6 of 8); a stranger of 4 comes to one node, the member there goes: free are 4 and 2.
    Scenario("call-plain-noexecute", "Job", "run", "untolerated-taint", "blocked",
        loose(2, cpu="6", tolerations=[
            {"key": "team", "operator": "Exists", "effect": "NoSchedule"}]),
        rooms=(Room(taints=[NO_NEW, NONE_AT_ALL]),) * 2, says=("team=vision",),
        members={"desired": 2, "scheduled": 0},
        steps=(
            Step(_untaint, "running", "running", members={"ready": 2}),
            Step(_steal, "lost-members", "degraded", ("1 of 2", "CPU"), {"ready": 1}),
            Step(lambda stage: stage.delete("thief"), "running", "running", members={"ready": 2}),
        ), twin="call-plain-fenced"),
    # Of six nodes the last three are not what the owner asked for (retired, volta, no model). Of the
    # three that are, two are cordoned and one is tainted.
    Scenario("call-plain-fenced", "Job", "run", "nodes-unschedulable", "blocked",
        loose(2, affinity=_models()), rooms=(
            Room(labels={"example.com/model": "hopper"}, unschedulable=True),
            Room(labels={"example.com/model": "ampere", "example.com/retired": "soon"},
                 unschedulable=True),
            Room(labels={"example.com/model": "hopper"}, taints=[NO_NEW]),
            Room(labels={"example.com/model": "hopper", "example.com/retired": "soon"}),
            Room(labels={"example.com/model": "volta"}),
            Room(),
        ), members={"desired": 2, "scheduled": 0}, twin="call-plain-noexecute"),
    # Limits alone count as requests: the quota of 9 lets in three of four pods of 3. The node of 8
    # holds two of those. Then the quota is raised to 12, then a second node comes.
    Scenario("call-plain-quota", "Job", "run", "pod-creation-refused", "blocked",
        _limited, nodes=1, says=("team-cpu",),
        members={"desired": 4, "created": 3, "scheduled": 2},
        steps=(
            Step(_raise_quota, "partly-placed", "degraded", ("2 of 4", "CPU"), {"scheduled": 2}),
            Step(lambda stage: stage.add_nodes(Room()), "running", "running", members={"ready": 4}),
        ), twin="call-plain-handed-over"),
    # The Job says that another controller makes its pods, and there is none: nobody refuses anything.
    Scenario("call-plain-handed-over", "Job", "run", "pods-not-created", "blocked",
        loose(3, job_spec={"managedBy": "example.com/dispatcher"}), nodes=1,
        says=("example.com/dispatcher",), members={"desired": 3, "created": 0},
        twin="call-plain-quota"),
)  # fmt: skip
