"""Which scenarios are played on which cluster."""

from __future__ import annotations

from tests.scenarios.advised import ADVISED, ADVISED_136
from tests.scenarios.autoscaling import AUTOSCALING
from tests.scenarios.conflicts import conflicts_136, conflicts_137
from tests.scenarios.contention import (
    CONTENTION,
    PREEMPTED_136,
    PREEMPTING_136,
    SCALING,
)
from tests.scenarios.everywhere import EVERYWHERE
from tests.scenarios.gangs import LIMITED, scenarios_of
from tests.scenarios.holds import HOLDS
from tests.scenarios.kubernetes135 import KUBERNETES_135
from tests.scenarios.lifecycle import LIFECYCLE
from tests.scenarios.limits import NODES_UNSEEN
from tests.scenarios.making import gang
from tests.scenarios.on_call.constraints import CONSTRAINTS
from tests.scenarios.on_call.gangs import GANGS
from tests.scenarios.on_call.kubernetes135 import ON_135
from tests.scenarios.on_call.kubernetes136 import ON_136
from tests.scenarios.on_call.plain import PLAIN_CLUSTER
from tests.scenarios.on_call.plain_jobsets import PLAIN_JOBSETS
from tests.scenarios.on_call.room import ROOM
from tests.scenarios.one_by_one import ONE_BY_ONE
from tests.scenarios.over_time import ON_136 as OVER_TIME_136
from tests.scenarios.over_time import OVER_TIME
from tests.scenarios.plain import PLAIN
from tests.scenarios.reports import REPORTS
from tests.scenarios.room import room_scenarios
from tests.scenarios.scenario import Scenario, Step
from tests.scenarios.sharing import sharing_of
from tests.scenarios.starting import STARTING
from tests.scenarios.topology import TOPOLOGY_AND_MORE
from tests.scenarios.two_causes import two_causes


def _no_nodes(twin: str) -> Scenario:
    """Return what is played before a cluster has any node; then it gets its nodes with the others."""
    return Scenario(
        "no-nodes", "Job", "run", "no-nodes", "blocked", gang(2),
        says=("2",), members={"scheduled": 0}, nodes=1, twin=twin,
        steps=(Step(lambda stage: None, "running", "running", (), {"ready": 2}),),
    )  # fmt: skip


FIRST = {
    "k137": _no_nodes("all-cordoned"),
    "k136": _no_nodes("all-cordoned"),
    "k135": _no_nodes("all-cordoned"),
    "plain": _no_nodes("taint-and-cordon"),
}
CLUSTERS: dict[str, tuple[Scenario, ...]] = {
    "k137": (
        FIRST["k137"], *EVERYWHERE, *scenarios_of("1.37"), *HOLDS, *room_scenarios("1.37"),
        *TOPOLOGY_AND_MORE, *two_causes("1.37"), *CONTENTION, *OVER_TIME,
        *conflicts_137(), *ADVISED, *sharing_of("1.37"), *ROOM, *GANGS, *CONSTRAINTS, *REPORTS,
    ),
    "k136": (
        FIRST["k136"], *EVERYWHERE, *scenarios_of("1.36"), *room_scenarios("1.36"),
        *two_causes("1.36"), *PREEMPTING_136, *PREEMPTED_136, *SCALING, *OVER_TIME_136,
        *conflicts_136(), *ADVISED_136, *LIFECYCLE, *sharing_of("1.36"), *ON_136,
    ),
    "k135": (FIRST["k135"], *KUBERNETES_135, *ON_135),
    "plain": (
        FIRST["plain"], *EVERYWHERE, *PLAIN, *ONE_BY_ONE, *AUTOSCALING, *LIFECYCLE, *STARTING,
        *PLAIN_CLUSTER, *PLAIN_JOBSETS,
    ),
    "limited": LIMITED,
    "unseen": NODES_UNSEEN,
}  # fmt: skip
SEEN_AGAIN = {"limited": "k137", "unseen": "k136"}
"""Clusters that are another one once more, seen by somebody who may look at less."""
NOT_OF_PLACEMENT = frozenset(
    scenario.name
    for scenario in (
        *EVERYWHERE,
        *scenarios_of("1.37"),
        *HOLDS,
        *PLAIN,
        *LIMITED,
        *LIFECYCLE,
        *STARTING,
        *sharing_of("1.37"),
    )
    if scenario.name
    not in ("short-of-gpus", "no-such-node", "partly-placed", "half-placed", "none-placed")
)
"""Scenarios without placement content: nodes need not be read for them."""
