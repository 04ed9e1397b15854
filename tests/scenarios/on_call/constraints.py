"""Scenarios of gangs that have room and may not use it, written from the objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.objects import pod, podgroup
from tests.scenarios.making import (
    Objects,
    all_of,
    apart,
    daemons,
    gang,
    holders,
    one_job,
    resource_claim,
    spread,
    taint,
    volume,
)
from tests.scenarios.scenario import POOL, Room, Scenario, Stage, Step

RACK = "example.com/rack"
ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
APP = "example.com/app"


def _at(key: str, *values: str, **more: Any) -> tuple[Room, ...]:
    """Return nodes with these values of a label."""
    rooms: tuple[Room, ...] = tuple({"labels": {key: value}, **more} for value in values)  # type: ignore[typeddict-item] # `more` are words of Room
    return rooms


def _pods_like(kind: str, app: str, key: str) -> Json:
    """Return the rule that pods of that app must (not) be in the same domain of a node label."""
    term = {"labelSelector": {"matchLabels": {APP: app}}, "topologyKey": key}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _not_with(app: str, key: str) -> Json:
    return _pods_like("podAntiAffinity", app, key)


def _training(count: int, **options: Any) -> Objects:
    return gang(count, labels={APP: "train"}, **options)


def _spread_twice(*keys: str) -> dict[str, Any]:
    """Return options of pods that must be spread evenly over each of these node labels."""
    made = [spread(key) for key in keys]
    rules = [rule for options in made for rule in options["spec"]["topologySpreadConstraints"]]
    return {"labels": made[0]["labels"], "spec": {"topologySpreadConstraints": rules}}


def _beside_cache(ns: str, where: Mapping[str, str]) -> list[Json]:
    """Return a gang that must run on the node of the cache."""
    return gang(2, affinity=_pods_like("podAffinity", "cache", HOST))(ns, where)


def _full_cache_node(ns: str, where: Mapping[str, str]) -> list[Json]:
    """Return the cache and what fills its node: 2 + 6 of 8 CPU."""
    busy = pod("busy", ns, cpu="6", spec={"nodeName": f"{ns}-0"})
    return [*holders((0,), labels={APP: "cache"}, cpu="2")(ns, where), busy]


def _last_has_volume(ns: str, where: Mapping[str, str]) -> list[Json]:
    """Return a gang of three bare pods, the last of which mounts a claim that is not there."""
    specs: Sequence[Json] = ({}, {}, volume("checkpoints"))
    made = [
        pod(f"m-{at}", ns, pod_group="run", node_selector=where, spec=spec)
        for at, spec in enumerate(specs)
    ]
    return [podgroup("run", ns, gang=3), *made]


def _disk_on(suffix: str) -> Objects:
    """Return a claim `corpus` and the local disk of a node that it is bound to."""

    def make(ns: str, where: Mapping[str, str]) -> list[Json]:
        name, size, modes = f"{ns}-disk", {"storage": "1Ti"}, ["ReadWriteOnce"]
        term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [f"{ns}-{suffix}"]}]}
        disk = {
            "capacity": size,
            "accessModes": modes,
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
            "local": {"path": "/disk"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
            "claimRef": {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": ns, "name": "corpus",
            },
        }  # fmt: skip
        claim = {
            "accessModes": modes,
            "storageClassName": "",
            "volumeName": name,
            "resources": {"requests": size},
        }
        return [
            _stored("PersistentVolume", {"name": name}, disk),
            _stored("PersistentVolumeClaim", {"name": "corpus", "namespace": ns}, claim),
        ]

    return make


def _stored(kind: str, metadata: Json, spec: Json) -> Json:
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}


def _port(protocol: str = "TCP", **more: str) -> Json:
    """Return a pod spec that takes port 9400 of its node."""
    ports = [{"containerPort": 9400, "hostPort": 9400, "protocol": protocol, **more}]
    container = {"name": "main", "image": "registry.example/train:1", "ports": ports}
    return {"containers": [container]}


def _come_after_agents(stage: Stage) -> None:
    """Make the gang when two agents and the holder have their places."""
    stage.wait_running(3)
    stage.make(gang(4)(stage.namespace, {POOL: stage.pool}))


def _finish_holder(stage: Stage) -> None:
    found = next(found for found in stage.pods() if found["metadata"]["name"] == "holder-0")
    stage.script(found, complete_after="1s")


CONSTRAINTS = (
    # 5 x 3 CPU in one rack: a rack of two nodes of 8 holds 2 + 2. The node of 16 would hold all five and
    # has no rack. Nothing runs here, so nothing can leave.
    Scenario(
        "call-no-rack-holds-it", "Job", "run", "topology-does-not-fit", "blocked",
        one_job("run", 5, gang="all", topology=RACK, cpu="3"),
        rooms=(*_at(RACK, "east", "east", "west", "west"), Room(cpu="16")),
        says=(RACK, "4 of 5"), members={"desired": 5, "quorum": 5, "scheduled": 0},
        twin="call-rack-occupied",
    ),
    # The same with three nodes in rack west: it holds 6 when empty, and 4 while a holder has one node.
    # Over both racks 4 + 4 fit.
    Scenario(
        "call-rack-occupied", "Job", "run", "topology-does-not-fit", "waiting",
        all_of(holders((4,), cpu="8"), one_job("run", 5, gang="all", topology=RACK, cpu="3")),
        rooms=_at(RACK, "east", "east", "west", "west", "west"),
        says=(RACK, "4 of 5"), members={"desired": 5, "quorum": 5, "scheduled": 0},
        steps=(Step(lambda stage: stage.delete("holder-4"), "running", "running"),),
        twin="call-no-rack-holds-it",
    ),
    # Four free nodes. In zone east a database that the gang does not want to meet; in zone west a guard
    # that does not want to meet the gang. Either can leave.
    Scenario(
        "call-no-zone-wants-it", "Job", "run", "pod-anti-affinity", "waiting",
        all_of(
            holders((0,), labels={APP: "database"}),
            holders((1,), affinity=_not_with("train", ZONE)),
            _training(2, affinity=_not_with("database", ZONE)),
        ),
        rooms=_at(ZONE, "east", "west", "east", "west"), says=(ZONE,),
        members={"quorum": 2, "scheduled": 0}, twin="call-more-than-zones",
    ),
    # Three that keep out of each other's zone, and two zones, with two nodes each.
    Scenario(
        "call-more-than-zones", "Job", "run", "pod-anti-affinity", "blocked",
        _training(3, affinity=_not_with("train", ZONE)), rooms=_at(ZONE, "east", "west", "east", "west"),
        says=(ZONE, "2 of 3"), members={"quorum": 3, "scheduled": 0}, twin="call-zone-leftover",
    ),
    # Three zones are enough, but a pod of the last run with the same label is still in the third.
    Scenario(
        "call-zone-leftover", "Job", "run", "pod-anti-affinity", "waiting",
        all_of(holders((2,), labels={APP: "train"}), _training(3, affinity=_not_with("train", ZONE))),
        rooms=_at(ZONE, "east", "west", "south"), says=(ZONE, "2 of 3"),
        members={"quorum": 3, "scheduled": 0},
        steps=(Step(lambda stage: stage.delete("holder-2"), "running", "running"),),
        twin="call-more-than-zones",
    ),
    # One member a node, three nodes, one of them cordoned: two places for three, of which each has 8 CPU.
    Scenario(
        "call-host-cordoned", "Job", "run", "pod-anti-affinity", "blocked", gang(3, **apart("run")),
        rooms=(Room(), Room(), Room(unschedulable=True)), says=("2 of 3",),
        members={"quorum": 3, "scheduled": 0}, advises=("call-host-cordoned-2",),
        steps=(Step(lambda stage: stage.uncordon(), "running", "running"),), twin="call-zone-leftover",
    ),
    # At most one more in a zone than in the emptiest. Zone south stays empty, as its only node is tainted,
    # and by default a tainted node counts as a domain: one in east, one in west, no third.
    Scenario(
        "call-tainted-zone", "Job", "run", "spread-constraints", "blocked", gang(3, **spread(ZONE)),
        rooms=(
            *_at(ZONE, "east", "west"), *_at(ZONE, "south", taints=[taint("example.com/infra")]),
        ),
        says=(ZONE, "2 of 3"), members={"quorum": 3, "scheduled": 0}, twin="call-lopsided-zones",
    ),
    # 4 x 2 CPU. A holder leaves room for one in west, so east may take two, although it has room for four.
    # Without the holder it is 2 + 2.
    Scenario(
        "call-lopsided-zones", "Job", "run", "spread-constraints", "waiting",
        all_of(holders((1,), cpu="6"), gang(4, cpu="2", **spread(ZONE))), rooms=_at(ZONE, "east", "west"),
        says=(ZONE, "3 of 4"), members={"quorum": 4, "scheduled": 0},
        steps=(Step(lambda stage: stage.delete("holder-1"), "running", "running"),),
        twin="call-tainted-zone",
    ),
    # Six over zones is 3 + 3, six over hosts is 2 + 2 + 2, with two hosts in east and one in west. Both
    # together end at 2 + 1 and 2: a third in west is two more than the emptiest host, a fourth in east is
    # two more than west.
    Scenario(
        "call-two-spreads", "Job", "run", "spread-constraints", "blocked",
        gang(6, **_spread_twice(ZONE, HOST)), rooms=_at(ZONE, "east", "east", "west"),
        says=(ZONE, HOST), members={"quorum": 6, "scheduled": 0}, twin="call-lopsided-zones",
    ),
    # The gang must be on the node of a cache that nobody has started: no node has what it asks for.
    Scenario(
        "call-no-cache", "Job", "run", "no-matching-node", "blocked", _beside_cache, nodes=2,
        says=(APP,), members={"quorum": 2, "scheduled": 0}, twin="call-cache-node-full",
    ),
    # The cache is on node 0, which is full (2 + 6 of 8 CPU). Node 1 is empty and does not count.
    Scenario(
        "call-cache-node-full", "Job", "run", "insufficient-resources", "waiting",
        all_of(_full_cache_node, _beside_cache), nodes=2, says=("CPU",),
        members={"quorum": 2, "scheduled": 0},
        steps=(Step(lambda stage: stage.delete("busy"), "running", "running"),), twin="call-no-cache",
    ),
    # One of three bare pods mounts a claim that nobody made, so none goes.
    Scenario(
        "call-one-claim-missing", "PodGroup", "run", "volume-unavailable", "blocked", _last_has_volume,
        nodes=2, says=("checkpoints",), members={"desired": 3, "quorum": 3, "scheduled": 0},
        twin="call-disk-on-full-node",
    ),
    # The data is on a local disk of node 0, where a holder leaves 1 of 8 CPU for 2 x 1. Node 1 is empty.
    Scenario(
        "call-disk-on-full-node", "Job", "run", "volume-unavailable", "waiting",
        all_of(_disk_on("0"), holders((0,), cpu="7"), gang(2, spec=volume("corpus"))), nodes=2,
        says=("corpus",), members={"quorum": 2, "scheduled": 0},
        steps=(Step(lambda stage: stage.delete("holder-0"), "running", "running"),),
        twin="call-disk-of-lost-node",
    ),
    # The same with the disk of a node that is not there any more.
    Scenario(
        "call-disk-of-lost-node", "Job", "run", "volume-unavailable", "blocked",
        all_of(_disk_on("retired"), gang(2, spec=volume("corpus"))), nodes=2, says=("corpus",),
        members={"quorum": 2, "scheduled": 0}, twin="call-disk-on-full-node",
    ),
    # The ResourceClaim that both use was never made.
    Scenario(
        "call-no-such-claim", "Job", "run", "claim-unavailable", "blocked",
        gang(2, spec=resource_claim("fabric")), nodes=2, says=("fabric",),
        members={"quorum": 2, "scheduled": 0}, twin="call-one-claim-missing",
    ),
    # 9400/TCP on all addresses. UDP on node 0 is another port, TCP on the loopback of node 1 is in the way.
    Scenario(
        "call-port-on-loopback", "Job", "run", "port-conflict", "waiting",
        all_of(
            holders((0,), spec=_port("UDP")), holders((1,), spec=_port(hostIP="127.0.0.1")),
            gang(2, spec=_port()),
        ),
        nodes=2, says=("9400", "1 of 2"), members={"quorum": 2, "scheduled": 0},
        steps=(Step(lambda stage: stage.delete("holder-1"), "running", "running"),),
        twin="call-port-thrice",
    ),
    # Three that take the same port, and two nodes.
    Scenario(
        "call-port-thrice", "Job", "run", "port-conflict", "blocked", gang(3, spec=_port()), nodes=2,
        says=("9400", "2 of 3"), members={"quorum": 3, "scheduled": 0}, twin="call-port-on-loopback",
    ),
    # Nodes of 3 pods, each with an agent; the holder leaves 1 + 2 places for four that need 1 of 8 CPU.
    # A pod that has finished takes no place.
    Scenario(
        "call-pod-slots", "Job", "run", "node-pod-limit", "waiting",
        all_of(daemons(), holders((0,))), rooms=(Room(pods=3), Room(pods=3)), act=_come_after_agents,
        says=("3 of 4",), members={"quorum": 4, "scheduled": 0},
        steps=(Step(_finish_holder, "running", "running"),), twin="call-port-thrice",
    ),
)  # fmt: skip
"""For the 1.37 cluster."""
