"""Scenarios of pods that must be spread evenly over zones and nodes."""

from __future__ import annotations

from collections.abc import Mapping

from tests.controlplane.client import Json
from tests.controlplane.objects import pod
from tests.scenarios.making import HOST, SET, all_of, gang, holders, loose, spread, taint
from tests.scenarios.scenario import Played, Room, Scenario, Stage, Step, nodes_with

ZONE = "example.com/zone"
NORTH, SOUTH = nodes_with(ZONE, "north", "south")


def _earlier(ns: str, nodes: Mapping[str, str]) -> list[Json]:
    """Return five even pods: two on node 0, one on node 1, two on node 2."""
    return [
        pod(f"earlier-{index}", ns, labels={SET: "even"}, spec={"nodeName": f"{ns}-{position}"})
        for index, position in enumerate((0, 0, 1, 2, 2))
    ]


GANGS = (
    # 4 x 2 CPU. A holder leaves room for one in west, so east may take two, although it has room for four.
    # Without the holder it is 2 + 2.
    Scenario(
        "zone-full", "Job", "run", "spread-constraints", "waiting",
        all_of(holders((1,), cpu="6"), gang(4, cpu="2", **spread(ZONE))),
        rooms=nodes_with(ZONE, "east", "west"),
        says=("4 pods", ZONE, "3 of 4", "maxSkew 1"), members={"quorum": 4, "scheduled": 0},
        steps=(Step(lambda stage: stage.delete("holder-1"), "running", "running"),),
        twin="zone-tainted",
    ),
    # Nodes without the label are no place for such pods at all.
    Scenario(
        "no-zones", "Job", "run", "spread-constraints", "blocked",
        gang(4, **spread(ZONE)),
        says=("4 pods", ZONE, "none fits"), members={"scheduled": 0}, nodes=2, twin="zone-full",
    ),
    # No member can be in zone b, and it counts all the same: a pod more in zone a is one too many.
    Scenario(
        "zone-cordoned", "Job", "run", "spread-constraints", "blocked",
        gang(4, **spread(ZONE)),
        says=("4 pods", ZONE, "only 1 of 4 fits", "b has none"), members={"scheduled": 0},
        rooms=(*nodes_with(ZONE, "a"), Room(labels={ZONE: "b"}, unschedulable=True)), twin="zones-even",
    ),
    # At most one more in a zone than in the emptiest. Zone south stays empty, as its only node is tainted,
    # and by default a tainted node counts as a domain: one in east, one in west, no third.
    Scenario(
        "zone-tainted", "Job", "run", "spread-constraints", "blocked", gang(3, **spread(ZONE)),
        rooms=(
            *nodes_with(ZONE, "east", "west"),
            Room(labels={ZONE: "south"}, taints=[taint("example.com/infra")]),
        ),
        says=(ZONE, "2 of 3"), members={"quorum": 3, "scheduled": 0}, twin="zone-full",
    ),
    # Two in each zone.
    Scenario(
        "zones-even", "Job", "run", "running", "running",
        gang(4, **spread(ZONE)),
        members={"desired": 4, "ready": 4}, rooms=nodes_with(ZONE, "a", "b"), twin="zone-full",
    ),
    # Both zones alike, each with one core free: no matter of spread.
    Scenario(
        "zones-short", "Job", "run", "insufficient-resources", "waiting",
        all_of(holders([0, 1], cpu="7"), gang(4, **spread(ZONE))),
        says=("4", "2", "CPU"), members={"scheduled": 0}, rooms=nodes_with(ZONE, "a", "b"),
        twin="zone-full",
    ),
    # Six over zones is 3 + 3, six over hosts is 2 + 2 + 2, with two hosts in east and one in west. Both
    # together end at 2 + 1 and 2: a third in west is two more than the emptiest host, a fourth in east is
    # two more than west.
    Scenario(
        "two-spreads", "Job", "run", "spread-constraints", "blocked",
        gang(6, **spread(ZONE, HOST)), rooms=nodes_with(ZONE, "east", "east", "west"),
        says=(ZONE, HOST), members={"quorum": 6, "scheduled": 0}, twin="zone-full",
    ),
)  # fmt: skip

LOOSE = (
    # Hosts 1+1+1, then the south host (zones 2:2), then one in the north (3:2). The sixth: north would
    # be 4:2 by zone, the south host 3 against 1 by host. Five stand in any order; there is CPU for 24.
    Scenario(
        "even-both", "Job", "run", "partly-placed", "degraded",
        loose(6, **spread(ZONE, HOST)), rooms=(NORTH, NORTH, SOUTH), says=("5 of 6", ZONE),
        members={"desired": 6, "scheduled": 5, "ready": 5}, twin="even-stuck",
    ),
    # The first five belong to another user: 2+1 in the north, 2 in the south. The zone closes both
    # nodes of the north, the host closes the south. Without them two members fit.
    Scenario(
        "even-stuck", "Job", "run", "spread-constraints", "waiting",
        all_of(_earlier, loose(2, **spread(ZONE, HOST))), rooms=(NORTH, NORTH, SOUTH),
        says=(ZONE, HOST), members={"desired": 2, "scheduled": 0}, twin="even-both",
    ),
    # The cordoned south counts as an empty zone, so the north (one pod) takes no second. Without that
    # pod the north takes one member and not two: it needs the uncordon.
    Scenario(
        "even-cordon", "Job", "run", "spread-constraints", "blocked",
        all_of(holders([0], labels={SET: "even"}), loose(2, **spread(ZONE))),
        rooms=(NORTH, Room(labels={ZONE: "south"}, unschedulable=True)), says=(ZONE,),
        members={"desired": 2, "scheduled": 0},
        steps=(Step(Stage.uncordon, "running", "running", members={"ready": 2}),),
        twin="even-stuck",
    ),
)  # fmt: skip

PLAYED: Played = {"k137": GANGS, "plain": LOOSE}
