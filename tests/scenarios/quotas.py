"""Scenarios of pods that a ResourceQuota refuses."""

from __future__ import annotations

from collections.abc import Mapping

from tests.controlplane.client import Json
from tests.controlplane.objects import quota
from tests.scenarios.making import container, gang, loose
from tests.scenarios.scenario import PATIENCE, POOL, Played, Room, Scenario, Stage, Step


def _limited(ns: str, nodes: Mapping[str, str]) -> list[Json]:
    """Return a quota of 9 CPU and a Job of four pods that only have limits, 3 CPU each."""
    spec = {"containers": [container(resources={"limits": {"cpu": "3"}})]}
    return [quota("team-cpu", ns, **{"requests.cpu": "9"}), *loose(4, spec=spec)(ns, nodes)]


def _raise_quota(stage: Stage) -> None:
    hard = {"hard": {"requests.cpu": "12"}}
    stage.client.patch("v1", "ResourceQuota", "team-cpu", {"spec": hard}, stage.namespace)


def _is_in_force(result: Json) -> bool:
    return bool(result.get("status", {}).get("hard"))


def _start_under_quota(stage: Stage) -> None:
    """Make the Job once the quota is in force."""
    name, ns = "memory-cap", stage.namespace
    stage.client.wait_for("v1", "ResourceQuota", name, ns, until=_is_in_force, timeout=PATIENCE)
    stage.make(gang(2)(ns, {POOL: stage.pool}))


def _give_default_limit(stage: Stage) -> None:
    """Give pods without a memory limit a default limit."""
    sizes = {"memory": "1Gi"}
    limits = [{"type": "Container", "default": sizes, "defaultRequest": sizes}]
    metadata = {"name": "sizes", "namespace": stage.namespace}
    kinds = {"apiVersion": "v1", "kind": "LimitRange"}
    stage.make([{**kinds, "metadata": metadata, "spec": {"limits": limits}}])


GANGS = (
    # The quota counts limits.memory, the pods have none: all are refused, until a LimitRange gives them one.
    Scenario(
        "no-memory-limit", "Job", "run", "pod-creation-refused", "blocked",
        lambda ns, where: [quota("memory-cap", ns, **{"limits.memory": "64Gi"})], nodes=1,
        act=_start_under_quota, says=("memory-cap", "limits.memory"),
        members={"desired": 2, "created": 0},
        steps=(Step(_give_default_limit, "running", "running"),), twin="few-and-room",
    ),
)  # fmt: skip

LOOSE = (
    # Limits alone count as requests: the quota of 9 lets in three of four pods of 3. The node of 8
    # holds two of those. Then the quota is raised to 12, then a second node comes.
    Scenario(
        "quota-of-limits", "Job", "run", "pod-creation-refused", "blocked",
        _limited, nodes=1, says=("team-cpu",),
        members={"desired": 4, "created": 3, "scheduled": 2},
        steps=(
            Step(_raise_quota, "partly-placed", "degraded", ("2 of 4", "CPU"), {"scheduled": 2}),
            Step(lambda stage: stage.add_nodes(Room()), "running", "running", members={"ready": 4}),
        ), twin="managed-by",
    ),
)  # fmt: skip

PLAYED: Played = {"k137": GANGS, "plain": LOOSE}
