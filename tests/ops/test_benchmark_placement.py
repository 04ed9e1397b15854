"""The benchmark runs, says its figures, and holds the quick way to the plain one."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from gangboard.domain.pod import Pod
from gangboard.ops import placement_benchmark
from gangboard.ops.placement_benchmark import Bench
from gangboard.ops.placement_fleet import make_fleet

SMALL = ("--nodes", "60", "--pods", "400", "--gangs", "30", "--shapes", "20", "--untimed")


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("benchmark_placement", *arguments, stdout=out, no_color=True)
    return out.getvalue()


def test_both_ways_give_the_same_verdicts() -> None:
    out = run(*SMALL, "--compared", "30", "--seed", "5")
    assert "made with seed 5: 60 nodes, 400 pods, 30 gangs, 20 shapes" in out
    same, different, gives_up = [
        int(part.split()[0]) for part in out.rpartition("by the plain way: ")[2].split(", ")
    ]
    assert same + gives_up == 30
    assert different == 0
    assert same > 20


def test_a_verdict_that_differs_is_a_miss_with_the_name_of_its_gang(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(placement_benchmark._Plain, "placing_of", lambda *_: None)
    with pytest.raises(CommandError, match="the plain way differs for waits-"):
        run(*SMALL, "--compared", "3")


def test_what_takes_too_long_is_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gangboard.ops.management.commands.benchmark_placement.ONE_SECONDS", 0.0)
    with pytest.raises(CommandError, match="one gang took"):
        run(*SMALL[:-1], "--compared", "0")


def test_a_size_of_nothing_is_refused() -> None:
    with pytest.raises(CommandError, match="at least 1"):
        run("--nodes", "0")


def test_the_fleet_is_as_large_and_as_mixed_as_it_says_and_the_same_for_a_seed() -> None:
    sizes: dict[str, Any] = {"nodes": 48, "pods": 300, "gangs": 60, "shapes": 40}
    fleet = make_fleet(**sizes, seed=3)
    assert fleet == make_fleet(**sizes, seed=3)
    assert fleet != make_fleet(**sizes, seed=4)
    assert (len(fleet.nodes), len(fleet.pods), len(fleet.pending)) == (48, 300, 60)
    kinds = {(frozenset(node.allocatable.items()), node.taints) for node in fleet.nodes}
    assert len(kinds) >= 20
    asked = {
        (tuple(sorted(pod.requests.items())), pod.needs)
        for gang in fleet.pending
        for pod in gang.objects
        if isinstance(pod, Pod)
    }
    assert len(asked) == 40
    room = Bench(fleet)._cold()
    for node in room.nodes:
        for resource, amount in node.now.amounts.items():
            assert amount <= node.allocatable[resource], (node.name, resource)
