"""Which scenarios are played on which cluster: each topic says it of its own."""

from __future__ import annotations

from types import ModuleType

from tests.scenarios import (
    advised,
    affinity,
    autoscaling,
    claims,
    conflicts,
    contention,
    deadlock,
    everywhere,
    excluded,
    gangs,
    holds,
    keeping,
    kubernetes135,
    lifecycle,
    limits,
    losing,
    over_time,
    plain,
    pods,
    ports,
    quotas,
    reports,
    room,
    scaling,
    sharing,
    spread,
    starting,
    topology,
    two_causes,
)
from tests.scenarios.making import gang
from tests.scenarios.scenario import Scenario, Step

_OTHER_TOPICS: tuple[ModuleType, ...] = (
    everywhere, gangs, holds, keeping, lifecycle, losing, plain, quotas, sharing, starting,
)  # fmt: skip
"""Without placement content: nodes need not be read for them."""
_PLACEMENT_TOPICS: tuple[ModuleType, ...] = (
    room, pods, excluded, ports, affinity, spread, topology, claims, two_causes, contention,
    deadlock, scaling, over_time, conflicts, advised, reports, kubernetes135, autoscaling, limits,
)  # fmt: skip


def _no_nodes(twin: str) -> Scenario:
    """Return scenarios that play before a cluster has any node. Afterwards it gets nodes with the others."""
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
SEEN_AGAIN = {"limited": "k137", "unseen": "k136"}
"""Clusters that are another one once more, seen by a reader who may look at less."""


def _played_on(cluster: str) -> tuple[Scenario, ...]:
    first = (FIRST[cluster],) if cluster in FIRST else ()
    topics = (*_OTHER_TOPICS, *_PLACEMENT_TOPICS)
    return (*first, *(item for topic in topics for item in topic.PLAYED.get(cluster, ())))


CLUSTERS = {cluster: _played_on(cluster) for cluster in (*FIRST, *SEEN_AGAIN)}
NOT_OF_PLACEMENT = frozenset(
    scenario.name
    for topic in _OTHER_TOPICS
    for scenarios in topic.PLAYED.values()
    for scenario in scenarios
) - {"short-of-gpus", "no-such-node", "partly-placed", "half-placed", "none-placed"}  # fmt: skip
"""Scenarios without placement content."""
