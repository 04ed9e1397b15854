"""Plans of drawn clusters, carried out step by step on a real cluster: the promised gangs run."""

from __future__ import annotations

from collections import Counter

from gangboard.domain.cluster_plan import PlanStepKind
from tests.agreement.arena import Arena
from tests.agreement.plans import make_plan_case
from tests.agreement.plans_play import PlanEnd, lines, play

SEED, NUMBERS = 4, (6, 8, 14, 18, 19, 25, 33, 36, 39, 40, 42, 45, 53, 55, 74)
"""Cases whose plan promised a gang, and kept its promise, when 110 were drawn."""
PROMISING = 12
"""The fewest of them with a promise. The scheduler places the first Jobs by chance, so one may have none."""


def test_the_gangs_that_a_plan_promises_run(arena: Arena) -> None:
    outcomes = list(play(arena, [make_plan_case(SEED, number) for number in NUMBERS]))
    print(*lines(outcomes), sep="\n")
    broken = [outcome.words for outcome in outcomes if outcome.end is PlanEnd.BROKEN]
    assert not broken, "\n".join(broken)
    assert sum(outcome.end is PlanEnd.KEPT for outcome in outcomes) >= PROMISING
    kinds = Counter(kind for outcome in outcomes for kind in outcome.kinds)
    assert {PlanStepKind.UNCORDON, PlanStepKind.END_INCOMPLETE, PlanStepKind.MOVE_PODS} <= set(
        kinds
    )


def test_the_draw_of_clusters_is_fair_and_repeatable() -> None:
    cases = [make_plan_case(11, number) for number in range(50)]
    assert cases[:5] == [make_plan_case(11, number) for number in range(5)]
    nodes = [node for case in cases for node in case.nodes]
    assert 0.15 <= sum(node.cordoned for node in nodes) / len(nodes) <= 0.35
    assert 0.05 <= sum(node.tainted for node in nodes) / len(nodes) <= 0.2
    assert sum(bool(node.replicas) for node in nodes) / len(nodes) >= 0.3
    assert sum(bool(case.first) for case in cases) / len(cases) >= 0.2
    assert not [node for node in nodes if node.fixed + sum(node.replicas) > node.gpus]
