"""Every cause that keeps nodes out, and the nodes that it alone keeps out."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from random import Random

from hypothesis import event, given

from gangboard.domain.capacity import NodeInfo, PodSet, Requested, Shape
from gangboard.domain.pod_constraints import HOSTNAME, Spread, Taint, Toleration
from gangboard.domain.verdict import FitBlocker
from gangboard.placement.blockers import MAX_BLOCKERS
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.node_snapshot import NodeSnapshot
from gangboard.placement.unit_placement import shape_fit
from tests.placement.blockers_by_node import blockers
from tests.placement.making import GPU, R, S, node, port, shape
from tests.placement.node_by_node import lifted
from tests.placement.test_columns import KEYS, odd_nodes, odd_shape, seeds

SELECTOR = "node selector or required node affinity"
TAINT = "untolerated taint"


def rows(nodes: list[NodeInfo], item: Shape, count: int = 6) -> dict[str, tuple[int, int | None]]:
    """Cause → all nodes that it keeps out, and those that it alone keeps out."""
    fit = shape_fit(PodSet(item, count), NodeSnapshot(nodes), ())
    assert not fit.more_blockers
    return {
        " ".join(filter(None, (row.label, row.detail))): (row.nodes, row.only_nodes)
        for row in fit.blockers
    }


@given(seeds)
def test_counts_equal_those_of_each_node_without_the_cause(random: Random) -> None:
    nodes, item, keys = odd_nodes(random), odd_shape(random), random.choice(KEYS)
    feasible = feasible_nodes_of(NodeSnapshot(nodes), item)
    found = feasible.blockers(keys, counts_pods=not (keys or item.spreads))
    event(f"a cause alone: {any(row.only_nodes for row in found[0])}")
    assert found == blockers(lifted(nodes), item, keys)


@given(seeds)
def test_nodes_without_any_cause_take_a_pod(random: Random) -> None:
    nodes, item, keys = odd_nodes(random), odd_shape(random), random.choice(KEYS)
    fit = shape_fit(PodSet(item, 3), NodeSnapshot(nodes), keys)
    if fit.blockers:
        assert fit.open_nodes <= len(nodes) - max(row.nodes for row in fit.blockers)
    else:
        assert fit.open_nodes == len(nodes)


def test_a_toleration_opens_nodes_that_no_other_change_opens() -> None:
    gpu = Taint("gpu", "NoSchedule", "yes")
    nodes = [
        *(node(f"pool-{number}", labels={"pool": "a"}, taints=(gpu,)) for number in range(3)),
        node("other", labels={"pool": "b"}, taints=(gpu,)),
        node("full", used=4, labels={"pool": "a"}, taints=(Taint("gpu", "NoExecute"),)),
        node("cordoned", labels={"pool": "a"}, unschedulable=True),
    ]
    fit = shape_fit(PodSet(shape(gpu=2, node_selector={"pool": "a"}), 6), NodeSnapshot(nodes), ())
    assert fit.blockers == (
        # Each of the three nodes has four GPUs, and takes two pods.
        FitBlocker(TAINT, "gpu", 5, 3, 6, ("pool-0", "pool-1", "pool-2")),
        FitBlocker("cordoned", "", 1, 1, 2, ("cordoned",)),
        FitBlocker(SELECTOR, "", 1, 0, 0),
        FitBlocker(GPU, "", 1, 0, None),
    )


def test_a_node_with_two_taints_needs_two_tolerations() -> None:
    nodes = [node("n1", taints=(Taint("a", "NoSchedule"), Taint("b", "NoExecute")))]
    assert rows(nodes, shape()) == {f"{TAINT} a": (1, 0), f"{TAINT} b": (1, 0)}
    tolerant = shape(tolerations=(Toleration("b", "Exists"),))
    assert rows(nodes, tolerant) == {f"{TAINT} a": (1, 1)}


def test_a_request_keeps_a_node_out_in_one_way() -> None:
    nodes = [node("bare", gpu=0), node("small", gpu=1), node("full", used=3), node("fits")]
    assert rows(nodes, shape(gpu=2)) == {
        f"does not have a requested resource {GPU}": (1, 1),
        f"too small for one pod when empty {GPU}": (1, 1),
        GPU: (1, 1),
    }


def test_nodes_of_unknown_amounts_are_not_called_open() -> None:
    nodes = [node("odd", unreadable=frozenset({GPU})), NodeInfo("blank")]
    assert rows(nodes, shape(gpu=2)) == {
        "has not said what it offers": (1, None),
        f"amount that could not be read {GPU}": (1, None),
    }


def test_ports_and_neighbours_that_can_leave_count() -> None:
    taken = NodeInfo(
        "taken",
        allocatable={"cpu": 8000, "pods": 110},
        now=Requested({}, 1, frozenset({port(80)}), matched_terms={S: 1}),
    )
    assert rows([taken], Shape("a", host_ports=frozenset({port(80)}))) == {"host ports": (1, 1)}
    lone = Shape("a", host_ports=frozenset({port(80)}), anti_affinity=frozenset({S}))
    assert rows([taken], lone) == {"host ports": (1, 0), "required anti-affinity": (1, 0)}


def test_a_chosen_domain_and_a_spread_close_nodes() -> None:
    nodes = [node(f"{rack}{number}", labels={"rack": rack}) for rack in "ab" for number in "12"]
    fit = shape_fit(PodSet(shape(gpu=2), 2), NodeSnapshot([*nodes, node("c")]), ("rack",), ("a",))
    assert fit.blockers == (
        FitBlocker("topology", "", 2, 2, None, ("b1", "b2")),
        FitBlocker("no label of the topology key", "rack", 1, 1, None, ("c",)),
    )
    spread = Spread("rack", S, max_skew=1, counts_itself=True)
    nodes[0] = NodeInfo(
        "a1",
        {"rack": "a"},
        allocatable={"pods": 110},
        now=Requested({}, 1, matched_terms={S: 1}),
    )
    item = Shape("a", {"cpu": Decimal(1)}, spreads=(spread,), matched_terms=frozenset({S}))
    fit = shape_fit(PodSet(item, 2), NodeSnapshot(nodes), ())
    # `a1` has no CPUs, either.
    assert FitBlocker("topology spread", "rack", 2, 1, None, ("a2",)) in fit.blockers
    # A second constraint counts by itself. Each host but `a1` has no counted pod.
    two = replace(item, spreads=(spread, Spread(HOSTNAME, S)))
    nodes[0] = replace(nodes[0], labels={"rack": "a", HOSTNAME: "a1"})
    fit = shape_fit(PodSet(two, 2), NodeSnapshot(nodes), ())
    assert FitBlocker("topology spread", "rack", 2, 1, None, ("a2",)) in fit.blockers
    assert FitBlocker("topology spread", HOSTNAME, 1, 0, None) in fit.blockers


def test_pods_are_not_counted_where_constraints_between_nodes_limit_them() -> None:
    """Two nodes of one rack open, and the pods share no rack: one pod fits."""
    taint = Taint("gpu", "NoSchedule")
    nodes = [node(f"n{index}", labels={"rack": "a"}, taints=(taint,)) for index in range(2)]
    apart = shape(gpu=1, anti_affinity=frozenset({R}), matched_terms=frozenset({R}))
    fit = shape_fit(PodSet(apart, 2), NodeSnapshot(nodes), ())
    assert fit.blockers == (FitBlocker(TAINT, "gpu", 2, 2, None, ("n0", "n1")),)


def test_many_taints_are_cut_off_and_counted() -> None:
    nodes = [
        node(f"n{number:02}", taints=(Taint(f"t{number:02}", "NoSchedule"),))
        for number in range(20)
    ]
    fit = shape_fit(PodSet(shape(), 1), NodeSnapshot(nodes), ())
    assert [row.detail for row in fit.blockers] == [
        f"t{number:02}" for number in range(MAX_BLOCKERS)
    ]
    assert fit.more_blockers == 20 - MAX_BLOCKERS
