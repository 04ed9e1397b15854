"""Scenarios of the plain cluster that most people have: no gang scheduling at all."""

from __future__ import annotations

from collections.abc import Mapping

from tests.controlplane.client import Json
from tests.controlplane.nodes import cordon
from tests.controlplane.objects import job, jobset
from tests.scenarios.scenario import Scenario, Stage

Where = Mapping[str, str]


def dropped(ns: str, where: Where) -> list[Json]:
    """Return a JobSet whose pods name a PodGroup, on a cluster that does not know the field."""
    # JobSet's own schema keeps the field; the API server drops it from the pods without a word.
    return [
        jobset("hopeful", ns, jobs={"w": {"pods": 2, "pod_group": "pg", "node_selector": where}})
    ]


def _plain(ns: str, where: Where) -> list[Json]:
    return [jobset("ordinary", ns, jobs={"w": {"pods": 2, "node_selector": where}})]


def _half(ns: str, where: Where) -> list[Json]:
    return [jobset("half", ns, jobs={"w": {"pods": 4, "cpu": "6", "node_selector": where}})]


def _none(ns: str, where: Where) -> list[Json]:
    return [job("huge", ns, parallelism=2, cpu="20", node_selector=where)]


def _bereft(ns: str, where: Where) -> list[Json]:
    return [job("bereft", ns, parallelism=3, cpu="6", node_selector=where)]


def _lose_one(stage: Stage) -> None:
    victim = stage.wait_running(3)[0]
    stage.wait_seen()
    cordon(stage.client, victim["spec"]["nodeName"])
    stage.delete_pod(victim)


PLAIN = (
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
    Scenario(
        "bereft", "Job", "bereft", "lost-members", "degraded", _bereft,
        says=("2 of 3",), members={"desired": 3, "ready": 2}, nodes=3, act=_lose_one,
        twin="half-placed",
    ),
)  # fmt: skip
