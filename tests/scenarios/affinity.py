"""Scenarios of pods that keep away from others, or must be where others are."""

from __future__ import annotations

from collections.abc import Mapping

from tests.controlplane.client import Json
from tests.controlplane.objects import jobset, pod
from tests.scenarios.making import (
    SET,
    Objects,
    all_of,
    apart,
    daemons,
    gang,
    holders,
    loose,
    near,
    once_running,
)
from tests.scenarios.scenario import Played, Room, Scenario, Step, nodes_with

ZONE = "topology.kubernetes.io/zone"
NORTH, SOUTH = nodes_with(ZONE, "north", "south")
_TRAINING = {"labels": {SET: "train"}}


def _not_with(name: str) -> Json:
    """Return the affinity of pods that accept no pod of that set in their zone."""
    return near("podAntiAffinity", name, ZONE)


def _beside_cache(ns: str, nodes: Mapping[str, str]) -> list[Json]:
    """Return a gang that must run on the node of the cache."""
    return gang(2, affinity=near("podAffinity", "cache"))(ns, nodes)


def _full_cache_node(ns: str, nodes: Mapping[str, str]) -> list[Json]:
    """Return the cache and what fills its node: 2 + 6 of 8 CPU."""
    busy = pod("busy", ns, cpu="6", spec={"nodeName": f"{ns}-0"})
    return [*holders((0,), labels={SET: "cache"}, cpu="2")(ns, nodes), busy]


def _ring(**driver: str) -> Objects:
    """Return a JobSet of a driver and a ring, one to a node, and a pod with the ring's label."""

    def make(ns: str, nodes: Mapping[str, str]) -> list[Json]:
        leftover = holders([1], labels={SET: "ring"})(ns, nodes)
        run = jobset(
            "run",
            ns,
            jobs={
                "driver": {"pods": 2, "node_selector": {**nodes, **driver}},
                "ring": {"pods": 3, "node_selector": nodes, **apart("ring")},  # type: ignore[typeddict-item] # words of PodOptions
            },
        )
        return [*leftover, run]

    return make


TOO_FAR_APART = (
    Scenario(
        "too-far-apart", "Job", "run", "pod-anti-affinity", "blocked",
        gang(5, **apart("ring")),
        says=("5", "3"), members={"scheduled": 0}, nodes=3, twin="ports-too-few",
    ),
)  # fmt: skip

GANGS = (
    Scenario(
        "one-of-the-set", "Job", "run", "pod-anti-affinity", "waiting",
        all_of(holders([0], **apart("ring")), gang(3, **apart("ring"))),
        says=("3",), members={"scheduled": 0}, nodes=3, twin="port-taken",
    ),
    # The rule of an existing pod counts.
    Scenario(
        "kept-out", "Job", "run", "pod-anti-affinity", "waiting",
        all_of(holders([0], **apart("ring")), gang(3, labels=apart("ring")["labels"])),
        says=("3",), members={"scheduled": 0}, nodes=1, twin="port-taken",
    ),
    # Four free nodes. In zone east a database that the gang does not want to meet; in zone west a guard
    # that does not want to meet the gang. Either can leave.
    Scenario(
        "no-zone-wants-it", "Job", "run", "pod-anti-affinity", "waiting",
        all_of(
            holders((0,), labels={SET: "database"}),
            holders((1,), affinity=_not_with("train")),
            gang(2, **_TRAINING, affinity=_not_with("database")),
        ),
        rooms=nodes_with(ZONE, "east", "west", "east", "west"), says=(ZONE,),
        members={"quorum": 2, "scheduled": 0}, twin="more-than-zones",
    ),
    # Three that keep out of each other's zone, and two zones, with two nodes each.
    Scenario(
        "more-than-zones", "Job", "run", "pod-anti-affinity", "blocked",
        gang(3, **apart("train", ZONE)), rooms=nodes_with(ZONE, "east", "west", "east", "west"),
        says=(ZONE, "2 of 3"), members={"quorum": 3, "scheduled": 0}, twin="zone-leftover",
    ),
    # Three zones are enough, but a pod of the last run with the same label is still in the third.
    Scenario(
        "zone-leftover", "Job", "run", "pod-anti-affinity", "waiting",
        all_of(holders((2,), **_TRAINING), gang(3, **apart("train", ZONE))),
        rooms=nodes_with(ZONE, "east", "west", "south"), says=(ZONE, "2 of 3"),
        members={"quorum": 3, "scheduled": 0},
        steps=(Step(lambda stage: stage.delete("holder-2"), "running", "running"),),
        twin="more-than-zones",
    ),
    # One member a node, three nodes, one of them cordoned: two places for three, of which each has 8 CPU.
    Scenario(
        "host-cordoned", "Job", "run", "pod-anti-affinity", "blocked", gang(3, **apart("run")),
        rooms=(Room(), Room(), Room(unschedulable=True)), says=("2 of 3",),
        members={"quorum": 3, "scheduled": 0}, advises=("host-cordoned-2",),
        steps=(Step(lambda stage: stage.uncordon(), "running", "running"),), twin="zone-leftover",
    ),
    # The gang must share the node of a cache that does not exist, so no node matches.
    Scenario(
        "no-cache", "Job", "run", "no-matching-node", "blocked", _beside_cache, nodes=2,
        says=(SET,), members={"quorum": 2, "scheduled": 0}, twin="cache-node-full",
    ),
    # The cache is on node 0, which is full (2 + 6 of 8 CPU). Node 1 is empty and does not count.
    Scenario(
        "cache-node-full", "Job", "run", "insufficient-resources", "waiting",
        all_of(_full_cache_node, _beside_cache), nodes=2, says=("CPU",),
        members={"quorum": 2, "scheduled": 0},
        steps=(Step(lambda stage: stage.delete("busy"), "running", "running"),), twin="no-cache",
    ),
)  # fmt: skip

JOBSETS_136 = (
    # Two gangs. The driver (2) runs. The ring (3) is one to a node, and node 1 has a pod that carries
    # the ring's label: nodes 0 and 2 are left. CPU abounds; when that pod goes, the ring fits.
    Scenario(
        "ring-leftover", "JobSet", "run", "pod-anti-affinity", "waiting",
        _ring(), ("ring",), {"desired": 5, "quorum": 5, "created": 5, "scheduled": 2},
        nodes=3, twin="ring-nowhere",
    ),
    # The driver also wants tier=login, which no node has: that will not go by itself, the ring's will.
    Scenario(
        "ring-nowhere", "JobSet", "run", "no-matching-node", "blocked",
        _ring(tier="login"), ("driver", "tier"), {"desired": 5, "created": 5, "scheduled": 0},
        nodes=3, twin="ring-leftover",
    ),
)  # fmt: skip

LOOSE = (
    # Two of three have a node of their own; the third would need one more.
    Scenario(
        "apart-and-placed", "Job", "run", "partly-placed", "degraded",
        loose(3, **apart("ring")),
        says=("2 of 3",), members={"scheduled": 2}, nodes=2, twin="jobset-occupied",
    ),
    # The members have no rules. A pod in each zone does: no trainer in its zone. So the two empty
    # nodes are closed as well, until the holders leave.
    Scenario(
        "guarded-zones", "Job", "run", "pod-anti-affinity", "waiting",
        all_of(
            holders([0, 2], affinity=_not_with("trainer")),
            loose(2, labels={SET: "trainer"})),
        rooms=(NORTH, NORTH, SOUTH, SOUTH), says=(ZONE,), members={"desired": 2, "scheduled": 0},
        twin="apart-agent",
    ),
    # The members want no agent on their node, and the agents are a DaemonSet on every node.
    Scenario(
        "apart-agent", "Job", "run", "pod-anti-affinity", "blocked",
        daemons(), nodes=2, act=once_running(2, loose(
            2, affinity=near("podAntiAffinity", "agent"))),
        members={"desired": 2, "scheduled": 0}, twin="guarded-zones",
    ),
    # All must be in the zone of the first. A zone is one node of 8: two of 4 CPU. The other zone has
    # 8 free for the third and may not be used.
    Scenario(
        "same-zone", "Job", "run", "partly-placed", "degraded",
        loose(3, cpu="4", labels={SET: "close"}, affinity=near("podAffinity", "close", ZONE)),
        rooms=(NORTH, SOUTH), says=("2 of 3", ZONE),
        members={"desired": 3, "scheduled": 2, "ready": 2}, twin="guarded-zones",
    ),
)  # fmt: skip

PLAYED: Played = {
    "k137": (*TOO_FAR_APART, *GANGS),
    "k136": (*TOO_FAR_APART, *JOBSETS_136),
    "plain": LOOSE,
}
