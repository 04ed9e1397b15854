"""The queues of the demo: a stopped workload frees quota for the first one that fits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from simulator.resources import CLUSTER_QUEUES, JOBSETS, KUEUE_WORKLOADS
from simulator.simulator import Simulator

Json = dict[str, Any]
VERSION = "kueue.x-k8s.io/v1beta2"


@pytest.fixture
def west() -> Iterator[Simulator]:
    """West without its story, ten times as quick."""
    with Simulator(fleet="west", story=False, speed=10) as simulator:
        yield simulator


def workload(simulator: Simulator, owner: str) -> Json:
    result = simulator.objects.list(VERSION, "Workload")
    return next(item for item in result if item["metadata"]["ownerReferences"][0]["name"] == owner)


def status_of(simulator: Simulator, owner: str) -> dict[str, str]:
    conditions = workload(simulator, owner)["status"]["conditions"]
    return {condition["type"]: condition["status"] for condition in conditions}


def is_suspended(simulator: Simulator, name: str) -> bool:
    result = simulator.world.find(JOBSETS, ("team-ads", name))
    assert result is not None
    return bool(result["spec"]["suspend"])


def numbers(simulator: Simulator, queue: str) -> tuple[int, int, str, str]:
    """Waiting, admitted, used and borrowed of a ClusterQueue."""
    result = simulator.world.find(CLUSTER_QUEUES, ("", queue))
    assert result is not None
    status = result["status"]
    (amounts,) = status["flavorsUsage"][0]["resources"]
    return (
        status["pendingWorkloads"],
        status["admittedWorkloads"],
        amounts["total"],
        amounts["borrowed"],
    )


def set_active(simulator: Simulator, owner: str, active: bool) -> None:
    def put(obj: Json) -> None:
        obj["spec"]["active"] = active

    meta = workload(simulator, owner)["metadata"]
    simulator.objects.update(VERSION, "Workload", meta["name"], put, meta["namespace"])


def wait_for(simulator: Simulator, expected: tuple[int, int, str, str]) -> None:
    """Wait until the ClusterQueue `ads-gpu` has the expected `numbers`."""
    give_up_at = time.monotonic() + 10
    while (actual := numbers(simulator, "ads-gpu")) != expected:
        assert time.monotonic() < give_up_at, actual
        time.sleep(0.02)


def test_the_queues_have_their_initial_state(west: Simulator) -> None:
    assert numbers(west, "ads-gpu") == (2, 1, "6", "2")
    assert numbers(west, "maps-gpu") == (1, 0, "0", "0")
    assert status_of(west, "query-rewriter") == {"QuotaReserved": "True", "Admitted": "True"}
    assert status_of(west, "cold-start") == {"QuotaReserved": "False"}


def test_a_deactivated_workload_frees_quota_for_the_first_fit(west: Simulator) -> None:
    set_active(west, "query-rewriter", False)
    # Of 8 GPUs, the high priority workload gets 4 and the next one 3, so 1 is free.
    wait_for(west, (0, 2, "7", "3"))
    assert not is_suspended(west, "creative-tagger")
    assert is_suspended(west, "query-rewriter")
    assert status_of(west, "query-rewriter")["Evicted"] == "True"
    assert not is_suspended(west, "cold-start")
    set_active(west, "query-rewriter", True)
    wait_for(west, (1, 2, "7", "3"))
    assert is_suspended(west, "query-rewriter"), "its quota is gone, so it stands in line again"


def test_a_fleet_without_queues_serves_no_kueue_kinds() -> None:
    with Simulator(fleet="east", story=False) as east:
        assert KUEUE_WORKLOADS not in east.store.resources()
