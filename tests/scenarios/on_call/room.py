"""Scenarios of room on 1.37, written from the objects: short, scattered, too large, held, or shut away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.nodes import cordon
from tests.controlplane.objects import pod
from tests.scenarios.making import Objects, all_of, daemons, device, gang, holders, quorum, taint
from tests.scenarios.scenario import POOL, Room, Scenario, Stage, Step, is_ready

_FPGA = "example.com/fpga"
_DISK = "example.com/disk"
_RACK = "example.com/rack"


def _container(name: str, cpu: str, **fields: Any) -> Json:
    """Return a container that asks for CPU."""
    resources = {"requests": {"cpu": cpu}}
    return {"name": name, "image": "registry.example/train:1", "resources": resources, **fields}


# Six pairs of twins


def _unpacking(cpu: str) -> Objects:
    """Return three members of 2 CPU whose init container asks for so much."""
    members = gang(3, cpu="2", spec={"initContainers": [_container("unpack", cpu)]})
    return all_of(holders([0, 1]), members)


def _in_kata(overhead: str) -> Objects:
    """Return two members of 31Gi, in bytes, whose runtime adds so much memory."""

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        name = f"{ns}-kata"
        runtime = {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": name},
            "handler": "kata",
            "overhead": {"podFixed": {"memory": overhead}},
        }
        members = gang(2, memory="33285996544", spec={"runtimeClassName": name})
        return [runtime, *holders([0], memory="1024Mi")(ns, where), *members(ns, where)]

    return make


def _on_cards(least: int) -> Objects:
    """Return five pods of two FPGAs of which so many must be placed, and a holder of two."""
    spec = device(_FPGA, 2)
    return all_of(holders([0], spec=spec), quorum(5, least, spec=spec))


def _proxied(*more: Objects) -> Objects:
    """Return four members of 4 CPU: 3 and a sidecar of 1; what their init container asks is less."""
    proxy = _container("proxy", "1", restartPolicy="Always")
    spec = {"initContainers": [proxy, _container("fetch", "2")]}
    return all_of(holders([0, 1], cpu="2"), *more, gang(4, cpu="3", spec=spec))


def _as_a_whole(cpu: str) -> Objects:
    """Return two members whose container asks for 1 CPU and the pod as a whole for so much."""
    members = gang(2, spec={"resources": {"requests": {"cpu": cpu}}})
    return all_of(holders([0, 1, 2], cpu="5"), members)


def _gpu_holders(gpus: int) -> Objects:
    return all_of(holders([0, 1, 2], gpu=gpus), gang(2, gpu=4))


_CARDS = (Room(extra={_FPGA: "4"}),) * 2

TWINS: tuple[Scenario, ...] = (
    # Holders take 5 of 8 GPUs on each of 3 nodes: 9 are free for 2 x 4 = 8, but 3 a node at most.
    Scenario("call-gpus-scattered", "Job", "run", "fragmented", "waiting", _gpu_holders(5),
             says=("GPU", "9"), members={"desired": 2, "quorum": 2, "scheduled": 0},
             nodes=3, gpus=8, twin="call-gpus-short"),
    # The same with 6 of 8 taken: 6 are free for 8. Empty, each node takes two members.
    Scenario("call-gpus-short", "Job", "run", "insufficient-resources", "waiting", _gpu_holders(6),
             says=("GPU", "8", "6"), members={"desired": 2, "quorum": 2, "scheduled": 0},
             nodes=3, gpus=8, twin="call-gpus-scattered"),
    # A member counts as max(2, 4) = 4 CPU. 7 are free on each of 2 nodes: 14 for 12, but one member a node.
    # Empty nodes take two each.
    Scenario("call-setup-scattered", "Job", "run", "fragmented", "waiting", _unpacking("4"),
             says=("CPU", "14"), nodes=2, twin="call-setup-large"),
    # Now max(2, 5) = 5: an empty node of 8 takes one only, so 2 of 3 for ever, though 3 x 5 = 15 < 16.
    Scenario("call-setup-large", "Job", "run", "exceeds-capacity", "blocked", _unpacking("5"),
             says=("CPU", "5"), nodes=2, twin="call-setup-scattered"),
    # 31Gi + 1Gi of the runtime fill a node of 32Gi to the byte; a holder of 1Gi is on one of the two nodes.
    Scenario("call-kata-held", "Job", "run", "insufficient-resources", "waiting", _in_kata("1Gi"),
             says=("memory",), nodes=2, twin="call-kata-large"),
    # 31Gi + 2Gi of the runtime: 33Gi are on no node, even empty.
    Scenario("call-kata-large", "Job", "run", "no-matching-node", "blocked", _in_kata("2Gi"),
             says=("memory",), nodes=2, twin="call-kata-held"),
    # Quorum 4 of 5: 8 FPGAs, all that the two nodes have; 2 are held, 6 free. The fifth member may wait.
    Scenario("call-quorum-short", "PodGroup", "run", "insufficient-resources", "waiting", _on_cards(4),
             says=(_FPGA, "8", "6"), members={"desired": 5, "quorum": 4, "created": 5, "scheduled": 0},
             rooms=_CARDS, twin="call-quorum-large"),
    # Quorum 5 of 5: 10 FPGAs, and the two nodes have 8.
    Scenario("call-quorum-large", "PodGroup", "run", "exceeds-capacity", "blocked", _on_cards(5),
             says=(_FPGA, "10", "8"), members={"desired": 5, "quorum": 5, "created": 5, "scheduled": 0},
             rooms=_CARDS, twin="call-quorum-short"),
    # A member is max(3 + 1, 2 + 1) = 4 CPU: 16 in all, two nodes of 8 when empty. Holders of 2 each leave 12.
    Scenario("call-agent-none", "Job", "run", "insufficient-resources", "waiting", _proxied(),
             says=("CPU", "16", "12"), nodes=2, twin="call-agent-stays"),
    # A DaemonSet of 1 CPU more: 7 a node whoever leaves, one member each, 2 of 4.
    Scenario("call-agent-stays", "Job", "run", "exceeds-capacity", "blocked", _proxied(daemons()),
             says=("CPU", "16"), nodes=2, twin="call-agent-none"),
    # The pod as a whole asks for 4 CPU, whatever its container does: 3 free on each of 3 nodes, 9 for 8.
    Scenario("call-whole-scattered", "Job", "run", "fragmented", "waiting", _as_a_whole("4"),
             says=("CPU", "9"), nodes=3, twin="call-whole-short"),
    # As a whole 5: 10 needed, 9 free; an empty node takes one.
    Scenario("call-whole-short", "Job", "run", "insufficient-resources", "waiting", _as_a_whole("5"),
             says=("CPU", "10", "9"), nodes=3, twin="call-whole-scattered"),
)  # fmt: skip


# Two causes at once, and over time

_WRONG_VALUE = {"key": "team", "operator": "Equal", "value": "speech", "effect": "NoExecute"}
_WRONG_EFFECT = {"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}
_VISION = {"key": "team", "value": "vision", "effect": "NoExecute"}


def _not_slow() -> Json:
    """Return the affinity to disks that are not slow, or to a rack, which no node has."""
    exists = {"key": _DISK, "operator": "Exists"}
    not_slow = {"key": _DISK, "operator": "NotIn", "values": ["slow"]}
    terms = [
        {"matchExpressions": [exists, not_slow]},
        {"matchExpressions": [{"key": _RACK, "operator": "Exists"}]},
    ]
    required = {"nodeSelectorTerms": terms}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


_CORDONED = Room(labels={_DISK: "fast"}, unschedulable=True)
_TAINTED = Room(labels={_DISK: "fast"}, taints=[_VISION])
_SLOW = Room(labels={_DISK: "slow"}, taints=[{**_VISION, "effect": "PreferNoSchedule"}])
_PICKY = gang(2, affinity=_not_slow(), tolerations=[_WRONG_VALUE])

_EDGE = Room(cpu="4", labels={_RACK: "edge"})
_BATCH = Room(taints=[taint("dedicated", "batch")])
_SMALL_OPEN = (_EDGE, _EDGE, _BATCH, _BATCH, Room(unschedulable=True))


def _soften(stage: Stage) -> None:
    """Let the taint of the first node only warn."""
    taints = [{**_VISION, "effect": "PreferNoSchedule"}]
    stage.client.patch("v1", "Node", stage.node("0"), {"spec": {"taints": taints}})


def _half_a_node(**options: Any) -> Objects:
    """Return two members of 4 CPU, where 3 of 8 are free on each of two nodes."""
    return all_of(holders([0, 1], cpu="5"), gang(2, cpu="4", **options))


def _listens(cpu: str, **port: str) -> Json:
    """Return a pod spec that takes port 9400 of its node."""
    ports = [{"containerPort": 9400, "hostPort": 9400, **port}]
    return {"containers": [_container("main", cpu, ports=ports)]}


_FULL_NODE = holders([2], spec=_listens("8", protocol="UDP"))
_LISTENERS = gang(2, spec=_listens("2"))


def _static_then_gang(stage: Stage) -> None:
    """Make static pods on the first two nodes, as their kubelets do, and then the gang."""
    for suffix in ("0", "1"):
        node = stage.client.get("v1", "Node", stage.node(suffix))["metadata"]
        marks = {"kubernetes.io/config.mirror": "proxy", "kubernetes.io/config.source": "file"}
        spec = {**_listens("1"), "nodeName": node["name"]}
        made = pod(f"proxy-{suffix}", stage.namespace, annotations=marks, spec=spec)
        owner = {"apiVersion": "v1", "kind": "Node", "name": node["name"], "uid": node["uid"]}
        made["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        stage.make([made])
    stage.make(_LISTENERS(stage.namespace, {POOL: stage.pool}))


def _finished(nodes: Sequence[int]) -> Objects:
    """Return a pod on each of these nodes that has soon done its work."""
    return lambda ns, where: [
        pod(f"done-{at}", ns, cpu="500m", complete_after="1s", spec={"nodeName": f"{ns}-{at}"})
        for at in nodes
    ]


def _slots(*more: Objects) -> Objects:
    held = all_of(holders([0, 1], cpu="500m"), _finished([0, 1]))
    return all_of(held, *more, gang(7, cpu="500m"))


_FOUR_PODS = (Room(pods=4), Room(pods=4), Room(taints=[taint("reserved", "serving")]))


def _lose_member(stage: Stage) -> None:
    """Cordon the node of a member that runs and delete the member."""
    members = stage.pods(**{"batch.kubernetes.io/job-name": "run"})
    victim = next(member for member in members if is_ready(member))
    cordon(stage.client, victim["spec"]["nodeName"])
    stage.delete_pod(victim)


_MIXED: tuple[Scenario, ...] = (
    # Affinity leaves 5 of 6 nodes (the slow one is open: PreferNoSchedule excludes nobody). Taints take 3
    # of them (the toleration names another value), cordons 2. Then one taint only warns: both have room.
    Scenario("call-taint-most", "Job", "run", "untolerated-taint", "blocked", _PICKY, says=("team=vision",),
             rooms=(_TAINTED, _TAINTED, _TAINTED, _CORDONED, _CORDONED, _SLOW), twin="call-cordon-most",
             steps=(Step(_soften, "running", "running", members={"ready": 2}),)),
    # One node cordoned instead of tainted: cordons take 3 of the 5, taints 2.
    Scenario("call-cordon-most", "Job", "run", "nodes-unschedulable", "blocked", _PICKY, says=("3",),
             rooms=(_TAINTED, _TAINTED, _CORDONED, _CORDONED, _CORDONED, _SLOW), twin="call-taint-most"),
    # Two open nodes of 4 CPU are too small for a member of 6. Of the 3 large ones, taints take 2 (tolerated
    # with another effect only), a cordon 1. One open node of 8 more takes one member of two; one more, both.
    Scenario("call-small-open", "Job", "run", "untolerated-taint", "blocked",
             gang(2, cpu="6", tolerations=[_WRONG_EFFECT]), says=("dedicated=batch",),
             rooms=_SMALL_OPEN, twin="call-small-chosen", steps=(
                 Step(lambda stage: stage.add_nodes(Room(cpu="8")), "exceeds-capacity", "blocked",
                      ("CPU", "12"), {"scheduled": 0}),
                 Step(lambda stage: stage.add_nodes(Room(cpu="8")), "running", "running", (), {"ready": 2}))),
    # The same with a selector: the nodes of the rack have 4 CPU, those with 8 are not in the rack.
    Scenario("call-small-chosen", "Job", "run", "no-matching-node", "blocked",
             gang(2, cpu="6", tolerations=[_WRONG_EFFECT], node_selector={_RACK: "edge"}),
             says=(_RACK, "CPU"), rooms=_SMALL_OPEN, twin="call-small-open"),
    # Who tolerates every taint tolerates a cordon too: what lacks is room, 3 + 3 free for 2 x 4.
    Scenario("call-cordon-tolerated", "Job", "run", "insufficient-resources", "waiting",
             _half_a_node(tolerations=[{"operator": "Exists"}]), says=("CPU", "8", "6"),
             rooms=(Room(unschedulable=True),) * 2, twin="call-cordon-held"),
    # Without the toleration both nodes are shut. Opened, they have 3 + 3 for 8; without one holder, 8 + 3.
    Scenario("call-cordon-held", "Job", "run", "nodes-unschedulable", "blocked", _half_a_node(),
             says=("2",), rooms=(Room(unschedulable=True),) * 2, twin="call-cordon-tolerated", steps=(
                 Step(Stage.uncordon, "insufficient-resources", "waiting", ("CPU", "8", "6")),
                 Step(lambda stage: stage.delete("holder-0"), "running", "running", (), {"ready": 2}))),
    # Port 9400/TCP is taken on two nodes, on one of them on loopback only, which is enough. On the third it
    # is free (UDP is taken) and the CPU is not; with that CPU there is still one place for two members.
    Scenario("call-ports-held", "Job", "run", "port-conflict", "waiting",
             all_of(holders([0], spec=_listens("1", hostIP="127.0.0.1")), holders([1], spec=_listens("1")),
                    _FULL_NODE, _LISTENERS),
             says=("9400",), nodes=3, twin="call-ports-static"),
    # The port is held by static pods, which stay: whoever leaves, one node is left for two members.
    Scenario("call-ports-static", "Job", "run", "port-conflict", "blocked", _FULL_NODE, says=("9400",),
             nodes=3, act=_static_then_gang, twin="call-ports-held"),
    # Two nodes of 4 pods, one held on each (finished pods hold none): 6 places for 7 members, 8 without the
    # holders. The third node has places and a taint. CPU is there: 7 x 0.5.
    Scenario("call-slots-held", "Job", "run", "node-pod-limit", "waiting", _slots(), says=("7", "6"),
             rooms=_FOUR_PODS, twin="call-slots-agent"),
    # A DaemonSet takes one place on each for good: 6 for 7, whoever leaves.
    Scenario("call-slots-agent", "Job", "run", "node-pod-limit", "blocked", _slots(daemons(cpu="500m")),
             says=("7",), rooms=_FOUR_PODS, twin="call-slots-held"),
    # One node has no GPU left, the other 2 CPU: 8 GPUs and 7 + 2 CPU are free for 2 x (4 GPUs, 4 CPU), and
    # no member fits. Without the holder of CPU the other takes both. One lost, its node cordoned: 1 of 2.
    Scenario("call-gpus-stranded", "Job", "run", "fragmented", "waiting",
             all_of(holders([0], gpu=8), holders([1], cpu="6"), gang(2, cpu="4", gpu=4)),
             says=("GPU", "CPU"), nodes=2, gpus=8, twin="call-gpus-short", steps=(
                 Step(lambda stage: stage.delete("holder-1"), "running", "running", (), {"ready": 2}),
                 Step(_lose_member, "lost-members", "degraded", ("1 of 2",), {"ready": 1}),
                 Step(Stage.uncordon, "running", "running", (), {"ready": 2}))),
)  # fmt: skip

ROOM: tuple[Scenario, ...] = (*TWINS, *_MIXED)
