"""Columns say what is said node by node: for every cluster, shape and gang, however odd."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from gangboard.domain.capacity import (
    HOSTNAME,
    GangRequest,
    HostPort,
    Load,
    NodeRoom,
    Party,
    Requirement,
    Shape,
    Taint,
    Term,
    Toleration,
)
from gangboard.domain.placing import Answer, Cause, Fit, When
from gangboard.placement.assess import assess
from gangboard.placement.eligibility import eligibility, is_eligible, shape_room
from gangboard.placement.fits import fits
from gangboard.placement.ground import Ground
from gangboard.placement.hosts import hosts_of
from gangboard.placement.totals import totals
from tests.placement.making import CORDON, GPU, gang, node, shape

HUGE = 2**70
PORTS = [HostPort(80), HostPort(80, address="10.0.0.1"), HostPort(81)]
TAINTS = [
    CORDON,
    Taint("node.kubernetes.io/not-ready", "NoExecute"),
    Taint("gpu", "NoSchedule", "true"),
    Taint("spot", "PreferNoSchedule"),
]
TOLERATIONS = [
    Toleration("gpu", "Exists"),
    Toleration("gpu", "Equal", "true", "NoSchedule"),
    Toleration(operator="Exists", effect="NoExecute"),
    Toleration("node.kubernetes.io/unschedulable", "Exists"),
]
ENTRIES = [
    Requirement("pool", "In", ("x", "z")),
    Requirement("pool", "NotIn", ("x",)),
    Requirement("rack", "Exists"),
    Requirement("rack", "DoesNotExist"),
    Requirement("size", "Gt", ("3",)),
    Requirement("size", "Lt", ("3",)),
]
FIELDS = [
    Requirement("metadata.name", "In", ("n0", "n1")),
    Requirement("metadata.name", "NotIn", ("n0",)),
]
amounts = st.one_of(st.integers(0, 12), st.sampled_from([HUGE, 2**62, 2**62 + 1, -3]))


@st.composite
def odd_loads(draw: st.DrawFn) -> Load:
    return Load(
        {name: draw(amounts) for name in draw(st.sets(st.sampled_from(["cpu", GPU])))},
        draw(st.integers(0, 3)),
        frozenset(draw(st.sets(st.sampled_from(PORTS), max_size=1))),
        frozenset(draw(st.sets(st.sampled_from("st"), max_size=1))),
    )


@st.composite
def odd_nodes(draw: st.DrawFn) -> list[NodeRoom]:
    found = []
    for at in range(draw(st.integers(0, 6))):
        labels = {"pool": draw(st.sampled_from("xyz")), "rack": draw(st.sampled_from("ab"))}
        labels |= {"size": draw(st.sampled_from(["2", "4", "four"])), HOSTNAME: f"n{at}"}
        for key in draw(st.sets(st.sampled_from(sorted(labels)), max_size=1)):
            if draw(st.booleans()):
                del labels[key]
        quiet = draw(st.booleans())
        found.append(
            NodeRoom(
                f"n{at}",
                labels,
                () if quiet else tuple(draw(st.lists(st.sampled_from(TAINTS), max_size=2))),
                not quiet and draw(st.booleans()),
                allocatable={
                    "pods": draw(st.integers(0, 6)),
                    **{
                        name: draw(amounts) for name in draw(st.sets(st.sampled_from(["cpu", GPU])))
                    },
                },
                now=Load() if quiet else draw(odd_loads()),
                staying=Load() if quiet else draw(odd_loads()),
                unreadable=frozenset(draw(st.sampled_from([(), (), (), ("cpu",), (GPU, "cpu")]))),
            )
        )
    return found


@st.composite
def odd_shapes(draw: st.DrawFn, name: str = "s") -> Shape:
    terms = st.builds(
        Term,
        st.lists(st.sampled_from(ENTRIES), max_size=2).map(tuple),
        st.lists(st.sampled_from(FIELDS), max_size=1).map(tuple),
    )
    asked = st.one_of(st.integers(0, 4), st.just(HUGE)).map(Decimal)
    return Shape(
        name,
        {one: draw(asked) for one in draw(st.permutations(["cpu", GPU]))},
        draw(st.sampled_from([{}, {}, {"pool": "x"}, {"pool": "x", "rack": "a"}])),
        draw(st.one_of(st.none(), st.none(), st.lists(terms, max_size=2).map(tuple))),
        tuple(draw(st.lists(st.sampled_from(TOLERATIONS), max_size=3))),
        frozenset(draw(st.sets(st.sampled_from(PORTS), max_size=1))),
        frozenset(draw(st.sets(st.sampled_from("st"), max_size=1))),
        draw(st.sampled_from([(), (), ("volumes",)])),
    )


KEYS: list[tuple[str, ...]] = [(), (), ("rack",), ("rack", "pool")]


@st.composite
def odd_gangs(draw: st.DrawFn) -> GangRequest:
    counts = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    parties = tuple(Party(draw(odd_shapes(f"s{at}")), count) for at, count in enumerate(counts))
    keys = draw(st.sampled_from(KEYS))
    chosen = tuple("ax"[: len(keys)]) if draw(st.booleans()) and keys else None
    return GangRequest(parties, draw(st.one_of(st.none(), st.integers(0, 7))), keys, chosen)


@settings(max_examples=300, deadline=None)
@given(odd_nodes(), odd_shapes(), st.sampled_from(KEYS))
def test_each_node_is_judged_as_when_it_is_asked_alone(
    nodes: list[NodeRoom], one: Shape, keys: tuple[str, ...]
) -> None:
    hosts = hosts_of(Ground(nodes), one)
    assert hosts.eligibility(keys) == eligibility(nodes, one, keys)
    assert hosts.eligible(keys).tolist() == [is_eligible(node, one, keys) for node in nodes]
    for when in When:
        room = shape_room(nodes, one, when)
        caps = hosts.caps(when).tolist()
        assert caps == [room.per_node.get(node.name, 0) for node in nodes]
    hosted = [node for node in nodes if is_eligible(node, one, keys)]
    room = shape_room(hosted, one, When.NOW)
    now, empty, open_nodes, saturated = hosts.summary(keys)
    assert now == room.total
    assert empty == shape_room(hosted, one, When.EMPTY).total
    full = [str(room.limits[name]) for name, count in room.per_node.items() if not count]
    assert open_nodes == len(hosted) - len(full)
    assert {limit: count for limit, count, _ in saturated} == {
        limit: full.count(limit) for limit in full
    }


def is_right(found: Fit, other: Fit, request: GangRequest, nodes: Sequence[NodeRoom]) -> None:
    """The same answer; a placement is checked by asking for nothing else on these nodes."""
    assert (found.answer, found.why, found.but_for) == (other.answer, other.why, other.but_for)
    if found.answer is not Answer.YES:
        return
    placed = {name: sum(one.values()) for name, one in found.placement.items()}
    assert sum(placed.values()) >= request.needed
    for name, counts in found.placement.items():
        alone = [node for node in nodes if node.name == name]
        parties = tuple(
            Party(party.shape, counts[party.shape.name])
            for party in request.parties
            if party.shape.name in counts
        )
        when = When.NOW
        if fits(GangRequest(parties), alone, when, placed[name], plain=True).answer is Answer.NO:
            when = When.EMPTY
        again = fits(GangRequest(parties), alone, when, placed[name], plain=True)
        assert again.answer is Answer.YES


@settings(max_examples=400, deadline=None)
@given(odd_gangs(), odd_nodes())
def test_a_gang_is_judged_as_node_by_node(request: GangRequest, nodes: list[NodeRoom]) -> None:
    found, other = assess(request, nodes), assess(request, nodes, plain=True)
    event(found.cause)
    for one in ("cause", "deciding", "constraints", "why", "totals"):
        assert getattr(found, one) == getattr(other, one), one
    if Cause.CANNOT_TELL is not found.cause:
        is_right(found.now, other.now, request, nodes)
        is_right(found.empty, other.empty, request, nodes)
    assert found.full.answer is other.full.answer
    assert found.empty_full.answer is other.empty_full.answer


@settings(max_examples=100, deadline=None)
@given(odd_nodes(), odd_nodes(), odd_shapes(), st.sampled_from(KEYS))
def test_a_changed_ground_is_a_ground_of_the_changed_nodes(
    nodes: list[NodeRoom], others: list[NodeRoom], one: Shape, keys: tuple[str, ...]
) -> None:
    ground = Ground(nodes)
    hosts_of(ground, one).summary(keys)  # its columns are there and must not be taken as they are
    instead = {node.name: node for node in others[1:]}
    changed = [instead.get(node.name, node) for node in nodes]
    patched = hosts_of(ground.changed(instead), one)
    assert patched.eligibility(keys) == eligibility(changed, one, keys)
    assert patched.summary(keys) == hosts_of(Ground(changed), one).summary(keys)
    assert hosts_of(ground, one).eligibility(keys) == eligibility(nodes, one, keys)


def test_a_ground_is_its_nodes_in_order() -> None:
    ground = Ground([node("b"), node("a")])
    assert [one.name for one in ground] == ["a", "b"]
    assert (len(ground), ground[1].name, [one.name for one in ground[:1]]) == (2, "b", ["a"])
    assert ground.changed({"c": node("c")}) is ground


@pytest.mark.parametrize("plain", [False, True])
def test_amounts_beyond_64_bits_stay_exact(plain: bool) -> None:
    # 2^70 bytes and one more are free on each node: each takes one pod of 2^70, not two.
    bytes_ = {"memory": 2**70 + 1, "pods": 9}
    nodes = [NodeRoom(f"n{at}", allocatable=bytes_) for at in range(3)]
    one = Shape("s", {"memory": Decimal(2**70)})
    assert fits(gang(3, one), nodes, When.NOW, 3, plain=plain).answer is Answer.YES
    assert fits(gang(4, one), nodes, When.NOW, 4, plain=plain).answer is Answer.NO
    assert totals(gang(4, one).parties, 4, nodes, plain=plain)[0].free == 3 * 2**70 + 3
    small = Shape("s", {"memory": Decimal(1)})
    assert fits(gang(27, small), nodes, When.NOW, 27, plain=plain).answer is Answer.YES


def test_sums_beyond_64_bits_stay_exact() -> None:
    nodes = [NodeRoom(f"n{at}", allocatable={"memory": 2**62, "pods": 9}) for at in range(4)]
    one = Shape("s", {"memory": Decimal(2**60)})
    assert totals(gang(9, one).parties, 9, nodes)[0].free == 2**64
    assert fits(gang(16, one), nodes, When.NOW, 16).answer is Answer.YES
    assert fits(gang(17, one), nodes, When.NOW, 17).answer is Answer.NO


def test_drivers_and_workers_on_a_thousand_different_nodes() -> None:
    # A node takes one driver or two workers, whatever its free memory: 400 drivers and 1200
    # workers need all 1000 nodes, one pod more of either does not fit.
    nodes = [
        replace(one, allocatable={**one.allocatable, "memory": 10**9 + at})
        for at, one in enumerate(node(f"n{at:04}") for at in range(1000))
    ]
    driver = Shape("driver", {"cpu": Decimal(6), "memory": Decimal(1000)})
    worker = Shape("worker", {"cpu": Decimal(3), GPU: Decimal(2), "memory": Decimal(1000)})

    def asked(drivers: int, workers: int) -> Answer:
        request = GangRequest((Party(driver, drivers), Party(worker, workers)))
        return fits(request, nodes, When.NOW, request.size).answer

    assert asked(400, 1200) is Answer.YES
    assert asked(401, 1200) is Answer.NO
    assert asked(400, 1201) is Answer.NO


def test_nodes_of_one_rack_only() -> None:
    # Rack b has room for four pods of two devices, a and c for two each.
    nodes = [node(f"{rack}{at}", labels={"rack": rack}) for rack in "abc" for at in range(2)]
    nodes = [replace(one, now=Load({GPU: 2})) if one.name[0] in "ac" else one for one in nodes]
    two = shape(gpu=2)
    found = fits(gang(4, two, topology_keys=("rack",)), nodes, When.NOW, 4)
    assert found.placement == {"b0": {"worker": 2}, "b1": {"worker": 2}}
    assert fits(gang(5, two, topology_keys=("rack",)), nodes, When.NOW, 5).answer is Answer.NO
    other = gang(3, two, topology_keys=("rack",), domain=("c",))
    assert fits(other, nodes, When.NOW, 3).answer is Answer.NO
