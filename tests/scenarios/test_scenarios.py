"""Every scenario on real control planes, told through the REST API and the Board of a whole gangboard."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gangboard.plugins.reasons import rules
from tests.controlplane.clearing import clear_nodes
from tests.controlplane.cluster import ControlPlane
from tests.installation import Installation
from tests.scenarios.autoscaling import install_autoscaling
from tests.scenarios.clusters import CLUSTERS, NOT_OF_PLACEMENT, SEEN_AGAIN
from tests.scenarios.contention import PREEMPTED, PREEMPTED_136, PREEMPTING
from tests.scenarios.holds import install_hold
from tests.scenarios.limits import without_nodes, without_podgroups
from tests.scenarios.play import Key, Play
from tests.scenarios.room import TWINS
from tests.scenarios.scenario import Scenario
from tests.scenarios.two_causes import TWO_CAUSES

pytestmark = pytest.mark.controlplane

FIT = "gpu-short"
"""The scenario whose table of nodes is checked."""
LOSERS = (
    ("k137", PREEMPTED[0], "preempted-gang/usurper"),
    ("k136", PREEMPTED_136[0], "preempted-gang/run"),
)
"""Scenarios of a gang that is preempted once and runs again, and the gang that got its place."""
WITHOUT_LOSER = ("k137", PREEMPTING[1])
"""A gang waits for nodes that others have, and no pod is preempted."""
LOOKED_AT_LATER = (
    *(("k137", FIT), ("k136", FIT), ("k137", "room-comes")),
    *((cluster, scenario.name) for cluster, scenario, _ in LOSERS),
    (WITHOUT_LOSER[0], WITHOUT_LOSER[1].name),
)
ON_THE_BOARD = ("no-matching-node", "exceeds-capacity")
"""The codes of 1.35 whose sentences are checked on the board."""
PAPER = Path(__file__).resolve().parents[2] / "docs" / "testing.md"


def _told_elsewhere() -> set[str]:
    """Return the codes of which the paper says why they are not shown here, and where they are tested."""
    section = PAPER.read_text().partition("### Codes that fake nodes do not show there")[2]
    table = section.partition("\n#")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("|")]
    # Other tests show codes that only a queue can cause.
    return {code for row in rows for code in re.findall(r"`([a-z-]+)`(?! (?:by|of) a queue)", row)}


PLANES = {
    "k137": "controlplane_137",
    "k136": "controlplane_136",
    "k135": "controlplane_135",
    "plain": "controlplane_plain",
}
"""The fixtures of the clusters."""


def _wanted(items: Iterable[pytest.Item]) -> set[Key]:
    """Return the scenarios that the selected tests are about; all where one is about all."""
    result: set[Key] = set()
    for item in items:
        if not isinstance(item, pytest.Function) or "play" not in item.fixturenames:
            continue
        if not hasattr(item, "callspec") or "scenario" not in item.callspec.params:
            return {(cluster, item.name) for cluster, group in CLUSTERS.items() for item in group}
        value: dict[str, Any] = dict(item.callspec.params)
        cluster, name = value["cluster"], value["scenario"].name
        result |= {(cluster, name), (SEEN_AGAIN.get(cluster, cluster), name)}
    return result


@pytest.fixture(scope="module")
def play(request: pytest.FixtureRequest) -> Iterator[Play]:
    """Start one gangboard over four real clusters and let every scenario begin.

    Where only some were selected (`-k`), those and the clusters that they need.
    """
    expected = _wanted(request.session.items)
    planes: dict[str, ControlPlane] = {
        name: request.getfixturevalue(fixture)
        for name, fixture in PLANES.items()
        if any(cluster == name for cluster, _ in expected)
    }
    kubeconfigs: dict[str, Path] = {name: plane.kubeconfig for name, plane in planes.items()}
    if "k137" in planes:
        kubeconfigs["limited"] = without_podgroups(planes["k137"])
        install_hold(planes["k137"].client)
    if "k136" in planes:
        kubeconfigs["unseen"] = without_nodes(planes["k136"])
    if "plain" in planes:
        install_autoscaling(planes["plain"].client)
    for plane in planes.values():
        clear_nodes(plane.client)
    with Installation(kubeconfigs) as installation:
        staying = [
            ("k135", item.name)
            for item in CLUSTERS["k135"]
            if item.expected[-1].code in ON_THE_BOARD
        ]
        playing = Play(
            installation, planes, expected, looked_at_later=LOOKED_AT_LATER, staying=staying
        )
        try:
            playing.begin()
            yield playing
        finally:
            playing.end()


def _cases() -> Iterator[Any]:
    """Yield the cases, those that take longest last."""
    for cluster, scenarios in CLUSTERS.items():
        for scenario in sorted(scenarios, key=lambda item: item.within * len(item.expected)):
            yield pytest.param(cluster, scenario, id=f"{cluster}-{scenario.name}")


@pytest.mark.parametrize(("cluster", "scenario"), list(_cases()))
def test_the_api_reports_the_true_state(play: Play, cluster: str, scenario: Scenario) -> None:
    play.result((cluster, scenario.name))


def test_each_scenario_has_a_twin_with_another_code() -> None:
    """A twin is played on the same cluster; where nodes or groups are hidden, it may be the open one."""
    for cluster, scenarios in CLUSTERS.items():
        played = {item.name: item for item in CLUSTERS[SEEN_AGAIN.get(cluster, cluster)]}
        by_name = {scenario.name: scenario for scenario in scenarios}
        assert len(by_name) == len(scenarios), f"{cluster}: two scenarios of one name"
        for scenario in scenarios:
            twin = (played if scenario.twin == scenario.name else by_name).get(scenario.twin)
            assert twin is not None, f"{cluster}: {scenario.name} has no twin"
            assert (twin.code, twin.health) != (scenario.code, scenario.health), (
                f"{cluster}: {scenario.name} and its twin agree"
            )


def test_the_number_of_scenarios_is_sufficient() -> None:
    of_placement = Counter(
        cluster
        for cluster, scenarios in CLUSTERS.items()
        for scenario in scenarios
        if scenario.name not in NOT_OF_PLACEMENT
    )
    different = {
        scenario.name
        for scenarios in CLUSTERS.values()
        for scenario in scenarios
        if scenario.name not in NOT_OF_PLACEMENT
    }
    assert len(different) >= 60
    assert of_placement["k137"] > of_placement["k136"] >= 12
    assert of_placement["k135"] >= 10
    assert of_placement["plain"] >= 8
    assert len(TWINS) == 12
    assert len(TWO_CAUSES) >= 10
    assert sum(bool(item.steps) for group in CLUSTERS.values() for item in group) >= 8


def test_every_code_that_fake_nodes_can_show_is_shown() -> None:
    """Each twice at least, over all clusters."""
    displayed = Counter(
        step.code
        for scenarios in CLUSTERS.values()
        for scenario in scenarios
        for step in scenario.expected
    )
    assert {rule.code for rule in rules()} - set(displayed) == _told_elsewhere()
    assert not {code for code, times in displayed.items() if times < 2}


def _whole(play: Play, cluster: str, name: str) -> dict[str, Any]:
    """Return all that the API said of the gang of a scenario at its end."""
    play.result((cluster, name))
    return play.wholes[cluster, name]


@pytest.mark.parametrize("cluster", ["k137", "k136"])
def test_the_fit_table_counts_the_nodes_of_a_scenario(play: Play, cluster: str) -> None:
    """Four nodes of four GPUs, two of them taken: of three pods of four GPUs two would find a node."""
    (row,) = _whole(play, cluster, FIT)["fit"]
    assert row["requests"]["nvidia.com/gpu"] == "4"
    assert (row["waiting"], row["fits_now"], row["fits_empty"]) == (3, 2, 4)
    assert row["open_nodes"] == 2
    (taken,) = row["saturated"]
    assert (taken["label"], taken["nodes"]) == ("nvidia.com/gpu", 2)
    assert set(taken["examples"]) == {"gpu-short-0", "gpu-short-1"}
    # The nodes of all other scenarios have another label.
    assert sum(row_["nodes"] for row_ in row["excluded"]) == row["nodes"] - 4 > 0


@pytest.mark.parametrize(("cluster", "scenario", "taker"), LOSERS)
def test_a_preemption_is_counted_once(
    play: Play, cluster: str, scenario: Scenario, taker: str
) -> None:
    """All of its pods went, each with an event of its own."""
    evictions = _whole(play, cluster, scenario.name)["evictions"]
    assert (evictions["count"], evictions["sentence"]) == (1, None)
    (row,) = evictions["last"]
    assert (row["code"], row["taker"]) == ("preempted", taker)


@pytest.mark.parametrize(("cluster", "scenario"), [WITHOUT_LOSER])
def test_a_gang_that_only_waits_was_not_preempted(
    play: Play, cluster: str, scenario: Scenario
) -> None:
    assert _whole(play, cluster, scenario.name)["evictions"]["count"] == 0


def test_the_history_lists_verdicts_in_order(play: Play) -> None:
    """Waited, ran, lost a member, ran again; each with its end, and the last one holds."""
    timeline = _whole(play, "k137", "room-comes")["timeline"]
    spans = [item for item in reversed(timeline) if item["kind"] == "verdict"]
    codes = [span["code"] for span in spans]
    said = iter(codes)
    for code in ("insufficient-resources", "running", "lost-members", "running"):
        assert code in said, f"{code} is not told in its turn: {codes}"
    assert [span["until"] for span in spans[:-1]] == [span["at"] for span in spans[1:]]
    assert spans[-1]["until"] is None


def test_the_board_shows_the_verdict_of_the_api(play: Play) -> None:
    """The page of a signed-in person has the sentence of the API, for every gang that the API names."""
    missing = [
        gang for code in ON_THE_BOARD for gang in play.installation.gangs(cluster="k135", code=code)
    ]
    page = play.installation.page("/?show_finished=1&cluster=k135&health=blocked")
    assert missing
    assert not [item["message"] for item in missing if html.escape(item["message"]) not in page]
