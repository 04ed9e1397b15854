"""Scenarios of gangs that hold each other's capacity, and a lookalike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.objects import JobOptions, jobset
from tests.scenarios.making import Objects, holders, loose, one_job, taint
from tests.scenarios.scenario import (
    POOL,
    WHEN_TOLD,
    Played,
    Room,
    Scenario,
    Stage,
    patiently,
)

Where = Mapping[str, str]
BURN_IN = taint("example.com/burn-in")
TOLERATED: list[Json] = [{"key": "example.com/burn-in", "operator": "Exists"}]


def _crossed(ns: str, nodes: Where) -> list[Json]:
    """Two JobSets of two Jobs, each to begin on the node that the other's second Job needs."""
    left: JobOptions = {"node_selector": {**nodes, "side": "left"}, "cpu": "6"}
    right: JobOptions = {"node_selector": {**nodes, "side": "right"}, "cpu": "6"}
    ready = {"a": "Ready"}
    return [
        _jobset("one", ns, {**left, "start_after": WHEN_TOLD}, {**right, "depends_on": ready}),
        _jobset("two", ns, {**right, "start_after": WHEN_TOLD}, {**left, "depends_on": ready}),
    ]


def _start_both(stage: Stage) -> None:
    """Let their first Jobs run when each has its node: whose second one came earlier had both."""
    stage.start(2)


def _jobset(name: str, ns: str, first: JobOptions, second: JobOptions) -> Json:
    return jobset(name, ns, jobs={"a": first, "b": second})


def _half_alone(ns: str, nodes: Where) -> list[Json]:
    """The first of them alone: an unrelated pod uses the capacity it needs."""
    return [*holders([1], cpu="6")(ns, nodes), *_crossed(ns, nodes)[:1]]


def _wait_placed(stage: Stage, count: int) -> None:
    patiently(
        lambda: sum("nodeName" in pod["spec"] for pod in stage.pods()) >= count,
        f"{count} placed pods in {stage.namespace}",
    )


def _beside(other: int) -> Callable[[Stage], None]:
    """Return the act after which `run` has node 0 and `other`, of so many pods, has node 1.

    Node 1 is tainted at first, and only `other` tolerates that: so each gets two places.
    """

    def act(stage: Stage) -> None:
        _wait_placed(stage, 2)
        rest = one_job("other", other, indexed=False, cpu="4", tolerations=TOLERATED)
        stage.make(rest(stage.namespace, {POOL: stage.pool}))
        _wait_placed(stage, 4)
        stage.client.patch("v1", "Node", stage.node("1"), {"spec": {"taints": None}})

    return act


def _pair(name: str, **worker: Any) -> Objects:
    """Return a JobSet of a driver that needs 6 cores and a worker that needs 4 GPUs."""

    def make(ns: str, nodes: Mapping[str, str]) -> list[Json]:
        jobs: Any = {
            "driver": {"cpu": "6", "node_selector": nodes},
            "worker": {"gpu": 4, "node_selector": nodes, **worker},
        }
        return [jobset(name, ns, jobs=jobs)]

    return make


def _cross(stage: Stage) -> None:
    """Let `other` have the GPUs while `run` has the cores, then open the GPU node for both."""
    _wait_placed(stage, 1)
    stage.make(_pair("other", tolerations=TOLERATED)(stage.namespace, {POOL: stage.pool}))
    _wait_placed(stage, 2)
    stage.client.patch("v1", "Node", stage.node("1"), {"spec": {"taints": None}})


SIDES = (Room(labels={"side": "left"}), Room(labels={"side": "right"}))
DEADLOCK = (
    Scenario(
        "crossed-one", "JobSet", "one", "mutual-deadlock", "blocked", _crossed,
        says=("two",), members={"desired": 2, "scheduled": 1}, rooms=SIDES, act=_start_both,
        twin="half-alone",
    ),
    Scenario(
        "crossed-two", "JobSet", "two", "mutual-deadlock", "blocked", _crossed,
        says=("one",), members={"desired": 2, "scheduled": 1}, rooms=SIDES, act=_start_both,
        twin="half-alone",
    ),
    Scenario(
        "half-alone", "JobSet", "one", "partly-placed", "degraded", _half_alone,
        members={"desired": 2, "scheduled": 1}, rooms=SIDES,
        act=lambda stage: stage.start(1), twin="crossed-one",
    ),
)  # fmt: skip

GANGS = (
    # Two Jobs of 4 x 4 CPU on two nodes of 8: each has two places and needs the two of the other.
    Scenario(
        "half-and-half", "Job", "run", "mutual-deadlock", "blocked", loose(4, cpu="4"),
        rooms=(Room(), Room(taints=[BURN_IN])), act=_beside(4), says=("other", "2 of 4"),
        members={"desired": 4, "quorum": None, "scheduled": 2}, twin="half-beside-whole",
    ),
    # The same, but `other` wants two and has them: it is whole, and one day it ends.
    Scenario(
        "half-beside-whole", "Job", "run", "partly-placed", "degraded", loose(4, cpu="4"),
        rooms=(Room(), Room(taints=[BURN_IN])), act=_beside(2), says=("2 of 4",),
        members={"desired": 4, "quorum": None, "scheduled": 2}, twin="half-and-half",
    ),
    # Each JobSet needs 6 of the 8 CPU of node 0 and all 4 GPUs of node 1: one has these, one has those.
    Scenario(
        "crossed-seats", "JobSet", "run", "mutual-deadlock", "blocked", _pair("run"),
        rooms=(Room(), Room(cpu="4", gpus=4, taints=[BURN_IN])), act=_cross, says=("other",),
        members={"desired": 2, "scheduled": 1}, twin="half-beside-whole",
    ),
)  # fmt: skip

PLAYED: Played = {"k137": (*DEADLOCK, *GANGS), "plain": DEADLOCK}
