"""One cause per gang: the scenarios observed on a real control plane, and twins of each."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from gangboard.domain.capacity import PlacementRequest, PodSet, Shape
from gangboard.domain.placement_result import (
    Assessment,
    Constraint,
    FitAnswer,
    PlacementCause,
    ResourceTotal,
    When,
)
from gangboard.domain.pod_constraints import Taint
from gangboard.placement.assess import assess
from gangboard.placement.gang_fit import check_fit
from gangboard.placement.totals import totals
from tests.placement import node_assessment
from tests.placement.making import CORDON, GPU, S, gang, node, port, shape

FOUR = [node(f"n{index}") for index in range(4)]


def cause_and_resource(result: Assessment) -> tuple[PlacementCause, str]:
    return result.cause, result.deciding


def test_six_pods_of_four_devices_on_four_nodes_are_too_large() -> None:
    result = assess(gang(6, shape(gpu=4), 6), FOUR)
    assert cause_and_resource(result) == (PlacementCause.TOO_LARGE, GPU)
    assert result.now.answer is result.empty.answer is FitAnswer.NO
    assert result.totals[0] == ResourceTotal(GPU, 24, 16, 16)


def test_four_of_them_fit() -> None:
    result = assess(gang(4, shape(gpu=4), 4), FOUR)
    assert result.cause is PlacementCause.FITS
    assert result.now.placement == {f"n{index}": {"worker": 1} for index in range(4)}


def test_a_quorum_that_fits_is_enough() -> None:
    # "gang of 2 with 4 pods, 2 fit": True/Scheduled, running at quorum, below full size.
    result = assess(gang(4, shape(gpu=4), 2), FOUR[:2])
    assert result.cause is PlacementCause.FITS
    assert result.now.answer is FitAnswer.YES


def test_two_pods_of_three_devices_are_fragmented() -> None:
    # "total free is enough, no single node is" - only arithmetic tells fragmented from short.
    nodes = [node(f"n{index}", used=2) for index in range(3)]
    assert cause_and_resource(assess(gang(2, shape(gpu=3)), nodes)) == (
        PlacementCause.FRAGMENTED,
        GPU,
    )


def test_its_twin_is_occupied() -> None:
    nodes = [node(f"n{index}", used=3) for index in range(3)]
    assert cause_and_resource(assess(gang(2, shape(gpu=3)), nodes)) == (
        PlacementCause.OCCUPIED,
        GPU,
    )


def test_its_twin_is_short() -> None:
    nodes = [node("n0"), node("n1", used=3), node("n2", used=4)]
    result = assess(gang(2, shape(gpu=3)), nodes)
    assert cause_and_resource(result) == (PlacementCause.SHORT, GPU)
    assert result.totals[0] == ResourceTotal(GPU, 6, 5, 12)


def test_its_twin_is_too_large() -> None:
    nodes = [node(f"n{index}", pinned=2) for index in range(3)]
    assert cause_and_resource(assess(gang(2, shape(gpu=2)), nodes[:1])) == (
        PlacementCause.TOO_LARGE,
        GPU,
    )
    assert assess(gang(2, shape(gpu=2)), nodes).cause is PlacementCause.FITS


def test_an_unusable_node_has_no_free_capacity() -> None:
    nodes = [node("n0", used=3), node("n1", used=3), node("far", gpu=8, unschedulable=True)]
    assert cause_and_resource(assess(gang(2, shape(gpu=2)), nodes)) == (
        PlacementCause.OCCUPIED,
        GPU,
    )


def test_no_eligible_node() -> None:
    result = assess(gang(3, shape(gpu=1, node_selector={"no": "body"})), FOUR)
    assert result.cause is PlacementCause.NO_ELIGIBLE_NODE
    assert assess(gang(3, shape(gpu=1)), []).cause is PlacementCause.NO_ELIGIBLE_NODE


def test_the_quorum_exceeds_the_existing_pods() -> None:
    assert assess(gang(2, shape(gpu=1), 4), FOUR).cause is PlacementCause.TOO_FEW_PODS


def test_five_separate_pods_exceed_three_usable_nodes() -> None:
    item = shape(gpu=1, anti_affinity=frozenset({S}), matched_terms=frozenset({S}))
    tainted = node("n4", taints=(Taint("gpu", "NoSchedule"),))
    result = assess(gang(5, item, 5), [*FOUR[:3], tainted])
    assert (result.cause, result.constraints) == (
        PlacementCause.CONSTRAINED,
        (Constraint.ANTI_AFFINITY,),
    )
    assert result.empty.answer is FitAnswer.NO
    assert assess(gang(3, item, 3), FOUR[:3]).cause is PlacementCause.FITS


def test_host_ports_constrain_the_placement() -> None:
    result = assess(gang(5, shape(gpu=1, host_ports=frozenset({port(80)}))), FOUR)
    assert (result.cause, result.constraints) == (
        PlacementCause.CONSTRAINED,
        (Constraint.HOST_PORTS,),
    )


def test_ports_and_anti_affinity_only_together() -> None:
    item = shape(
        gpu=1,
        host_ports=frozenset({port(80)}),
        anti_affinity=frozenset({S}),
        matched_terms=frozenset({S}),
    )
    result = assess(gang(5, item), FOUR)
    assert result.constraints == (Constraint.HOST_PORTS, Constraint.ANTI_AFFINITY)


def test_three_pods_of_four_devices_with_two_nodes_a_rack() -> None:
    nodes = [node(f"n{index}", labels={"rack": "ab"[index // 2]}) for index in range(4)]
    request = gang(3, shape(gpu=4), 3, topology_keys=("rack",))
    result = assess(request, nodes)
    assert (result.cause, result.constraints) == (
        PlacementCause.CONSTRAINED,
        (Constraint.TOPOLOGY,),
    )
    assert result.empty.answer is FitAnswer.NO
    two = assess(gang(2, shape(gpu=4), 2, topology_keys=("rack",)), nodes)
    assert two.now.placement == {"n0": {"worker": 1}, "n1": {"worker": 1}}


def test_members_with_a_node_have_chosen_the_domain() -> None:
    nodes = [node("n0", labels={"rack": "a"}), node("n1", labels={"rack": "b"})]
    request = gang(1, shape(gpu=4), topology_keys=("rack",), domain=("b",))
    assert assess(request, nodes).now.placement == {"n1": {"worker": 1}}
    gone = gang(1, shape(gpu=4), topology_keys=("rack",), domain=("c",))
    assert assess(gone, nodes).constraints == (Constraint.TOPOLOGY,)


def test_a_topology_that_waits() -> None:
    nodes = [
        node(f"n{index}", labels={"rack": "ab"[index // 2]}, used=4 * (index % 2))
        for index in range(4)
    ]
    result = assess(gang(2, shape(gpu=4), topology_keys=("rack",)), nodes)
    assert (result.cause, result.empty.answer) == (PlacementCause.CONSTRAINED, FitAnswer.YES)


def mixed(workers: int, drivers: int = 1) -> PlacementRequest:
    driver = Shape("driver", {"cpu": Decimal(6)})
    worker = Shape("worker", {"cpu": Decimal(3), GPU: Decimal(2)})
    return PlacementRequest((PodSet(driver, drivers), PodSet(worker, workers)))


def test_different_shapes_together() -> None:
    # A node takes one driver, or two workers: two nodes for the driver and two workers.
    result = assess(mixed(2), FOUR[:2])
    assert result.cause is PlacementCause.FITS
    assert sorted(map(str, result.now.placement.values())) == ["{'driver': 1}", "{'worker': 2}"]
    # Three workers and a driver: 15 of 16 cores and 6 of 8 devices in total, and no placement.
    stuck = assess(mixed(3), FOUR[:2])
    assert cause_and_resource(stuck) == (PlacementCause.TOO_LARGE, "cpu")
    assert stuck.totals[0] == ResourceTotal("cpu", 15000, 16000, 16000)


def test_a_driver_that_fits_does_not_hide_short_workers() -> None:
    nodes = [node("g0", used=0, labels={"pool": "gpu"}), node("c0", gpu=0), node("c1", gpu=0)]
    worker = Shape("worker", {"cpu": Decimal(5)}, node_selector={"pool": "gpu"})
    driver = Shape("driver", {"cpu": Decimal(1)})
    result = assess(PlacementRequest((PodSet(worker, 2), PodSet(driver, 1))), nodes)
    assert cause_and_resource(result) == (PlacementCause.TOO_LARGE, "cpu")


def test_uncomputed_constraints_are_named() -> None:
    item = shape(gpu=4, unsupported=("volume claims",))
    result = assess(gang(4, item), FOUR)
    assert (result.cause, result.why) == (
        PlacementCause.CANNOT_TELL,
        "not worked out: volume claims",
    )
    # A gang that does not fit without the constraint does not fit with it.
    assert assess(gang(6, item), FOUR).cause is PlacementCause.TOO_LARGE
    free = shape(gpu=4, undecidable=("devices of a driver",))
    assert assess(gang(6, free), FOUR).why == "not understood: devices of a driver"


def test_a_current_shortage_is_reported_despite_unknown_constraints() -> None:
    # A training Job with a volume and too few free devices waits for devices in any case.
    item = shape(gpu=4, unsupported=("volume claims",))
    result = assess(gang(4, item), [node(f"n{index}", used=1) for index in range(4)])
    assert cause_and_resource(result) == (PlacementCause.OCCUPIED, GPU)
    assert (result.now.answer, result.empty.answer) == (FitAnswer.NO, FitAnswer.CANNOT_TELL)
    assert result.empty.but_for == ("volume claims",)


def test_the_resource_that_lacks_most_decides() -> None:
    nodes = [node(f"n{index}", gpu=4) for index in range(4)]
    # 32 of 48 cores and 16 of 48 devices exist.
    devices = Shape("a", {"cpu": Decimal(4), GPU: Decimal(4)})
    assert cause_and_resource(assess(gang(12, devices), nodes)) == (PlacementCause.TOO_LARGE, GPU)
    # 32 of 96 cores and 16 of 24 devices.
    cores = Shape("a", {"cpu": Decimal(8), GPU: Decimal(2)})
    assert cause_and_resource(assess(gang(12, cores), nodes)) == (PlacementCause.TOO_LARGE, "cpu")


def test_an_amount_that_could_not_be_read_is_not_zero() -> None:
    nodes = [*FOUR[:3], node("odd", unreadable=frozenset({GPU}))]
    result = assess(gang(4, shape(gpu=4)), nodes)
    assert result.why == f"{GPU} of the node odd could not be read"
    assert assess(gang(3, shape(gpu=4)), nodes).cause is PlacementCause.FITS
    assert assess(gang(25, Shape("a", {"cpu": Decimal(1)})), nodes).cause is PlacementCause.FITS


def test_one_pod_per_node_needs_a_unique_label_value() -> None:
    item = shape(gpu=1, anti_affinity=frozenset({S}), matched_terms=frozenset({S}))
    twins = [node("n0"), node("n1", labels={"kubernetes.io/hostname": "n0"})]
    expected = "nodes do not each have their own label kubernetes.io/hostname"
    assert assess(gang(2, item), twins).why == expected
    # An unusable node may have the pod that keeps the members off its namesake.
    cordoned = [node("n0"), replace(twins[1], taints=(CORDON,))]
    kept_out = shape(gpu=1, matched_terms=frozenset({S}))
    for judge in (assess, node_assessment.assess):
        assert judge(gang(2, kept_out), cordoned).why == expected
        assert judge(gang(2, shape(gpu=1)), cordoned).cause is PlacementCause.FITS


def test_more_ways_than_the_budget_is_no_answer() -> None:
    result = assess(mixed(3), FOUR[:2], steps=3)
    assert result.cause is PlacementCause.CANNOT_TELL
    assert result.why == "too many ways to place different members together to try them all"
    assert check_fit(mixed(3), FOUR[:2], When.CURRENT, 4).answer is FitAnswer.NO


def test_work_does_not_grow_with_nodes_that_are_alike() -> None:
    driver, worker = (pod_set.shape for pod_set in mixed(1).pod_sets)
    request = PlacementRequest((PodSet(driver, 30), PodSet(worker, 61)))
    # 30 nodes for drivers, 31 for workers: one node short, which no sum and no bound shows.
    few = check_fit(request, [node(f"n{index}") for index in range(60)], When.CURRENT, 91)
    assert (few.answer, few.steps < 20_000) == (FitAnswer.NO, True)
    many = check_fit(request, [node(f"n{index}") for index in range(2000)], When.CURRENT, 91)
    assert (many.answer, many.steps) == (FitAnswer.YES, 0)


@pytest.mark.parametrize(("target", "needed"), [(1, 3000), (2, 6000), (3, 9000), (4, 15000)])
def test_a_quorum_needs_the_cheapest_members_at_least(target: int, needed: int) -> None:
    assert totals(mixed(3).pod_sets, target, FOUR)[0].needed == needed
