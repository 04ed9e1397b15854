"""Agreement with an exhaustive search, and invariants of every cluster and gang."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from decimal import Decimal

from hypothesis import assume, event, given
from hypothesis import strategies as st

from gangboard.domain.capacity import NodeInfo, PlacementRequest, PodSet, Requested, Shape
from gangboard.domain.placement_result import FitAnswer, PlacementCause, When
from gangboard.domain.pod_constraints import HOSTNAME, HostPort, PodTerm, Taint, Toleration
from gangboard.placement.anti_affinity import is_anti_affinity_unsupported
from gangboard.placement.assess import assess
from gangboard.placement.gang_fit import check_fit
from gangboard.placement.packing_search import Budget
from tests.placement import node_by_node
from tests.placement.making import R, S, T
from tests.placement.node_by_node import eligibility
from tests.placement.node_packing import problem, search
from tests.placement.reference import accepts, reference, shape_room, witness, works

PORTS = [frozenset[HostPort](), frozenset({HostPort(80)}), frozenset({HostPort(80), HostPort(81)})]
ANTI_AFFINITY = [frozenset[PodTerm](), frozenset({S}), frozenset({T}), frozenset({R})]
TAINT = Taint("t", "NoSchedule")


@st.composite
def loads(draw: st.DrawFn) -> Requested:
    return Requested(
        {"cpu": draw(st.integers(0, 5)) * 500, "gpu": draw(st.integers(0, 2))},
        draw(st.integers(0, 2)),
        draw(st.sampled_from(PORTS[:2])),
        dict.fromkeys(draw(st.sampled_from([*ANTI_AFFINITY[:1] * 4, *ANTI_AFFINITY])), 1),
        dict.fromkeys(draw(st.sampled_from([*ANTI_AFFINITY[:1] * 4, *ANTI_AFFINITY])), 1),
    )


def merged(requested: Requested, other: Requested) -> Requested:
    amounts = {key: requested.amounts[key] + other.amounts[key] for key in requested.amounts}
    pods = requested.pods + other.pods
    ports = requested.host_ports | other.host_ports
    return Requested(
        amounts,
        pods,
        ports,
        {**requested.anti_affinity, **other.anti_affinity},
        {**requested.matched_terms, **other.matched_terms},
    )


@st.composite
def rooms(draw: st.DrawFn, name: str) -> NodeInfo:
    pinned = Requested({"cpu": 0, "gpu": 0}) if draw(st.booleans()) else draw(loads())
    leaving = Requested({"cpu": 0, "gpu": 0}) if draw(st.booleans()) else draw(loads())
    return NodeInfo(
        name,
        {
            HOSTNAME: name,
            "rack": draw(st.sampled_from("aab")),
            "pool": draw(st.sampled_from("xxxy")),
        },
        (TAINT,) if draw(st.integers(0, 7)) == 7 else (),
        allocatable={
            "cpu": draw(st.integers(3, 10)) * 500,
            "gpu": draw(st.integers(1, 6)),
            "pods": draw(st.integers(3, 7)),
        },
        now=merged(pinned, leaving),
        pinned=pinned,
    )


@st.composite
def shapes(draw: st.DrawFn, name: str) -> Shape:
    return Shape(
        name,
        {
            "cpu": draw(st.integers(0, 4)) * Decimal("0.5"),
            "gpu": Decimal(draw(st.integers(0, 2))),
        },
        {"pool": "x"} if draw(st.integers(0, 3)) == 3 else {},
        tolerations=(Toleration("t", "Exists"),) if draw(st.booleans()) else (),
        host_ports=draw(st.sampled_from([*PORTS[:1] * 3, *PORTS])),
        anti_affinity=draw(st.sampled_from([*ANTI_AFFINITY[:1] * 4, *ANTI_AFFINITY])),
        matched_terms=draw(st.sampled_from([*ANTI_AFFINITY[:1] * 4, *ANTI_AFFINITY])),
    )


@st.composite
def gangs(draw: st.DrawFn) -> PlacementRequest:
    counts = draw(st.sampled_from([(1,), (3,), (5,), (1, 2), (2, 3), (1, 4), (1, 2, 2)]))
    pod_sets = tuple(PodSet(draw(shapes(f"s{index}")), count) for index, count in enumerate(counts))
    quorum = draw(st.one_of(st.none(), st.integers(1, sum(counts))))
    return PlacementRequest(pod_sets, quorum, ("rack",) if draw(st.integers(0, 3)) == 3 else ())


@st.composite
def clusters(draw: st.DrawFn) -> list[NodeInfo]:
    nodes = [draw(rooms(f"n{index}")) for index in range(draw(st.integers(1, 3)))]
    if draw(st.booleans()):
        twin = nodes[0]
        nodes[-1] = replace(twin, name="twin", labels={**twin.labels, HOSTNAME: "twin"})
    return nodes


@given(gangs(), clusters(), st.sampled_from(When))
def test_agrees_with_trying_everything(
    request: PlacementRequest, nodes: list[NodeInfo], when: When
) -> None:
    most = reference(request, nodes, when)
    event(f"all fit: {most == request.size}")
    for target in range(1, request.size + 1):
        result = check_fit(request, nodes, when, target)
        if is_anti_affinity_unsupported(request):
            # The members' own rules are not computed, so no placement is promised.
            assert result.answer is not FitAnswer.YES
            assert result.answer is not FitAnswer.NO or most < target
            continue
        assert result.answer is (FitAnswer.YES if most >= target else FitAnswer.NO)
        if result.answer is FitAnswer.YES:
            hosted = witness(request, nodes, result.placement)
            assert works(request, nodes, hosted, when)
            placed = Counter(pod.name for pods in hosted for pod in pods)
            assert sum(placed.values()) >= target
            assert all(placed[pod_set.shape.name] <= pod_set.count for pod_set in request.pod_sets)


@st.composite
def tight(draw: st.DrawFn) -> tuple[PlacementRequest, list[NodeInfo]]:
    """Two or three shapes on nodes that they nearly fill."""
    counts = draw(st.sampled_from([(2, 2), (2, 3), (1, 2, 2), (2, 1, 2)]))
    pod_sets = tuple(
        PodSet(
            Shape(
                f"s{index}",
                {"cpu": Decimal(draw(st.integers(1, 3))), "gpu": Decimal(draw(st.integers(0, 3)))},
                anti_affinity=draw(st.sampled_from([*ANTI_AFFINITY[:1] * 4, *ANTI_AFFINITY[:3]])),
                matched_terms=draw(st.sampled_from([*ANTI_AFFINITY[:1] * 2, *ANTI_AFFINITY[:3]])),
            ),
            count,
        )
        for index, count in enumerate(counts)
    )
    of = {
        resource: sum(int(pod_set.shape.requests[resource]) * pod_set.count for pod_set in pod_sets)
        for resource in ("cpu", "gpu")
    }
    share = draw(st.integers(2, 3))
    nodes = [
        NodeInfo(
            f"n{index}",
            {HOSTNAME: f"n{index}", "pool": "x", "rack": "a"},
            allocatable={
                "cpu": 1000 * (of["cpu"] // share + draw(st.integers(0, 1))),
                "gpu": of["gpu"] // share + draw(st.integers(0, 1)),
                "pods": 9,
            },
            now=Requested({"cpu": 0, "gpu": 0}),
            pinned=Requested({"cpu": 0, "gpu": 0}),
        )
        for index in range(share)
    ]
    return PlacementRequest(pod_sets), nodes


@given(tight())
def test_the_search_is_exact(case: tuple[PlacementRequest, list[NodeInfo]]) -> None:
    request, nodes = case
    most = reference(request, nodes, When.CURRENT)
    event(f"all fit: {most == request.size}")
    numbers = problem(request.pod_sets, nodes, When.CURRENT)
    for target in {max(1, most), most + 1}:
        answer, _ = search(numbers, target, Budget())
        assert answer is (FitAnswer.YES if most >= target else FitAnswer.NO)
        assert check_fit(request, nodes, When.CURRENT, target).answer is answer
    if not most:
        return  # zero pods are never requested
    placement = {
        node: dict(zip(numbers.names, config, strict=True))
        for node, config in search(numbers, most, Budget())[1]
    }
    assert works(request, nodes, witness(request, nodes, placement), When.CURRENT)
    assert sum(map(len, witness(request, nodes, placement))) >= most


@given(gangs(), clusters(), rooms("more"))
def test_a_node_more_and_a_pod_less_never_hurt(
    request: PlacementRequest, nodes: list[NodeInfo], more: NodeInfo
) -> None:
    # Its pods may keep members from the other nodes of its rack.
    assume(R not in {*more.now.anti_affinity, *more.now.matched_terms})
    target = request.needed
    before = check_fit(request, nodes, When.CURRENT, target).answer
    if before is FitAnswer.YES:
        assert check_fit(request, [*nodes, more], When.CURRENT, target).answer is FitAnswer.YES
        emptied = [replace(nodes[0], now=nodes[0].pinned), *nodes[1:]]
        assert check_fit(request, emptied, When.CURRENT, target).answer is FitAnswer.YES
        assert check_fit(request, nodes, When.DRAINED, target).answer is FitAnswer.YES


@given(gangs(), clusters(), st.booleans())
def test_order_and_grouping_do_not_matter(
    request: PlacementRequest, nodes: list[NodeInfo], backwards: bool
) -> None:
    result = check_fit(request, nodes, When.CURRENT, request.needed)
    apart = node_by_node.fits(request, nodes, When.CURRENT, request.needed, group=False)
    assert apart.answer is result.answer
    assert check_fit(request, nodes[::-1], When.CURRENT, request.needed) == result
    turned = replace(request, pod_sets=request.pod_sets[::-1])
    assert check_fit(turned, nodes, When.CURRENT, request.needed).answer is result.answer
    for pod_set in request.pod_sets:
        assert eligibility(nodes, pod_set.shape) == eligibility(nodes[::-1], pod_set.shape)


@given(shapes("s"), clusters(), st.sampled_from(When))
def test_one_pod_more_than_the_shape_capacity_does_not_fit(
    one: Shape, nodes: list[NodeInfo], when: When
) -> None:
    # Questions about other nodes of its rack are not about one node.
    one = replace(one, anti_affinity=one.anti_affinity - {R}, matched_terms=one.matched_terms - {R})
    room = shape_room(nodes, one, when)
    for node in nodes:
        count = room.per_node.get(node.name, 0)
        load = node.now if when is When.CURRENT else node.pinned
        assert accepts(node, load, [one] * count)
        assert not accepts(node, load, [one] * (count + 1))


@given(gangs(), clusters())
def test_a_cause_states_facts(request: PlacementRequest, nodes: list[NodeInfo]) -> None:
    result = assess(request, nodes)
    event(result.cause)
    now = reference(request, nodes, When.CURRENT) >= request.needed
    empty = reference(request, nodes, When.DRAINED) >= request.needed
    assert (result.cause is PlacementCause.FITS) is (
        now and not is_anti_affinity_unsupported(request)
    )
    if result.cause in (PlacementCause.SHORT, PlacementCause.OCCUPIED, PlacementCause.FRAGMENTED):
        # Uncomputed constraints may block the gang forever. The current shortage exists in any case.
        assert empty or result.empty.but_for
    if result.cause in (PlacementCause.TOO_LARGE, PlacementCause.NO_ELIGIBLE_NODE):
        assert not empty
    if result.cause is PlacementCause.FRAGMENTED:
        assert all(line.free >= line.needed for line in result.totals)
    if any(line.free < line.needed for line in result.totals):
        assert result.cause is not PlacementCause.FITS
