"""The benchmark runs and says its figures; on its fleet each node asked alone gives the same verdicts."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from gangboard.diagnosis.engine import assess
from gangboard.domain.placement_result import PlacementResult
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import Verdict
from gangboard.facts.gang import Gang
from gangboard.facts.unit import Unit
from tests.placement import node_assessment
from tools.placement_benchmark import Bench, facts_of
from tools.placement_fleet import make_fleet

SMALL = ("--nodes", "60", "--pods", "400", "--gangs", "30", "--shapes", "20", "--untimed")


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("benchmark_placement", *arguments, stdout=out, no_color=True)
    return out.getvalue()


def test_the_benchmark_describes_its_fleet() -> None:
    out = run(*SMALL, "--seed", "5")
    assert "made with seed 5: 60 nodes, 400 pods, 30 gangs, 20 shapes" in out


def test_the_benchmark_of_plans_prints_few_and_many_requests() -> None:
    out = StringIO()
    sizes = ("--nodes", "150", "--gangs", "40", "--shapes", "20", "--seconds", "30")
    call_command("benchmark_plan", *sizes, stdout=out, no_color=True)
    few, many = out.getvalue().splitlines()
    assert few.startswith("150 nodes, ")
    assert "placements" in many
    assert " 20 different requests" in few or " 19 different requests" in few


def test_the_benchmark_of_plans_refuses_zero_and_reports_a_plan_without_steps() -> None:
    with pytest.raises(CommandError, match="above zero"):
        call_command("benchmark_plan", "--nodes", "0", stdout=StringIO())
    sizes = ("--nodes", "60", "--gangs", "40", "--shapes", "20", "--seconds", "0.000001")
    with pytest.raises(CommandError, match="no step for 60 nodes"):
        call_command("benchmark_plan", *sizes, stdout=StringIO())


def judge_node_by_node(facts: Gang) -> Verdict | None:
    """The verdict with each node asked alone; None where that gives up."""
    placings: list[PlacementResult] = []

    def arithmetic(unit: Unit) -> PlacementResult | None:
        result = node_assessment.placing_of(unit)
        if result is not None:
            placings.append(result)
        return result

    verdict = assess(facts, arithmetic=arithmetic)
    assert placings
    return None if any(map(node_assessment.gave_up, placings)) else verdict


def test_per_node_placement_gives_the_same_verdicts() -> None:
    fleet = make_fleet(nodes=60, pods=400, gangs=30, shapes=20, seed=5)
    room = Bench(fleet).cold()
    facts = [facts_of(gang, room) for gang in fleet.pending]
    plain = {index: judge_node_by_node(item) for index, item in enumerate(facts)}
    decided = {index: verdict for index, verdict in plain.items() if verdict is not None}
    assert len(decided) > 20
    assert decided == {index: assess(facts[index]) for index in decided}


def test_a_slow_placement_is_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.management.commands.benchmark_placement.ONE_SECONDS", 0.0)
    with pytest.raises(CommandError, match="one gang took"):
        run(*SMALL[:-1])


def test_a_size_of_zero_is_refused() -> None:
    with pytest.raises(CommandError, match="at least 1"):
        run("--nodes", "0")


def test_the_fleet_matches_its_description_and_seed() -> None:
    sizes: dict[str, Any] = {"nodes": 48, "pods": 300, "gangs": 60, "shapes": 40}
    fleet = make_fleet(**sizes, seed=3)
    assert fleet == make_fleet(**sizes, seed=3)
    assert fleet != make_fleet(**sizes, seed=4)
    assert (len(fleet.nodes), len(fleet.pods), len(fleet.pending)) == (48, 300, 60)
    kinds = {(frozenset(node.allocatable.items()), node.taints) for node in fleet.nodes}
    assert len(kinds) >= 20
    requested = {
        (tuple(sorted(pod.requests.items())), pod.needs)
        for gang in fleet.pending
        for pod in gang.objects
        if isinstance(pod, Pod)
    }
    assert len(requested) == 40
    room = Bench(fleet).cold()
    for node in room.nodes:
        for resource, amount in node.now.amounts.items():
            assert amount <= node.allocatable[resource], (node.name, resource)
