"""Scenarios of exclusive resources of a node: a host port, and a pod slot."""

from __future__ import annotations

from collections.abc import Sequence

from tests.controlplane.objects import pod
from tests.scenarios.making import (
    Objects,
    all_of,
    daemons,
    gang,
    holders,
    loose,
    once_running,
    port,
    taint,
)
from tests.scenarios.scenario import POOL, Played, Room, Scenario, Stage, Step

_FULL_NODE = holders([2], spec=port(9400, "8", protocol="UDP"))
_LISTENERS = gang(2, spec=port(9400, "2"))


def _static_then_gang(stage: Stage) -> None:
    """Make static pods on the first two nodes, as their kubelets do, and then the gang."""
    for suffix in ("0", "1"):
        node = stage.client.get("v1", "Node", stage.node(suffix))["metadata"]
        marks = {"kubernetes.io/config.mirror": "proxy", "kubernetes.io/config.source": "file"}
        spec = {**port(9400, "1"), "nodeName": node["name"]}
        created = pod(f"proxy-{suffix}", stage.namespace, annotations=marks, spec=spec)
        owner = {"apiVersion": "v1", "kind": "Node", "name": node["name"], "uid": node["uid"]}
        created["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
        stage.make([created])
    stage.make(_LISTENERS(stage.namespace, {POOL: stage.pool}))


def _finished(nodes: Sequence[int]) -> Objects:
    """Return a pod on each of these nodes that has soon done its work."""
    return lambda ns, namespace: [
        pod(f"done-{node}", ns, cpu="500m", complete_after="1s", spec={"nodeName": f"{ns}-{node}"})
        for node in nodes
    ]


def _slots(*extra: Objects) -> Objects:
    held = all_of(holders([0, 1], cpu="500m"), _finished([0, 1]))
    return all_of(held, *extra, gang(7, cpu="500m"))


_FOUR_PODS = (Room(pods=4), Room(pods=4), Room(taints=[taint("reserved", "serving")]))


def _finish_holder(stage: Stage) -> None:
    result = next(result for result in stage.pods() if result["metadata"]["name"] == "holder-0")
    stage.script(result, complete_after="1s")


ON_EVERY_GANG_CLUSTER = (
    # 9400/TCP on all addresses. UDP on node 0 is another port, TCP on the loopback of node 1 is in the way.
    Scenario(
        "port-taken", "Job", "run", "port-conflict", "waiting",
        all_of(
            holders((0,), spec=port(9400, protocol="UDP")), holders((1,), spec=port(9400, hostIP="127.0.0.1")),
            gang(2, spec=port(9400)),
        ),
        nodes=2, says=("9400", "1 of 2"), members={"quorum": 2, "scheduled": 0},
        steps=(Step(lambda stage: stage.delete("holder-1"), "running", "running"),),
        twin="ports-too-few",
    ),
    # Three that take the same port, and two nodes.
    Scenario(
        "ports-too-few", "Job", "run", "port-conflict", "blocked", gang(3, spec=port(9400)), nodes=2,
        says=("9400", "2 of 3"), members={"quorum": 3, "scheduled": 0}, twin="port-taken",
    ),
)  # fmt: skip

PORTS = (
    # Port 9400/TCP is taken on two nodes, on one of them on loopback only, which is enough. On the third it
    # is free (UDP is taken) and the CPU is not; with that CPU there is still one place for two members.
    Scenario(
        "ports-held", "Job", "run", "port-conflict", "waiting",
        all_of(holders([0], spec=port(9400, "1", hostIP="127.0.0.1")), holders([1], spec=port(9400, "1")),
               _FULL_NODE, _LISTENERS),
        says=("9400",), nodes=3, twin="ports-static",
    ),
    # Permanent static pods hold the port, so one node is left for two members.
    Scenario(
        "ports-static", "Job", "run", "port-conflict", "blocked", _FULL_NODE, says=("9400",),
        nodes=3, act=_static_then_gang, twin="ports-held",
    ),
)  # fmt: skip

PODS = (
    Scenario(
        "pods-too-many", "Job", "run", "node-pod-limit", "blocked",
        gang(5, cpu="100m"),
        says=("5", "4", "pods"), members={"scheduled": 0}, rooms=(Room(pods=2),) * 2,
        twin="one-too-many",
    ),
    # Two nodes of 4 pods, one held on each (finished pods hold none): 6 places for 7 members, 8
    # without the holders. The third node has places and a taint. CPU is sufficient: 7 x 0.5.
    Scenario(
        "slots-held", "Job", "run", "node-pod-limit", "waiting", _slots(), says=("7", "6", "pods"),
        rooms=_FOUR_PODS, twin="slots-agent",
    ),
    # A DaemonSet permanently takes one place on each: 6 for 7 in any case.
    Scenario(
        "slots-agent", "Job", "run", "node-pod-limit", "blocked", _slots(daemons(cpu="500m")),
        says=("7",), rooms=_FOUR_PODS, twin="slots-held",
    ),
    # Nodes of 3 pods, each with an agent; the holder leaves 1 + 2 places for four that need 1 of 8 CPU.
    # A pod that has finished takes no place.
    Scenario(
        "pod-slots", "Job", "run", "node-pod-limit", "waiting",
        all_of(daemons(), holders((0,))), rooms=(Room(pods=3), Room(pods=3)), act=once_running(3, gang(4)),
        says=("3 of 4",), members={"quorum": 4, "scheduled": 0},
        steps=(Step(_finish_holder, "running", "running"),), twin="ports-too-few",
    ),
)  # fmt: skip

LOOSE = (
    # Both nodes have a pod that holds the port on one address only; the members want it on all
    # addresses, which clashes. The holders can leave, then it is one a node.
    Scenario(
        "port-of-one-address", "Job", "run", "port-conflict", "waiting",
        all_of(
            holders([0, 1], spec=port(9400, hostIP="127.0.0.1")),
            loose(2, spec=port(9400))),
        nodes=2, says=("9400",), members={"desired": 2, "scheduled": 0},
        twin="port-of-agents",
    ),
    # The same port is held on every node by a DaemonSet, which never leaves.
    Scenario(
        "port-of-agents", "Job", "run", "port-conflict", "blocked",
        daemons(spec=port(9400)), nodes=2, act=once_running(2, loose(2, spec=port(9400))),
        says=("9400",), members={"desired": 2, "scheduled": 0}, twin="port-of-one-address",
    ),
)  # fmt: skip

PLAYED: Played = {
    "k137": (*ON_EVERY_GANG_CLUSTER, *PORTS, *PODS),
    "k136": ON_EVERY_GANG_CLUSTER,
    "plain": LOOSE,
}
