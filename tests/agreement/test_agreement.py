"""Forty small clusters and gangs that were drawn once, and cases that were disagreements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from gangboard.domain.placing import FitAnswer
from tests.agreement.arena import Arena, Judgement
from tests.agreement.cases import Ask, Case, NodeSpec, PodSetSpec, SpreadSpec
from tests.agreement.drawing import make_case, make_cases, make_rack_case, make_spreads_case
from tests.agreement.figures import Figures, Outcome, Result, compare
from tests.agreement.reckoning import is_boundary, most
from tests.controlplane.cluster import ControlPlane

SEEDS = (7, 2026)
CASES_OF_EACH = 20
RACK_SEED = 40326
SPREADS_SEED = 51127


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


def test_who_shares_a_rack_is_never_wrong(arena: Arena) -> None:
    """Pods of a set share no rack. Where members of several kinds are in one set we cannot tell."""
    results = list(compare(arena, [make_rack_case(RACK_SEED, number) for number in range(16)]))
    outcomes = Counter(one.outcome for one in results)
    print(outcomes)
    assert not [one for one in results if one.outcome is Outcome.WRONG]
    assert outcomes[Outcome.AGREED] >= 12
    answers = {one.ours.answer for one in results if one.outcome is Outcome.AGREED}
    assert answers == {FitAnswer.YES, FitAnswer.NO}


def test_two_spread_constraints_are_never_wrong(arena: Arena) -> None:
    """That they fit is never said; that they do not is said of nearly all that are refused."""
    results = list(
        compare(arena, [make_spreads_case(SPREADS_SEED, number) for number in range(24)])
    )
    outcomes = Counter((one.played.judgement, one.outcome) for one in results)
    print(outcomes)
    assert not [one for one in results if one.outcome is Outcome.WRONG]
    assert outcomes[Judgement.FITS, Outcome.CANNOT_TELL] >= 6
    assert outcomes[Judgement.REFUSED, Outcome.AGREED] >= 8
    assert outcomes[Judgement.REFUSED, Outcome.CANNOT_TELL] <= 2


def test_draws_are_fair_and_repeatable() -> None:
    cases = list(make_cases(11, 200))
    assert cases == list(make_cases(11, 200))
    assert 0.3 <= sum(most(case) >= case.quorum for case in cases) / 200 <= 0.7
    assert sum(map(is_boundary, cases)) / 200 >= 0.5
    assert sum(case.is_mixed for case in cases) / 200 >= 0.4
    assert all(2 <= len(case.nodes) <= 6 and 1 <= len(case.pod_sets) <= 3 for case in cases)
    # Anti-affinity, and that by a rule of one side only.
    asks = [
        [ask for node in case.nodes for ask in node.runs]
        + [pod_set.ask for pod_set in case.pod_sets]
        for case in cases
    ]
    assert sum(any(ask.avoided for ask in one) for one in asks) / 200 >= 0.1
    assert sum(any(ask.apart and ask.bystander for ask in one) for one in asks) / 200 >= 0.05
    # Topology spread, half of which at least with pods that count already.
    spread = [case for case in cases if case.is_spread]
    assert len(spread) / 200 >= 0.12
    assert sum(any(ask.counted for node in one.nodes for ask in node.runs) for one in spread) >= (
        len(spread) / 2
    )


def test_a_case_has_the_kind_that_was_drawn() -> None:
    """The reckoning itself: two nodes with four GPUs each, of which one is taken on one."""
    nodes = (_node("kept-n0", gpus=4), _node("kept-n1", gpus=4, runs=(Ask(gpus=1),)))
    assert most(_case(nodes, _pod_set("w", 4, gpus=2), quorum=3)) == 3
    assert is_boundary(_case(nodes, _pod_set("w", 4, gpus=2), quorum=4))
    assert not is_boundary(_case(nodes, _pod_set("w", 4, gpus=2), quorum=2))
    assert most(_case(nodes, _pod_set("w", 1, gpus=4), _pod_set("p", 4, gpus=1), quorum=5)) == 4


def test_the_reckoning_of_spread() -> None:
    """Rack b takes two pods, and rack a may have one more than b."""
    old = Ask(gpus=1, counted=True)
    nodes = (
        replace(_node("kept-n0", gpus=8), rack="a"),
        replace(_node("kept-n1", gpus=2), rack="b"),
    )
    member = PodSetSpec("w", 8, Ask(gpus=1, counted=True), spread=SpreadSpec("rack"))
    assert most(_case(nodes, member, quorum=8)) == 2 + 3
    held = (replace(nodes[0], runs=(old, old)), nodes[1])
    assert most(_case(held, member, quorum=8)) == 2 + 1
    assert most(_case(nodes, replace(member, spread=SpreadSpec("rack", 1, 3)), quorum=8)) == 2


# Disagreements, kept: those that were drawn, then those that were made to show one thing.

DRAWN = (
    *((709755, number) for number in (29, 72, 210, 236, 295)),
    *((514373, number) for number in (131, 133, 208, 238, 292)),
    *((568696, number) for number in (101, 120, 145, 285, 297)),
    *((320102, number) for number in (77, 92, 134, 216, 242, 269, 274, 292)),
    *((524054, number) for number in (20, 22, 45, 61, 104, 119, 133, 168, 187, 249, 297)),
)
"""Seed and number. The scheduler refused each of these, and bound the same pods when each was pinned
to the node that we name: its order missed the placement."""


def test_drawn_disagreements_are_never_ours(arena: Arena) -> None:
    """Nodes of equal score are chosen by chance: another time the scheduler may find the way."""
    results = list(compare(arena, [make_case(seed, number) for seed, number in DRAWN]))
    assert len(results) == len(DRAWN)
    for result in results:
        assert result.ours.answer is FitAnswer.YES, result
        assert result.outcome in (Outcome.MISSED, Outcome.AGREED), result


SETTLED = tuple((514373, number) for number in (20, 167, 207, 281, 291))
"""No node that the pods select has a GPU: whether a DeviceClass serves some there only the scheduler's
`Insufficient nvidia.com/gpu` tells (placement/devices.py)."""


def test_what_the_scheduler_says_settles_what_nodes_do_not(arena: Arena) -> None:
    results = list(compare(arena, [make_case(seed, number) for seed, number in SETTLED]))
    assert len(results) == len(SETTLED)
    for result in results:
        assert result.played.judgement is Judgement.REFUSED, result
        assert result.ours.answer is FitAnswer.NO, result
        assert result.outcome is Outcome.AGREED, result


def test_small_pods_that_are_spread_keep_a_large_one_out(arena: Arena) -> None:
    """The scheduler puts each small pod on the emptier node; then no node is whole for the large one.

    Placed together on one node they would leave the other free. It takes pod after pod and never
    takes one back (podGroupSchedulingDefaultAlgorithm, 1.37.0): it refuses a gang that fits, and
    places the same pods when each is told its node. Ours says that it fits, and that is true.
    """
    nodes = (_node("kept-n0", cpu=4000), _node("kept-n1", cpu=4000))
    case = _case(nodes, _pod_set("small", 2, cpu=1000), _pod_set("large", 1, cpu=4000), quorum=3)
    result = _play(arena, case)
    assert result.played.judgement is Judgement.REFUSED, result
    assert result.ours.answer is FitAnswer.YES, result
    assert result.outcome is Outcome.MISSED, result


def test_the_large_pod_first_and_it_is_placed(arena: Arena) -> None:
    """The same gang, its large member made first: the order in which pods are made decides."""
    nodes = (_node("kept-n0", cpu=4000), _node("kept-n1", cpu=4000))
    case = _case(nodes, _pod_set("large", 1, cpu=4000), _pod_set("small", 2, cpu=1000), quorum=3)
    result = _play(arena, case)
    assert result.played.judgement is Judgement.FITS, result
    assert result.outcome is Outcome.AGREED, result


def test_a_pod_that_has_only_the_label_is_seen(arena: Arena) -> None:
    """The member may not be where a pod with that label is, whatever that pod's rules."""
    old = Ask(cpu=100, apart="w", bystander=True)
    nodes = (_node("kept-n0", runs=(old,)), _node("kept-n1"))
    member = PodSetSpec("w", 2, Ask(cpu=100, apart="w"))
    result = _play(arena, _case(nodes, member, quorum=2))
    assert result.played.judgement is Judgement.REFUSED, result
    assert result.outcome is Outcome.AGREED, result


def test_a_rule_of_a_pod_that_runs_is_seen(arena: Arena) -> None:
    """No pod with that label may come to a pod that has the rule."""
    old = Ask(cpu=100, apart="w")
    nodes = (_node("kept-n0", runs=(old,)),)
    member = PodSetSpec("w", 2, Ask(cpu=100, apart="w", bystander=True))
    result = _play(arena, _case(nodes, member, quorum=2))
    assert result.played.judgement is Judgement.REFUSED, result
    assert result.outcome is Outcome.AGREED, result


def test_without_a_rule_on_either_side_they_share_a_node(arena: Arena) -> None:
    old = Ask(cpu=100, apart="w", bystander=True)
    member = PodSetSpec("w", 2, Ask(cpu=100, apart="w", bystander=True))
    result = _play(arena, _case((_node("kept-n0", runs=(old,)),), member, quorum=2))
    assert result.played.judgement is Judgement.FITS, result
    assert result.outcome is Outcome.AGREED, result


def test_members_with_a_rule_about_others_share_a_node_with_their_like_only(arena: Arena) -> None:
    """The rule of the first is about the second: two of a kind are together, both kinds are not."""
    first = PodSetSpec("w", 2, Ask(cpu=100, shuns="p"))
    second = PodSetSpec("p", 2, Ask(cpu=100, apart="p", bystander=True))
    one = _play(arena, _case((_node("kept-n0"),), first, second, quorum=4))
    assert one.played.judgement is Judgement.REFUSED, one
    assert one.outcome is Outcome.AGREED, one


def test_members_with_a_rule_about_others_find_two_nodes(arena: Arena) -> None:
    first = PodSetSpec("w", 2, Ask(cpu=100, shuns="p"))
    second = PodSetSpec("p", 2, Ask(cpu=100, apart="p", bystander=True))
    two = _play(arena, _case((_node("kept-n0"), _node("kept-n1")), first, second, quorum=4))
    assert two.ours.answer is FitAnswer.YES, two
    assert two.outcome in (Outcome.AGREED, Outcome.MISSED), two


def _play(arena: Arena, case: Case) -> Result:
    (result,) = compare(arena, [case])
    return result


def _node(
    name: str, *, cpu: int = 8000, gpus: int = 0, runs: tuple[Ask, ...] = (), pods: int = 110
) -> NodeSpec:
    return NodeSpec(name, cpu, 32768, gpus, pods, "ssd", runs=runs)


def _pod_set(name: str, count: int, *, cpu: int = 0, gpus: int = 0) -> PodSetSpec:
    return PodSetSpec(name, count, Ask(cpu=cpu, gpus=gpus))


def _case(nodes: tuple[NodeSpec, ...], *pod_sets: PodSetSpec, quorum: int) -> Case:
    order = tuple(pod_set.name for pod_set in pod_sets for _ in range(pod_set.count))
    return Case(0, 0, nodes, pod_sets, quorum, order=order)
