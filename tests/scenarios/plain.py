"""Scenarios of the plain cluster that most people have: no gang scheduling at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.controlplane.client import Json
from tests.controlplane.objects import JobOptions, job, jobset
from tests.scenarios.making import Objects, holders
from tests.scenarios.scenario import Played, Room, Scenario

Where = Mapping[str, str]


def dropped(ns: str, nodes: Where) -> list[Json]:
    """Return a JobSet whose pods name a PodGroup, on a cluster that does not know the field."""
    # JobSet's own schema keeps the field; the API server drops it from the pods without a word.
    return [
        jobset("hopeful", ns, jobs={"w": {"pods": 2, "pod_group": "pg", "node_selector": nodes}})
    ]


def _plain(ns: str, nodes: Where) -> list[Json]:
    return [jobset("ordinary", ns, jobs={"w": {"pods": 2, "node_selector": nodes}})]


def _half(ns: str, nodes: Where) -> list[Json]:
    return [jobset("half", ns, jobs={"w": {"pods": 4, "cpu": "6", "node_selector": nodes}})]


def _none(ns: str, nodes: Where) -> list[Json]:
    return [job("huge", ns, parallelism=2, cpu="20", node_selector=nodes)]


def _actors_and_learners(**actors: Any) -> Objects:
    """Return 2 actors of 1 CPU, 2 learners of 4 GPUs, and another user's pod with 5 GPUs on node 1."""

    def make(ns: str, nodes: Where) -> list[Json]:
        learners: JobOptions = {"pods": 2, "gpu": 4, "node_selector": nodes}
        actor: Any = {"pods": 2, "node_selector": nodes, **actors}
        run = jobset("run", ns, jobs={"actors": actor, "learners": learners})
        return [*holders([1], gpu=5)(ns, nodes), run]

    return make


PLAIN = (
    # The GPUs are on node 1: 8 - 5 = 3 free, a learner needs 4, so no learner has a place. The actors
    # need none and run. Without the holder both learners fit (2 x 4 = 8).
    Scenario(
        "set-half", "JobSet", "run", "partly-placed", "degraded",
        _actors_and_learners(), rooms=(Room(), Room(gpus=8)), says=("2 of 4", "GPU"),
        members={"desired": 4, "created": 4, "scheduled": 2, "ready": 2},
        twin="set-pull",
    ),
    # The same with a missing image of the actors. More capacity would only bring learners that wait
    # for actors. No pod runs, and the image needs a person, so it comes first.
    Scenario(
        "set-pull", "JobSet", "run", "image-pull", "blocked",
        _actors_and_learners(never_ready="image-pull", image="registry.example/actors:nightly"),
        rooms=(Room(), Room(gpus=8)), says=("registry.example/actors:nightly",),
        members={"desired": 4, "created": 4, "scheduled": 2, "ready": 0},
        twin="set-half",
    ),
    Scenario(
        "not-ganged", "JobSet", "hopeful", "not-ganged", "degraded", dropped,
        says=("pg",), members={"desired": 2, "quorum": None, "ready": 2}, nodes=1,
        twin="ordinary",
    ),
    Scenario(
        "ordinary", "JobSet", "ordinary", "running", "running", _plain,
        members={"desired": 2, "quorum": None, "ready": 2}, nodes=1, twin="not-ganged",
    ),
    Scenario(
        "half-placed", "JobSet", "half", "partly-placed", "degraded", _half,
        says=("2 of 4",), members={"desired": 4, "scheduled": 2}, nodes=2, twin="none-placed",
    ),
    Scenario(
        "none-placed", "Job", "huge", "no-matching-node", "blocked", _none,
        says=("20", "8", "CPU"), members={"desired": 2, "scheduled": 0}, nodes=2,
        twin="half-placed",
    ),
)  # fmt: skip

PLAYED: Played = {"plain": PLAIN}
