"""Every scenario on real control planes, told through the REST API and the Board of a whole gangboard."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import make_nodes
from tests.controlplane.objects import namespace as namespace_object
from tests.installation import Installation
from tests.scenarios.everywhere import EVERYWHERE
from tests.scenarios.gangs import scenarios_of
from tests.scenarios.holds import HOLDS, install_hold
from tests.scenarios.plain import PLAIN
from tests.scenarios.scenario import POOL, Scenario, Stage

Json = dict[str, Any]
CLUSTERS: dict[str, tuple[Scenario, ...]] = {
    "k137": (*EVERYWHERE, *scenarios_of("1.37"), *HOLDS),
    "k136": (*EVERYWHERE, *scenarios_of("1.36")),
    "plain": (*EVERYWHERE, *PLAIN),
}
SETTLED_SECONDS = 1.5
"""A right answer must still be there after this time: no flash counts as an answer."""


@dataclass
class Play:
    """All scenarios of all clusters, playing at the same time under one gangboard."""

    installation: Installation
    started: dict[tuple[str, str], float] = field(default_factory=dict)
    acts: dict[tuple[str, str], Future[None]] = field(default_factory=dict)

    def answer(self, cluster: str, scenario: Scenario) -> Json | None:
        """Return what the API says of the scenario's gang now."""
        found = self.installation.gangs(
            cluster=cluster, namespace=scenario.name, kind=scenario.kind
        )
        return next((gang for gang in found if gang["name"] == scenario.gang), None)


def _set_up(plane: ControlPlane, scenario: Scenario) -> None:
    plane.client.create(namespace_object(scenario.name))
    for obj in scenario.objects(scenario.name, {POOL: scenario.name}):
        plane.client.create_all([obj])


def _perform(plane: ControlPlane, scenario: Scenario) -> None:
    if scenario.act is not None:
        scenario.act(Stage(plane.client, scenario.name, scenario.name))


@pytest.fixture(scope="session")
def play(
    controlplane_137: ControlPlane,
    controlplane_136: ControlPlane,
    controlplane_plain: ControlPlane,
) -> Iterator[Play]:
    """Start one gangboard over three real clusters and let every scenario begin."""
    planes = {"k137": controlplane_137, "k136": controlplane_136, "plain": controlplane_plain}
    kubeconfigs: dict[str, Path] = {name: plane.kubeconfig for name, plane in planes.items()}
    install_hold(controlplane_137.client)
    for name, plane in planes.items():
        nodes = [node for scenario in CLUSTERS[name] for node in scenario.own_nodes()]
        make_nodes(plane.client, nodes, timeout=60)
    with Installation(kubeconfigs) as installation, ThreadPoolExecutor(8) as pool:
        playing = Play(installation)
        for name, plane in planes.items():
            for scenario in CLUSTERS[name]:
                _set_up(plane, scenario)
                playing.started[name, scenario.name] = time.monotonic()
                playing.acts[name, scenario.name] = pool.submit(_perform, plane, scenario)
        yield playing


def _cases() -> Iterator[Any]:
    for cluster, scenarios in CLUSTERS.items():
        for scenario in sorted(scenarios, key=lambda item: item.within):
            yield pytest.param(cluster, scenario, id=f"{cluster}-{scenario.name}")


def _faults(gang: Json | None, scenario: Scenario) -> list[str]:
    """Return what differs from the expectation."""
    if gang is None:
        return ["the gang is not there"]
    faults = [
        f"{key}: {gang[key]!r} instead of {wanted!r}"
        for key, wanted in (("code", scenario.code), ("health", scenario.health))
        if gang[key] != wanted
    ]
    faults += [
        f"members.{key}: {gang['members'][key]!r} instead of {wanted!r}"
        for key, wanted in scenario.members.items()
        if gang["members"][key] != wanted
    ]
    faults += [
        f"{words!r} not in the message" for words in scenario.says if words not in gang["message"]
    ]
    return faults


@pytest.mark.parametrize(("cluster", "scenario"), list(_cases()))
def test_the_api_tells_the_truth(play: Play, cluster: str, scenario: Scenario) -> None:
    play.acts[cluster, scenario.name].result(timeout=120)
    give_up_at = max(play.started[cluster, scenario.name], time.monotonic() - 60) + scenario.within
    right_since: float | None = None
    while True:
        gang = play.answer(cluster, scenario)
        faults = _faults(gang, scenario)
        now = time.monotonic()
        right_since = (right_since or now) if not faults else None
        if right_since is not None and now - right_since >= SETTLED_SECONDS:
            return
        if now > give_up_at:
            said = gang and {key: gang[key] for key in ("code", "health", "message", "members")}
            pytest.fail(f"{faults or 'flashing'}; the API says {said}")
        time.sleep(0.25)


def test_each_scenario_has_a_twin_with_another_code() -> None:
    for cluster, scenarios in CLUSTERS.items():
        by_name = {scenario.name: scenario for scenario in scenarios}
        for scenario in scenarios:
            twin = by_name.get(scenario.twin)
            assert twin is not None, f"{cluster}: {scenario.name} has no twin"
            assert twin.code != scenario.code, f"{cluster}: {scenario.name} and its twin agree"


def test_there_are_enough_scenarios() -> None:
    assert {
        name: len(found) >= least
        for (name, found), least in zip(CLUSTERS.items(), (24, 12, 8), strict=True)
    } == dict.fromkeys(CLUSTERS, True)
