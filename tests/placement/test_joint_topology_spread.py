"""Several topology spread constraints: no placement order exceeds the reported limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from gangboard.domain.capacity import NodeInfo, PlacementRequest, PodSet, Requested, Shape
from gangboard.domain.placement_result import Constraint, Fit, FitAnswer, PlacementCause, When
from gangboard.domain.pod_constraints import HOSTNAME, Spread
from gangboard.placement.assess import assess
from gangboard.placement.gang_fit import check_fit
from tests.placement import node_by_node
from tests.placement.making import S, T, gang, node, shape
from tests.placement.reference import spread_ends
from tests.placement.test_topology_spread import WAYS, ZONE, rooms, shapes

RACK = "rack"


@st.composite
def constraints(draw: st.DrawFn) -> tuple[Spread, ...]:
    keys = draw(st.lists(st.sampled_from([ZONE, HOSTNAME, RACK]), min_size=2, unique=True))
    return tuple(
        Spread(
            key,
            draw(st.sampled_from([S, S, T])),
            draw(st.sampled_from([1, 1, 2])),
            draw(st.sampled_from([1, 1, 2, 3])),
            draw(st.booleans()),
            draw(st.booleans()),
            draw(st.sampled_from([True, True, True, False])),
        )
        for key in keys
    )


@st.composite
def clusters(draw: st.DrawFn) -> list[NodeInfo]:
    result = []
    for index in range(draw(st.integers(1, 4))):
        item = draw(rooms(f"n{index}"))
        rack = draw(st.sampled_from(["p", "q", "p", "q", ""]))
        result.append(replace(item, labels={**item.labels, **({RACK: rack} if rack else {})}))
    return result


@given(shapes(), constraints(), st.integers(1, 6), clusters(), st.sampled_from(When), WAYS)
def test_no_order_of_placing_comes_to_more(
    one: Shape,
    spreads: tuple[Spread, ...],
    count: int,
    nodes: list[NodeInfo],
    when: When,
    fit: Callable[..., Fit],
) -> None:
    one = replace(one, spreads=spreads)
    most = max(sum(final_state) for final_state in spread_ends(one, count, nodes, when))
    request = PlacementRequest((PodSet(one, count),))
    refused = [
        target
        for target in range(1, count + 1)
        if fit(request, nodes, when, target).answer is FitAnswer.NO
    ]
    assert not any(target <= most for target in refused)
    # A shortage is nearly always proven: see the share of the first of these.
    if most < count:
        event("proven" if most + 1 in refused else "not proven")
    for target in set(range(1, count + 1)) - set(refused):
        result = fit(request, nodes, when, target)
        assert (result.answer, result.but_for) == (FitAnswer.CANNOT_TELL, ("spread constraints",))


# Expected counts

BOTH = (Spread(ZONE, S), Spread(HOSTNAME, S))


def zoned(**zones: list[int]) -> list[NodeInfo]:
    """Nodes with so many free GPUs in each zone."""
    return [
        node(f"{zone}{index}", gpu=gpus, labels={ZONE: zone})
        for zone, free in zones.items()
        for index, gpus in enumerate(free)
    ]


def at_most(item: Shape, nodes: list[NodeInfo], count: int = 40, when: When = When.CURRENT) -> int:
    answers = [
        check_fit(gang(count, item), nodes, when, index).answer for index in range(1, count + 1)
    ]
    return answers.index(FitAnswer.NO) if FitAnswer.NO in answers else count


@pytest.mark.parametrize("fit", [check_fit, node_by_node.fits])
def test_the_sum_of_single_constraints_exceeds_the_joint_limit(fit: Callable[..., Fit]) -> None:
    # Six over zones is 3 + 3, over hosts 2 + 2 + 2. With two hosts in a and one in b both end at 5:
    # with (2 1 | 2) a third on b0 is two more than the emptiest host, a fourth in a two more than b.
    nodes = zoned(a=[4, 4], b=[4])
    for item in BOTH:
        assert (
            check_fit(gang(6, shape(gpu=1, spreads=(item,))), nodes, When.CURRENT, 6).answer
            is FitAnswer.YES
        )
    request = gang(6, shape(gpu=1, spreads=BOTH))
    assert fit(request, nodes, When.CURRENT, 6).answer is FitAnswer.NO
    assert fit(request, nodes, When.CURRENT, 5).answer is FitAnswer.CANNOT_TELL


def test_three_hosts_against_one() -> None:
    # (1 1 0 | 1): the third host of a would be the third pod of a next to one of b. A second pod on
    # b0 would be two more than on that host. (1 1 1 | 2) is balanced but unreachable.
    assert at_most(shape(gpu=1, spreads=BOTH), zoned(a=[4, 4, 4], b=[4])) == 3
    # A wider skew of hosts: b0 comes to 2 before (1 1 1) and to 3 after it, then a to 4 (2 1 1).
    wide = (BOTH[0], replace(BOTH[1], max_skew=2))
    assert at_most(shape(gpu=1, spreads=wide), zoned(a=[4, 4, 4], b=[4])) == 7


def test_agreeing_constraints_lose_no_capacity() -> None:
    assert at_most(shape(gpu=1, spreads=BOTH), zoned(a=[4, 4], b=[4, 4])) == 16


def test_each_constraint_alone_is_an_upper_bound() -> None:
    # Zone b has room for one: a takes two, whatever hosts allow.
    assert at_most(shape(gpu=1, spreads=BOTH), zoned(a=[4, 4], b=[1])) == 3


def test_a_node_without_one_label_is_no_domain_of_the_other_constraint() -> None:
    # n9 has no zone: it takes none, and does not hold the other hosts back.
    nodes = [*zoned(a=[4], b=[4]), node("n9", gpu=0)]
    assert at_most(shape(gpu=1, spreads=BOTH), nodes) == 8


def test_existing_pods_count_for_both_constraints() -> None:
    # a0 has three: with b0 and b1 empty, b takes 2 + 2 by hosts, and a none until hosts have 3.
    nodes = zoned(a=[4], b=[2, 2])
    nodes[0] = replace(nodes[0], now=Requested({}, 3, matched_terms={S: 3}))
    assert at_most(shape(gpu=1, spreads=BOTH), nodes) == 4
    # Without them: (2 | 2 1). A third on a0 is two more than on the last host, a fourth in b than in a.
    assert at_most(shape(gpu=1, spreads=BOTH), nodes, when=When.DRAINED) == 5


def test_crossing_labels_are_bounded_separately() -> None:
    # Racks p and q lie in both zones: each constraint alone lets all four in, and so do both.
    nodes = [
        node(f"{zone}{rack}", gpu=1, labels={ZONE: zone, RACK: rack})
        for zone in "ab"
        for rack in "pq"
    ]
    across = (Spread(ZONE, S), Spread(RACK, S))
    assert at_most(shape(gpu=1, spreads=across), nodes) == 4
    assert at_most(shape(gpu=1, spreads=across), nodes[:3]) == 3


def test_joint_spread_is_the_cause_and_the_pods_fit_otherwise() -> None:
    result = assess(gang(6, shape(gpu=1, spreads=BOTH)), zoned(a=[4, 4], b=[4]))
    assert (result.cause, result.constraints) == (PlacementCause.CONSTRAINED, (Constraint.SPREAD,))
    assert result.empty.answer is FitAnswer.NO
    one_host = [*zoned(a=[4]), node("b0", used=4, labels={ZONE: "b"})]
    result = assess(gang(4, shape(gpu=1, spreads=BOTH)), one_host)
    assert (result.cause, result.constraints) == (PlacementCause.CONSTRAINED, (Constraint.SPREAD,))
    # Whether the scheduler would come to 2 + 2 on empty nodes is not claimed, and that it cannot neither.
    assert result.empty.answer is FitAnswer.CANNOT_TELL


def test_a_shortage_precedes_joint_spread() -> None:
    result = assess(gang(9, shape(gpu=1, spreads=BOTH)), zoned(a=[4], b=[4]))
    assert result.cause is PlacementCause.TOO_LARGE
