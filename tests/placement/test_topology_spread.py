"""Topology spread: the sum is what placing pod after pod comes to, in whatever order."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from gangboard.domain.capacity import NodeInfo, PlacementRequest, PodSet, Requested, Shape
from gangboard.domain.placement_result import Constraint, Fit, FitAnswer, PlacementCause, When
from gangboard.domain.pod_constraints import HOSTNAME, HostPort, Spread, Taint, Toleration
from gangboard.placement.assess import assess
from gangboard.placement.gang_fit import check_fit
from tests.placement import node_by_node
from tests.placement.making import S, T, gang, node, shape
from tests.placement.reference import spread_ends

ZONE = "zone"
EMPTY = {"cpu": 0, "gpu": 0}
WAYS = st.sampled_from([check_fit, node_by_node.fits])


@st.composite
def rooms(draw: st.DrawFn, name: str) -> NodeInfo:
    labels = {HOSTNAME: name, "pool": draw(st.sampled_from("xxxy"))}
    zone = draw(st.sampled_from(["a", "b", "c", "a", "b", ""]))
    pinned = Requested(
        EMPTY, matched_terms={S: draw(st.integers(0, 2))} if draw(st.booleans()) else {}
    )
    extra = draw(st.integers(0, 2))
    pods = draw(st.integers(0, 2))
    number = pinned.matched_terms.get(S, 0) + extra
    return NodeInfo(
        name,
        labels | ({ZONE: zone} if zone else {}),
        (Taint("t", "NoSchedule"),) if draw(st.integers(0, 5)) == 5 else (),
        draw(st.integers(0, 7)) == 7,
        allocatable={"cpu": draw(st.integers(0, 3)) * 1000, "gpu": 1, "pods": 4},
        now=Requested(EMPTY, pods, matched_terms={S: number} if number else {}),
        pinned=pinned,
    )


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    spread = Spread(
        draw(st.sampled_from([ZONE, ZONE, HOSTNAME])),
        S,
        draw(st.integers(1, 3)),
        draw(st.sampled_from([1, 1, 2, 3])),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.sampled_from([True, True, False])),
    )
    return Shape(
        "worker",
        {"cpu": Decimal(1), "gpu": Decimal(0)},
        {"pool": "x"} if draw(st.booleans()) else {},
        tolerations=(Toleration("t", "Exists"),) if draw(st.booleans()) else (),
        host_ports=frozenset({HostPort(80)} if draw(st.integers(0, 4)) == 4 else ()),
        anti_affinity=frozenset({T} if draw(st.integers(0, 4)) == 4 else ()),
        matched_terms=frozenset({T} if draw(st.integers(0, 4)) == 4 else ()),
        spreads=(spread,),
    )


@st.composite
def clusters(draw: st.DrawFn) -> list[NodeInfo]:
    return [draw(rooms(f"n{index}")) for index in range(draw(st.integers(1, 4)))]


@given(shapes(), st.integers(1, 6), clusters(), st.sampled_from(When), WAYS)
def test_agrees_with_every_order_of_placing(
    one: Shape, count: int, nodes: list[NodeInfo], when: When, fit: Callable[..., Fit]
) -> None:
    final_states = spread_ends(one, count, nodes, when)
    (total,) = {
        sum(final_state) for final_state in final_states
    }  # no order gets stuck before another
    event(f"placed: {total} of {count}")
    request = PlacementRequest((PodSet(one, count),))
    for target in range(1, count + 1):
        result = fit(request, nodes, when, target)
        assert result.answer is (FitAnswer.YES if target <= total else FitAnswer.NO)
        if result.answer is FitAnswer.YES:
            placed = [result.placement.get(node.name, {}).get("worker", 0) for node in nodes]
            assert tuple(placed) in final_states


# Expected counts


def zoned(**zones: list[int]) -> list[NodeInfo]:
    """Nodes with so many free GPUs in each zone."""
    return [
        node(f"{zone}{index}", gpu=gpus, labels={ZONE: zone})
        for zone, free in zones.items()
        for index, gpus in enumerate(free)
    ]


def spread(**options: Any) -> Shape:
    return shape(gpu=1, spreads=(Spread(ZONE, S, **options),))


def most(item: Shape, nodes: list[NodeInfo]) -> int:
    return max(
        (
            index
            for index in range(1, 40)
            if check_fit(gang(40, item), nodes, When.CURRENT, index).answer is FitAnswer.YES
        ),
        default=0,
    )


def test_a_full_zone_holds_the_others_back() -> None:
    # Zone b takes 2, so a may have 3 of its 8 with maxSkew 1, and 5 with maxSkew 3.
    nodes = zoned(a=[4, 4], b=[2])
    assert most(spread(), nodes) == 2 + 3
    assert most(spread(max_skew=3), nodes) == 2 + 5


def test_a_zone_without_usable_nodes_counts() -> None:
    # Cordoned, and counted: taints are ignored unless nodeTaintsPolicy says otherwise.
    cordon = Taint("node.kubernetes.io/unschedulable", "NoSchedule")
    out = node("b0", labels={ZONE: "b"}, unschedulable=True, taints=(cordon,))
    nodes = [*zoned(a=[4, 4]), out]
    assert most(spread(), nodes) == 1
    assert most(spread(honours_taints=True), nodes) == 8


def test_nodes_that_the_selector_excludes_are_no_domain() -> None:
    nodes = [*zoned(a=[4]), node("b0", labels={ZONE: "b", "pool": "y"})]
    nodes[0] = node("a0", labels={ZONE: "a", "pool": "x"})
    item = shape(gpu=1, node_selector={"pool": "x"}, spreads=(Spread(ZONE, S),))
    other = shape(
        gpu=1, node_selector={"pool": "x"}, spreads=(Spread(ZONE, S, honours_affinity=False),)
    )
    assert most(item, nodes) == 4
    assert most(other, nodes) == 1


def test_too_few_zones_are_counted_against_none() -> None:
    nodes = zoned(a=[4], b=[4])
    assert most(spread(min_domains=2), nodes) == 8
    assert most(spread(min_domains=3, max_skew=2), nodes) == 2 + 2


def test_pods_that_do_not_count_are_let_in_or_not() -> None:
    nodes = zoned(a=[4], b=[4])
    held = NodeInfo(
        "a0",
        nodes[0].labels,
        allocatable=nodes[0].allocatable,
        now=Requested({}, 2, matched_terms={S: 2}),
    )
    assert most(spread(counts_itself=False), [held, nodes[1]]) == 4
    assert most(spread(counts_itself=False, max_skew=2), [held, nodes[1]]) == 8


def test_spread_is_the_cause_and_the_pods_fit_otherwise() -> None:
    result = assess(gang(4, spread()), zoned(a=[4], b=[0]))
    assert (result.cause, result.constraints) == (PlacementCause.CONSTRAINED, (Constraint.SPREAD,))
    assert result.empty.answer is FitAnswer.NO
    full = [*zoned(a=[4]), node("b0", used=4, labels={ZONE: "b"})]
    result = assess(gang(4, spread()), full)
    assert (result.cause, result.constraints) == (PlacementCause.CONSTRAINED, (Constraint.SPREAD,))
    assert result.empty.answer is FitAnswer.YES


@pytest.mark.parametrize("fit", [check_fit, node_by_node.fits])
def test_spread_over_several_shapes_or_in_one_domain_is_unknown(fit: Callable[..., Fit]) -> None:
    nodes = zoned(a=[4], b=[4])
    two = PlacementRequest((PodSet(spread(), 2), PodSet(shape("driver"), 1)))
    one_zone = gang(2, spread(), topology_keys=(ZONE,))
    for request in (two, one_zone):
        result = fit(request, nodes, When.CURRENT, 2)
        assert (result.answer, result.but_for) == (FitAnswer.CANNOT_TELL, ("spread constraints",))
        assert fit(request, zoned(a=[0]), When.CURRENT, 2).answer is not FitAnswer.YES
