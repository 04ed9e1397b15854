"""Time passes: the story changes things, keeps every health in sight, and can be frozen."""

from __future__ import annotations

import time
from collections import Counter

from simulator import EXPECTED, Simulator
from simulator.resources import JOBS, JOBSETS, PODS
from tests.controlplane.client import wait
from tests.simulator.conftest import Start

PATIENCE = 120.0


def _names(simulator: Simulator) -> set[tuple[str, str]]:
    with simulator.store.lock:
        return {
            key for resource in (JOBS, JOBSETS) for key in simulator.store.table(resource).objects
        }


def test_gangs_are_created_run_finish_and_are_deleted(start: Start) -> None:
    simulator = start("east", story=True, speed=60, seed=3)
    static = _names(simulator)
    observed: set[tuple[str, str]] = set()
    phases: Counter[str] = Counter()
    deleted: set[tuple[str, str]] = set()
    expected = {"Pending", "Running", "Succeeded"}
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and not (len(deleted) >= 2 and expected <= phases.keys()):
        now = _names(simulator) - static
        deleted |= observed - now
        observed |= now
        for key in list(simulator.store.table(PODS).objects):
            pod = simulator.world.find(PODS, key)
            owners = pod["metadata"].get("ownerReferences", []) if pod else []
            if pod and owners and (key[0], owners[0]["name"]) in observed:
                phases[pod["status"]["phase"]] += 1
        time.sleep(0.05)
    assert len(observed) > 4
    assert len(deleted) >= 2
    assert expected <= phases.keys()
    # The gangs of the script have stayed as they were.
    assert static <= _names(simulator)


def test_objects_change_continuously(start: Start) -> None:
    simulator = start("east", story=True, speed=20)
    observed = {simulator.store.version}

    def has_changed() -> bool:
        return simulator.store.version not in observed

    for _ in range(5):
        wait(has_changed, timeout=PATIENCE, what="a change")
        observed.add(simulator.store.version)


def test_a_fleet_without_a_story_does_not_change(start: Start) -> None:
    simulator = start("east", story=False, speed=20)
    time.sleep(0.5)
    before = simulator.store.version
    time.sleep(1)
    assert simulator.store.version == before


def test_the_same_seed_gives_the_same_story(start: Start) -> None:
    first, second = (start("west", story=True, seed=5, speed=20) for _ in range(2))
    scripted = {(key[0], key[2]) for key in EXPECTED}

    def shared() -> set[tuple[str, str]]:
        return (_names(first) & _names(second)) - scripted

    wait(lambda: len(shared()) >= 2, timeout=PATIENCE, what="two gangs of both stories")


def test_a_fleet_and_a_seed_give_the_same_objects() -> None:
    def uids(seed: int) -> list[str]:
        simulator = Simulator("east", story=False, seed=seed)
        results = [
            str(simulator.world.find(PODS, key)["metadata"]["uid"])  # type: ignore[index]
            for key in simulator.store.table(PODS).ordered()
        ]
        simulator.stop()
        return results

    assert uids(1) == uids(1)
    assert uids(1) != uids(2)
