"""Forty small clusters and gangs that were drawn once, and cases that were disagreements."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gangboard.domain.placing import Answer
from tests.agreement.arena import Arena, Judgement
from tests.agreement.cases import Ask, Case, NodeSpec, PartySpec
from tests.agreement.drawing import make_cases
from tests.agreement.figures import Figures, Outcome, Result, compare
from tests.agreement.reckoning import is_boundary, most
from tests.controlplane.cluster import ControlPlane

SEEDS = (7, 2026)
CASES_OF_EACH = 20


@pytest.fixture
def arena(controlplane_137: ControlPlane) -> Iterator[Arena]:
    """Where cases play, cleared afterwards."""
    with Arena(controlplane_137.client) as found:
        yield found


def test_arithmetic_and_scheduler_agree(arena: Arena) -> None:
    """Of forty drawn cases none is wrong, and we cannot tell of two at most."""
    cases = [case for seed in SEEDS for case in make_cases(seed, CASES_OF_EACH)]
    figures = Figures(list(compare(arena, cases)))
    print(*figures.lines(), *figures.disagreements, sep="\n")
    assert len(figures.results) == len(cases)
    assert not figures.faults, "\n".join(figures.faults)


def test_draws_are_fair_and_repeatable() -> None:
    cases = list(make_cases(11, 200))
    assert cases == list(make_cases(11, 200))
    assert 0.3 <= sum(most(case) >= case.quorum for case in cases) / 200 <= 0.7
    assert sum(map(is_boundary, cases)) / 200 >= 0.5
    assert sum(case.is_mixed for case in cases) / 200 >= 0.4
    assert all(2 <= len(case.nodes) <= 6 and 1 <= len(case.parties) <= 3 for case in cases)


def test_a_case_has_the_kind_that_was_drawn() -> None:
    """The reckoning itself: two nodes with four GPUs each, of which one is taken on one."""
    nodes = (_node("kept-n0", gpus=4), _node("kept-n1", gpus=4, runs=(Ask(gpus=1),)))
    assert most(_case(nodes, _party("w", 4, gpus=2), quorum=3)) == 3
    assert is_boundary(_case(nodes, _party("w", 4, gpus=2), quorum=4))
    assert not is_boundary(_case(nodes, _party("w", 4, gpus=2), quorum=2))
    assert most(_case(nodes, _party("w", 1, gpus=4), _party("p", 4, gpus=1), quorum=5)) == 4


# Disagreements, kept by name.


def test_small_pods_that_are_spread_keep_a_large_one_out(arena: Arena) -> None:
    """The scheduler puts each small pod on the emptier node; then no node is whole for the large one.

    Placed together on one node they would leave the other free. It takes pod after pod and never
    takes one back (podGroupSchedulingDefaultAlgorithm, 1.37.0): it refuses a gang that fits, and
    places the same pods when each is told its node. Ours says that it fits, and that is true.
    """
    nodes = (_node("kept-n0", cpu=4000), _node("kept-n1", cpu=4000))
    case = _case(nodes, _party("small", 2, cpu=1000), _party("large", 1, cpu=4000), quorum=3)
    result = _play(arena, case)
    assert result.played.judgement is Judgement.REFUSED, result
    assert result.ours.answer is Answer.YES, result
    assert result.outcome is Outcome.MISSED, result


def test_the_large_pod_first_and_it_is_placed(arena: Arena) -> None:
    """The same gang, its large member made first: the order in which pods are made decides."""
    nodes = (_node("kept-n0", cpu=4000), _node("kept-n1", cpu=4000))
    case = _case(nodes, _party("large", 1, cpu=4000), _party("small", 2, cpu=1000), quorum=3)
    result = _play(arena, case)
    assert result.played.judgement is Judgement.FITS, result
    assert result.outcome is Outcome.AGREED, result


def test_a_pod_that_has_only_the_label_is_not_seen(arena: Arena) -> None:
    """A known disagreement: the member may not be where a pod with that label is, whatever its rules.

    Labels of pods that have no such rule are not kept, so by our count it fits. The verdict is
    right: it reads the scheduler's text (`pod-anti-affinity`).
    """
    old = Ask(cpu=100, apart="w", bystander=True)
    nodes = (_node("kept-n0", runs=(old,)), _node("kept-n1"))
    member = PartySpec("w", 2, Ask(cpu=100, apart="w"))
    result = _play(arena, _case(nodes, member, quorum=2))
    assert result.played.judgement is Judgement.REFUSED, result
    assert result.ours.answer is Answer.YES, "seen now: the other way round, and in the docs"


def test_a_rule_of_a_pod_that_runs_is_not_seen(arena: Arena) -> None:
    """A known disagreement: no pod with that label may come to a pod that has the rule."""
    old = Ask(cpu=100, apart="w")
    nodes = (_node("kept-n0", runs=(old,)),)
    member = PartySpec("w", 2, Ask(cpu=100, apart="w", bystander=True))
    result = _play(arena, _case(nodes, member, quorum=2))
    assert result.played.judgement is Judgement.REFUSED, result
    assert result.ours.answer is Answer.YES, "seen now: the other way round, and in the docs"


def _play(arena: Arena, case: Case) -> Result:
    (result,) = compare(arena, [case])
    return result


def _node(
    name: str, *, cpu: int = 8000, gpus: int = 0, runs: tuple[Ask, ...] = (), pods: int = 110
) -> NodeSpec:
    return NodeSpec(name, cpu, 32768, gpus, pods, "ssd", runs=runs)


def _party(name: str, count: int, *, cpu: int = 0, gpus: int = 0) -> PartySpec:
    return PartySpec(name, count, Ask(cpu=cpu, gpus=gpus))


def _case(nodes: tuple[NodeSpec, ...], *parties: PartySpec, quorum: int) -> Case:
    order = tuple(party.name for party in parties for _ in range(party.count))
    return Case(0, 0, nodes, parties, quorum, order=order)
