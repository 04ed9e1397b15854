"""Every scenario on real control planes, told through the REST API and the Board of a whole gangboard."""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from gangboard.diagnosis.registry import rules
from tests.controlplane.cluster import ControlPlane
from tests.controlplane.nodes import make_nodes
from tests.controlplane.objects import namespace as namespace_object
from tests.installation import Installation
from tests.scenarios.everywhere import EVERYWHERE
from tests.scenarios.gangs import LIMITED, scenarios_of
from tests.scenarios.holds import HOLDS, install_hold
from tests.scenarios.limits import limited_kubeconfig
from tests.scenarios.plain import PLAIN
from tests.scenarios.scenario import POOL, Scenario, Stage

Json = dict[str, Any]
CLUSTERS: dict[str, tuple[Scenario, ...]] = {
    "k137": (*EVERYWHERE, *scenarios_of("1.37"), *HOLDS),
    "k136": (*EVERYWHERE, *scenarios_of("1.36")),
    "plain": (*EVERYWHERE, *PLAIN),
    "limited": LIMITED,
}
"""`limited` is the 1.37 cluster once more, seen by somebody who may not list PodGroups."""
NOT_SHOWN_HERE = {"container-config", "deactivated", "init-failing", "paused"}
"""Codes beyond those of the first issue, tested elsewhere; docs/testing.md says where."""
LOOK_SECONDS = 0.5
SETTLED_SECONDS = 1.5
"""A right answer must still be there after this time: no flash counts as an answer."""


@dataclass
class Play:
    """All scenarios of all clusters, playing at the same time under one gangboard."""

    installation: Installation
    acts: dict[tuple[str, str], Future[None]] = field(default_factory=dict)
    right_since: dict[tuple[str, str], float] = field(default_factory=dict)
    proved: set[tuple[str, str]] = field(default_factory=set)
    """(cluster, scenario) whose right answer has stood for a while: no flash counts."""
    last: dict[tuple[str, str], Json | None] = field(default_factory=dict)
    started: dict[tuple[str, str], float] = field(default_factory=dict)
    over: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        """Compare what the API says of every scenario with what it should, until it is over.

        Some states pass by; so all scenarios are looked at all the time, not one after the other.
        """
        while not self.over.wait(LOOK_SECONDS):
            gangs = {
                (gang["cluster"], gang["namespace"], gang["kind"], gang["name"]): gang
                for gang in self.installation.gangs()
            }
            now = time.monotonic()
            for cluster, scenarios in CLUSTERS.items():
                for scenario in scenarios:
                    key = (cluster, scenario.name)
                    gang = gangs.get((cluster, scenario.name, scenario.kind, scenario.gang))
                    self.last[key] = gang
                    self._note(key, not _faults(gang, scenario), now)

    def _note(self, key: tuple[str, str], is_right: bool, now: float) -> None:
        if not is_right:
            self.right_since.pop(key, None)
        elif now - self.right_since.setdefault(key, now) >= SETTLED_SECONDS:
            self.proved.add(key)


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
    kubeconfigs["limited"] = limited_kubeconfig(controlplane_137)
    install_hold(controlplane_137.client)
    for name, plane in planes.items():
        nodes = [node for scenario in CLUSTERS[name] for node in scenario.own_nodes()]
        make_nodes(plane.client, nodes, timeout=60)
    with Installation(kubeconfigs) as installation, ThreadPoolExecutor(12) as pool:
        playing = Play(installation)
        for name, plane in planes.items():
            for scenario in CLUSTERS[name]:
                _set_up(plane, scenario)
                playing.started[name, scenario.name] = time.monotonic()
                playing.acts[name, scenario.name] = pool.submit(_perform, plane, scenario)
        for scenario in CLUSTERS["limited"]:
            playing.started["limited", scenario.name] = time.monotonic()
            playing.acts["limited", scenario.name] = pool.submit(lambda: None)
        looking = pool.submit(playing.look)
        yield playing
        playing.over.set()
        looking.result(timeout=30)


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
    key = (cluster, scenario.name)
    play.acts[key].result(timeout=120)
    give_up_at = play.started[key] + scenario.within
    while key not in play.proved:
        if time.monotonic() > give_up_at:
            gang = play.last.get(key)
            said = gang and {name: gang[name] for name in ("code", "health", "message", "members")}
            pytest.fail(f"{_faults(gang, scenario) or 'flashing'}; the API says {said}")
        time.sleep(LOOK_SECONDS)


def test_each_scenario_has_a_twin_with_another_code() -> None:
    for cluster, scenarios in CLUSTERS.items():
        others = CLUSTERS["k137"] if cluster == "limited" else scenarios
        by_name = {scenario.name: scenario for scenario in others}
        for scenario in scenarios:
            twin = by_name.get(scenario.twin)
            assert twin is not None, f"{cluster}: {scenario.name} has no twin"
            assert twin.code != scenario.code, f"{cluster}: {scenario.name} and its twin agree"


def test_there_are_enough_scenarios() -> None:
    assert len(CLUSTERS["k137"]) >= 24
    assert len(CLUSTERS["k136"]) >= 12
    assert len(CLUSTERS["plain"]) >= 8


def test_every_code_that_fake_nodes_can_show_is_shown() -> None:
    shown = {scenario.code for scenarios in CLUSTERS.values() for scenario in scenarios}
    assert {rule.code for rule in rules()} - shown == NOT_SHOWN_HERE


def test_the_board_shows_the_same_words(play: Play) -> None:
    """The page of a signed-in person has the sentence of the API, for every gang that the API names."""
    page = play.installation.page("/?show_finished=1")
    missing = [
        gang["message"]
        for gang in play.installation.gangs(namespace="short-of-gpus")
        + play.installation.gangs(namespace="half")
        + play.installation.gangs(namespace="trio")
        if html.escape(gang["message"]) not in page
    ]
    assert not missing
