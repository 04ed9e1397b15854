"""Nodes of a plan as columns, compared with node objects."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from random import Random

import pytest

from gangboard.domain.capacity import NodeInfo, Requested, Shape
from gangboard.domain.placement_result import When
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.plan_ground import Demands, Ground
from gangboard.placement.plan_nodes import FilledNodes, with_pods
from tests.placement.making import CORDON, GPU, S, node, port, shape

SHAPES = (
    shape("one", 1),
    shape("two", 2, node_selector={"pool": "a"}),
    Shape("cores", {"cpu": Decimal("1.5"), GPU: Decimal(1)}),
    shape("tolerant", 1, tolerations=()),
    shape("port", 1, host_ports=frozenset({port(80)})),
    shape("apart", 1, anti_affinity=frozenset({S}), matched_terms=frozenset({S})),
)


def nodes_of(dice: Random) -> list[NodeInfo]:
    return [
        replace(
            node(f"n{number}", dice.randint(0, 8), labels={"pool": dice.choice("ab")}),
            unschedulable=dice.random() < 0.3,
            unreadable=frozenset({GPU}) if dice.random() < 0.1 else frozenset(),
        )
        for number in range(dice.randint(1, 150))
    ]


def expected(nodes: list[NodeInfo], item: Shape) -> list[int]:
    """Places of each node, computed from node objects."""
    places: list[int] = feasible_nodes_of(NodeSnapshot(nodes), item).max_pods(When.CURRENT).tolist()
    return places


@pytest.mark.parametrize("seed", range(20))
def test_columns_are_those_of_the_node_objects_after_any_change(seed: int) -> None:
    """Pods are put, nodes are opened, and copies change apart from each other."""
    dice = Random(seed)
    objects = sorted(nodes_of(dice), key=lambda item: item.name)
    filled = FilledNodes(Ground(NodeSnapshot(objects)), Demands())
    bare = list(objects)
    for _ in range(12):
        original, before = filled, list(objects)
        filled = filled.copy()
        row = dice.randrange(len(objects))
        if dice.random() < 0.3:
            bare[row] = replace(bare[row], unschedulable=False)
            objects[row] = replace(objects[row], unschedulable=False)
            ground = filled.ground.changed({bare[row].name: bare[row]})
            filled.stand_on(ground, [bare[row].name])
        else:
            item, number = dice.choice(SHAPES), dice.randint(1, 3)
            filled.put([(row, item, number)])
            objects[row] = with_pods(objects[row], [(item, number)])
        check(filled, objects)
        check(original, before)


def check(filled: FilledNodes, objects: list[NodeInfo]) -> None:
    assert filled.snapshot.nodes == tuple(objects)
    for item in SHAPES:
        demand = filled.demands.of(item)
        places = expected(objects, item)
        seen = feasible_nodes_of(filled.snapshot, item).max_pods(When.CURRENT).tolist()
        assert seen == places, item.name
        if demand is not None:
            assert filled.places(demand).tolist() == places
            assert filled.total(demand) == sum(places)
            assert filled.takes(demand, sum(places))
            assert not filled.takes(demand, sum(places) + 1)


def test_a_suspend_frees_its_load_under_the_placed_pods() -> None:
    """The ground loses 3 of 4 used GPUs. The pod that a gang has put there stays."""
    full = node("a", 8, used=4)
    filled = FilledNodes(Ground(NodeSnapshot([full])), Demands())
    demand = filled.demands.of(SHAPES[0])
    assert demand is not None
    filled.put([(0, SHAPES[0], 2)])
    assert filled.total(demand) == 2
    freed = replace(full, now=Requested({GPU: 1}, 1))
    filled.stand_on(filled.ground.changed({"a": freed}), ["a"])
    assert filled.total(demand) == 5


def test_equal_shapes_share_a_demand_and_related_ones_have_none() -> None:
    demands = Demands()
    assert demands.of(shape("a", 1)) is demands.of(shape("b", 1))
    assert demands.of(shape("a", 1)) is not demands.of(shape("a", 2))
    assert demands.of(SHAPES[-1]) is None
    assert demands.of(shape("a", 1, unsupported=("volumes",))) is not demands.of(shape("a", 1))


def test_a_cordon_closes_the_node_and_an_uncordon_opens_it() -> None:
    closed = replace(node("a", 4), unschedulable=True, taints=(CORDON,))
    filled = FilledNodes(Ground(NodeSnapshot([closed])), Demands())
    demand = filled.demands.of(SHAPES[0])
    assert demand is not None
    assert filled.total(demand) == 0
    filled.stand_on(filled.ground.changed({"a": node("a", 4)}), ["a"])
    assert filled.total(demand) == 4
