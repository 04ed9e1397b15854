"""Small clusters and gangs that were drawn once, and cases that were disagreements."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gangboard.domain.placement_result import FitAnswer
from tests.agreement import kept_cases as kept
from tests.agreement.arena import Judgement
from tests.agreement.cases import Ask, PodSetSpec, SpreadSpec
from tests.agreement.conftest import Judged
from tests.agreement.drawing import make_cases
from tests.agreement.figures import Figures, Outcome
from tests.agreement.kept_cases import made_case, pod_set, small_node
from tests.agreement.reckoning import is_boundary, most


def test_arithmetic_and_scheduler_agree(advised: Judged) -> None:
    """No drawn case is wrong, and at most one in twenty is unknown."""
    figures = Figures(advised.of(kept.DRAWN))
    print(*figures.lines(), *figures.disagreements, sep="\n")
    assert len(figures.results) == len(kept.DRAWN) >= 20
    assert not figures.faults, "\n".join(figures.faults)


def test_pods_in_the_same_rack_are_never_wrong(judged: Judged) -> None:
    """Pods of a set share no rack. Where members of several kinds are in one set we cannot tell."""
    results = judged.of(kept.RACKS)
    outcomes = Counter(result.outcome for result in results)
    print(outcomes)
    assert not [result for result in results if result.outcome is Outcome.WRONG]
    assert outcomes[Outcome.AGREED] >= len(results) * 3 / 4
    answers = {result.ours.answer for result in results if result.outcome is Outcome.AGREED}
    assert answers == {FitAnswer.YES, FitAnswer.NO}


def test_two_spread_constraints_are_never_wrong(judged: Judged) -> None:
    """A fit is never claimed. A misfit is claimed for nearly all refused gangs."""
    results = judged.of(kept.SPREADS)
    outcomes = Counter((result.played.judgement, result.outcome) for result in results)
    print(outcomes)
    assert not [result for result in results if result.outcome is Outcome.WRONG]
    assert outcomes[Judgement.FITS, Outcome.CANNOT_TELL] >= len(results) / 4
    assert outcomes[Judgement.REFUSED, Outcome.AGREED] >= len(results) / 3
    assert outcomes[Judgement.REFUSED, Outcome.CANNOT_TELL] <= len(results) / 12


def test_draws_are_fair_and_repeatable() -> None:
    cases = list(make_cases(11, 200))
    assert cases == list(make_cases(11, 200))
    assert 0.3 <= sum(most(case) >= case.quorum for case in cases) / 200 <= 0.7
    assert sum(map(is_boundary, cases)) / 200 >= 0.5
    assert sum(case.is_mixed for case in cases) / 200 >= 0.4
    assert all(2 <= len(case.nodes) <= 6 and 1 <= len(case.pod_sets) <= 3 for case in cases)
    # Anti-affinity, and that by a rule of one side only.
    asks = [
        [run for node in case.nodes for run in node.runs]
        + [pod_set.ask for pod_set in case.pod_sets]
        for case in cases
    ]
    assert sum(any(request.avoided for request in item) for item in asks) / 200 >= 0.1
    assert (
        sum(any(request.apart and request.bystander for request in item) for item in asks) / 200
        >= 0.05
    )
    # Topology spread, half of which at least with pods that count already.
    spread = [case for case in cases if case.is_spread]
    assert len(spread) / 200 >= 0.12
    assert sum(any(run.counted for node in item.nodes for run in node.runs) for item in spread) >= (
        len(spread) / 2
    )


def test_a_case_has_the_kind_that_was_drawn() -> None:
    """The reckoning itself: two nodes with four GPUs each, of which one is taken on one."""
    nodes = (small_node("n0", gpus=4), small_node("n1", gpus=4, runs=(Ask(gpus=1),)))
    assert most(made_case(nodes, pod_set("w", 4, gpus=2), quorum=3)) == 3
    assert is_boundary(made_case(nodes, pod_set("w", 4, gpus=2), quorum=4))
    assert not is_boundary(made_case(nodes, pod_set("w", 4, gpus=2), quorum=2))
    assert most(made_case(nodes, pod_set("w", 1, gpus=4), pod_set("p", 4, gpus=1), quorum=5)) == 4


def test_the_reckoning_of_spread() -> None:
    """Rack b takes two pods, and rack a may have one more than b."""
    old = Ask(gpus=1, counted=True)
    nodes = (
        replace(small_node("n0", gpus=8), rack="a"),
        replace(small_node("n1", gpus=2), rack="b"),
    )
    member = PodSetSpec("w", 8, Ask(gpus=1, counted=True), spread=SpreadSpec("rack"))
    assert most(made_case(nodes, member, quorum=8)) == 2 + 3
    held = (replace(nodes[0], runs=(old, old)), nodes[1])
    assert most(made_case(held, member, quorum=8)) == 2 + 1
    assert most(made_case(nodes, replace(member, spread=SpreadSpec("rack", 1, 3)), quorum=8)) == 2


# Disagreements, kept: those that were drawn, then those that were made to show one thing.


def test_drawn_disagreements_are_never_ours(judged: Judged) -> None:
    """Nodes of equal score are chosen by chance: another time the scheduler may find the way."""
    for result in judged.of(kept.ORDER_MISSED):
        assert result.ours.answer is FitAnswer.YES, result
        assert result.outcome in (Outcome.MISSED, Outcome.AGREED), result


def test_the_scheduler_settles_facts_that_nodes_do_not_show(judged: Judged) -> None:
    """For a gang in one rack, the scheduler reports the obstacles of any rack, so the answer is unknown."""
    for result in judged.of(kept.SETTLED):
        assert result.played.judgement is Judgement.REFUSED, result
        if "Insufficient nvidia.com/gpu" in result.played.words:
            assert result.ours.answer is FitAnswer.NO, result
            assert result.outcome is Outcome.AGREED, result
        else:
            assert result.played.case.topology, result
            assert result.ours.answer is FitAnswer.CANNOT_TELL, result


def test_spread_small_pods_block_a_large_pod(judged: Judged) -> None:
    """The scheduler puts each small pod on the emptier node, so no node is free for the large one.

    Together on one node they would leave the other free. The scheduler takes pod after pod and never
    backtracks (podGroupSchedulingDefaultAlgorithm, 1.37.0): it refuses a gang that fits, and
    places the same pods if each is assigned its node. Our answer is that it fits, and that is true.

    """
    result = judged.results[kept.SMALL_FIRST]
    assert result.played.judgement is Judgement.REFUSED, result
    assert result.ours.answer is FitAnswer.YES, result
    assert result.outcome is Outcome.MISSED, result


def test_the_large_pod_first_and_it_is_placed(judged: Judged) -> None:
    """The same gang, its large member made first: the order in which pods are made decides."""
    result = judged.results[kept.LARGE_FIRST]
    assert result.played.judgement is Judgement.FITS, result
    assert result.outcome is Outcome.AGREED, result


def test_a_pod_with_only_the_label_counts(judged: Judged) -> None:
    """The member must avoid a pod with that label, independent of that pod's rules."""
    result = judged.results[kept.ONLY_THE_LABEL]
    assert result.played.judgement is Judgement.REFUSED, result
    assert result.outcome is Outcome.AGREED, result


def test_a_rule_of_a_running_pod_counts(judged: Judged) -> None:
    """No pod with that label may come to a pod that has the rule."""
    result = judged.results[kept.RULE_OF_A_RUNNING_POD]
    assert result.played.judgement is Judgement.REFUSED, result
    assert result.outcome is Outcome.AGREED, result


def test_pods_without_rules_share_a_node(judged: Judged) -> None:
    result = judged.results[kept.NO_RULE]
    assert result.played.judgement is Judgement.FITS, result
    assert result.outcome is Outcome.AGREED, result


def test_members_with_a_rule_about_others_share_a_node_with_their_like_only(judged: Judged) -> None:
    """The rule of the first is about the second: two of a kind are together, both kinds are not."""
    item = judged.results[kept.SHUNNED_ON_ONE_NODE]
    assert item.played.judgement is Judgement.REFUSED, item
    assert item.outcome is Outcome.AGREED, item


def test_members_with_a_rule_about_others_find_two_nodes(judged: Judged) -> None:
    two = judged.results[kept.SHUNNED_ON_TWO_NODES]
    assert two.ours.answer is FitAnswer.YES, two
    assert two.outcome in (Outcome.AGREED, Outcome.MISSED), two
