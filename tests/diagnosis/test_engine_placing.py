"""Arithmetic before the rules: for whom it is done, what rules and the verdict see of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gangboard.diagnosis.engine import assess
from gangboard.domain.capacity import ClusterCapacity, NodeInfo
from gangboard.domain.health import Health, Stage
from gangboard.domain.placement_result import PlacementCause, PlacementResult
from gangboard.domain.pod_constraints import HOSTNAME
from gangboard.domain.verdict import Finding
from gangboard.facts.gang import Gang
from gangboard.facts.unit import Unit
from gangboard.plugins import reasons
from gangboard.plugins.rule import GangRule, UnitRule
from tests.domain_objects import NOW, a_job, pods_of
from tests.gangs import assemble

ROOM = ClusterCapacity(
    (NodeInfo("n0", {HOSTNAME: "n0"}, allocatable={"cpu": 4000, "pods": 110}),),
)
JOB = a_job("train", pods=3, ask="3")


def gang(*pods: Any, **fields: Any) -> Gang:
    return assemble(JOB, pods, **{"now": NOW, "room": ROOM, "kubernetes": (1, 37), **fields})


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[PlacementResult | None]:
    """Return the placement results that the only rule gets."""
    visible: list[PlacementResult | None] = []

    def look(unit: Unit) -> Finding:
        visible.append(unit.placing)
        return Finding("seen", Health.WAITING, Stage.PLACEMENT, "Seen", "Seen.", unit.name)

    only = UnitRule("seen", Stage.PLACEMENT, "Seen", 1, look)
    monkeypatch.setattr(reasons, "rules", lambda: (only,))
    _clear_caches(monkeypatch, only)
    return visible


def _clear_caches(monkeypatch: pytest.MonkeyPatch, *rules: GangRule | UnitRule) -> None:
    gangs = tuple(rule for rule in rules if isinstance(rule, GangRule))
    units = tuple(rule for rule in rules if isinstance(rule, UnitRule))
    monkeypatch.setattr(reasons, "gang_rules", lambda: gangs)
    monkeypatch.setattr(reasons, "unit_rules", lambda: units)


def test_members_that_wait_are_placed_before_the_rules_look(
    seen: list[PlacementResult | None],
) -> None:
    facts = gang(*pods_of(JOB, 3))
    assert facts.cluster.kubernetes == (1, 37)
    verdict = assess(facts)
    (placing,) = {id(item): item for item in seen}.values()
    assert placing is not None
    assert placing.assessment is not None
    # Nine cores on a node of four: even empty it takes one member.
    assert placing.assessment.cause is PlacementCause.TOO_LARGE
    (row,) = verdict.fit
    assert (row.waiting, row.requests, row.fits_now, row.fits_empty, row.nodes) == (
        3,
        {"cpu": "3"},
        1,
        1,
        1,
    )


def test_placement_is_not_computed_without_waiting_pods(seen: list[PlacementResult | None]) -> None:
    assert assess(gang(*pods_of(JOB, 3, on="n0"))).fit == ()
    assert set(seen) == {None}


def test_unobserved_nodes_are_reported_in_a_row(
    seen: list[PlacementResult | None],
) -> None:
    verdict = assess(gang(*pods_of(JOB, 3), room=ClusterCapacity(why="nodes: forbidden")))
    (row,) = verdict.fit
    assert row.why == "nodes: forbidden"
    assert seen[0] is not None
    assert seen[0].assessment is None


def test_a_gang_that_a_gang_rule_decides_is_not_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Finding("failed", Health.FAILED, Stage.RUN, "Failed", "It failed.")
    _clear_caches(monkeypatch, GangRule("failed", Stage.RUN, "Failed", 1, lambda facts: failed))
    assert assess(gang(*pods_of(JOB, 3)), arithmetic=_never).fit == ()


def _never(unit: Unit) -> PlacementResult | None:
    raise AssertionError(unit.name)


def test_a_defect_in_placement_is_reported_and_the_rules_run(
    seen: list[PlacementResult | None],
) -> None:
    breaks: Callable[[Unit], PlacementResult | None] = _never
    verdict = assess(gang(*pods_of(JOB, 3)), arithmetic=breaks)
    assert [finding.code for finding in verdict.findings] == ["seen", "not-observed"]
    assert "arithmetic of placement of train" in verdict.findings[1].message
    assert seen[0] is not None
    assert "defect" in seen[0].why
    assert verdict.fit == ()
