"""Scenarios of placement without gangs: pods placed one by one, as on most clusters today.

They are played on the plain cluster; what every pod scheduled for itself shows on 1.37 as well is
played there too.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.controlplane.client import Json
from tests.controlplane.objects import jobset
from tests.scenarios.contention import DEADLOCK, PREEMPTED_PODS, PREEMPTING_PODS
from tests.scenarios.making import (
    all_of,
    apart,
    holders,
    loose,
    resource_claim,
    taint,
    volume,
)
from tests.scenarios.over_time import OVER_TIME_PODS
from tests.scenarios.scenario import Room, Scenario
from tests.scenarios.topology import claim_taken, storage

Where = Mapping[str, str]


def _workers(ns: str, where: Where) -> list[Json]:
    return [jobset("run", ns, jobs={"w": {"pods": 2, "gpu": 3, "node_selector": where}})]


def _taken(ns: str, where: Where) -> list[Json]:
    return [*holders([0, 1, 2], gpu=2)(ns, where), *_workers(ns, where)]


def _full(ns: str, where: Where) -> list[Json]:
    return [*holders([0, 1, 2], gpu=3)(ns, where), *_workers(ns, where)]


ONE_BY_ONE = (
    Scenario(
        "jobset-fragmented", "JobSet", "run", "fragmented", "waiting", _taken,
        says=("6", "GPU"), members={"desired": 2, "scheduled": 0}, rooms=(Room(gpus=4),) * 3,
        twin="jobset-occupied",
    ),
    Scenario(
        "jobset-occupied", "JobSet", "run", "insufficient-resources", "waiting", _full,
        says=("6", "3", "GPU"), members={"desired": 2, "scheduled": 0}, rooms=(Room(gpus=4),) * 3,
        twin="jobset-fragmented",
    ),
    Scenario(
        "volume-missing", "Job", "run", "volume-unavailable", "blocked",
        loose(2, spec=volume("data-of-nobody")),
        says=("data-of-nobody",), members={"scheduled": 0}, nodes=2, twin="volume-unbound",
    ),
    Scenario(
        "volume-unbound", "Job", "run", "volume-unavailable", "waiting",
        all_of(storage("data"), loose(2, spec=volume("data"))),
        says=("2",), members={"scheduled": 0}, nodes=2, twin="device-taken",
    ),
    claim_taken(loose(2, spec=resource_claim("links")), "volume-unbound"),
    # A claim that does not exist keeps a pod from being tried at all: no scheduler says a word.
    Scenario(
        "claim-missing", "Job", "run", "claim-unavailable", "blocked",
        loose(2, spec=resource_claim("links-of-nobody")),
        says=("2 pods", "links-of-nobody", "does not exist"), members={"scheduled": 0}, nodes=2, twin="volume-unbound",
    ),
    Scenario(
        "taint-and-cordon", "Job", "run", "untolerated-taint", "blocked", loose(2),
        says=("2", "team=vision"), members={"scheduled": 0},
        rooms=(
            Room(taints=[taint("team", "vision")]), Room(taints=[taint("team", "vision")]),
            Room(unschedulable=True),
        ),
        twin="jobset-occupied",
    ),
    # Two of three have a node of their own; the third would need one more.
    Scenario(
        "apart-and-placed", "Job", "run", "partly-placed", "degraded",
        loose(3, **apart("ring")),
        says=("2 of 3",), members={"scheduled": 2}, nodes=2, twin="jobset-occupied",
    ),
    *PREEMPTING_PODS,
    *PREEMPTED_PODS,
    *DEADLOCK,
    *OVER_TIME_PODS,
)  # fmt: skip
