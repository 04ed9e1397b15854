"""The placement of waiting members: their identity, their requests and their nodes."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from gangboard.domain.capacity import PODS, ClusterCapacity, NodeInfo, Requested
from gangboard.domain.placement_result import (
    Constraint,
    FitAnswer,
    PlacementCause,
    PlacementResult,
    ShapeFit,
)
from gangboard.domain.pod_constraints import HOSTNAME, PodConstraints, Taint
from gangboard.domain.verdict import FitBlocker, FitReason, FitRow
from gangboard.facts.unit import Unit
from gangboard.placement.gang_nodes import nodes_for
from gangboard.placement.members import placement_request_of
from gangboard.placement.sentences.excluded_nodes import exclusion_code, find_shape_without_node
from gangboard.placement.unit_placement import fit_rows, placing_of
from tests.domain_objects import (
    NOW,
    a_group,
    a_job,
    a_jobset,
    a_pod,
    a_role,
    a_unit,
    child_jobs,
    facts_of,
    pods_of,
    requests,
)
from tests.placement.making import CORDON, GPU, S, T, node, port

FOUR = tuple(node(f"n{index}") for index in range(4))


def a_gang(
    waiting: int, *, quorum: int | None = None, ask: str = "1", on: tuple[str, ...] = (), **pod: Any
) -> tuple[Any, ...]:
    """A Job `train` with its group: so many waiting pods of `ask` GPUs, and one on each node of `on`."""
    job = a_job(pods=waiting + len(on), requests=requests(gpu=ask))
    group = a_group(quorum=quorum, of=job)
    ask_of = {"requests": requests(gpu=ask), "of": job, "group": group, **pod}
    placed = [a_pod(f"train-p{index}", on=name, **ask_of) for index, name in enumerate(on)]
    return job, group, *placed, *(a_pod(f"train-{index}", **ask_of) for index in range(waiting))


def a_unit_of(objects: tuple[Any, ...], nodes: tuple[NodeInfo, ...] = FOUR, **facts: Any) -> Unit:
    owner, *rest = objects
    return a_unit(facts_of(owner, *rest, **{"room": ClusterCapacity(nodes), **facts}))


def placing_for(unit: Unit) -> PlacementResult:
    answer = placing_of(unit)
    assert answer is not None
    return answer


def cause(answer: PlacementResult) -> PlacementCause:
    assert answer.assessment is not None
    return answer.assessment.cause


def only_shape(answer: PlacementResult) -> ShapeFit:
    (item,) = answer.shapes
    return item


# Who waits


def test_a_running_unit_needs_no_placement() -> None:
    assert placing_of(a_unit_of(a_gang(0, on=("n0", "n1")))) is None


@pytest.mark.parametrize(
    "pod", [{"gates": ("hold",)}, {"deleting_since": NOW}, {"phase": "Failed"}, {"on": "n1"}]
)
def test_pods_that_cannot_be_scheduled_now_are_not_waiting(pod: dict[str, Any]) -> None:
    job = a_job(pods=1)
    assert placing_of(a_unit_of((job, a_pod(of=job, **pod)))) is None


def test_all_waiting_pods_are_one_request() -> None:
    request = placement_request_of(a_unit_of(a_gang(3, quorum=3, ask="4")))
    assert (request.size, request.quorum, request.topology_keys) == (3, 3, ())
    (pod_set,) = request.pod_sets
    assert (pod_set.shape.name, pod_set.shape.requests) == ("train", {GPU: Decimal(4)})


def test_members_with_a_node_count_for_the_quorum() -> None:
    assert placement_request_of(a_unit_of(a_gang(3, quorum=4, on=("n0", "n1")))).quorum == 2


def terminating(pod: Any) -> Any:
    return replace(pod, meta=replace(pod.meta, deleting_since=NOW))


def test_terminating_members_count_to_the_quorum_until_deleted() -> None:
    # podgroupstate.go (1.36, 1.37) never looks at deletionTimestamp.
    job, group, *pods = a_gang(2, quorum=4, on=("n0", "n1"))
    assert (
        placement_request_of(a_unit_of((job, group, terminating(pods[0]), *pods[1:]))).quorum == 2
    )
    job, group, *pods = a_gang(1, quorum=4, on=("n0", "n1", "n2", "n3"))
    unit = a_unit_of((job, group, *pods[:2], *map(terminating, pods[2:4]), pods[4]))
    assert (placement_request_of(unit).size, placement_request_of(unit).quorum) == (1, None)


def test_beyond_the_quorum_the_question_is_about_all_that_wait() -> None:
    # The scheduler then places each pod individually. A quorum of zero would always fit.
    assert placement_request_of(a_unit_of(a_gang(2, quorum=2, on=("n0", "n1")))).quorum is None


def test_a_nominated_member_still_waits() -> None:
    unit = a_unit_of(a_gang(2, quorum=2, nominated_node="n0"))
    assert (placement_request_of(unit).size, placement_request_of(unit).quorum) == (2, 2)


def test_all_pods_are_needed_without_a_gang() -> None:
    request = placement_request_of(a_unit_of(a_gang(3, on=("n0",))))
    assert (request.size, request.quorum, request.needed) == (3, None, 3)


def test_pods_of_another_gang_in_the_group_are_placed_with_it() -> None:
    job, group, *pods = a_gang(1, quorum=3)
    foreign_pod = a_pod(
        "guest-0", of=a_job("guest"), group=group.meta.ref.name, requests=requests(cpu="2")
    )
    existing = replace(foreign_pod, node="n0")
    unit = a_unit_of((job, group, *pods), foreign_pods=(foreign_pod, existing))
    request = placement_request_of(unit)
    assert {pod_set.shape.name: pod_set.count for pod_set in request.pod_sets} == {
        "train": 1,
        "guest": 1,
    }
    assert request.quorum == 2


# Shapes and their names


def a_set(*parts: Any, **pod: Any) -> Unit:
    jobset = a_jobset("run", *parts)
    jobs = child_jobs(jobset)
    pods = [item for job in jobs for item in pods_of(job, job.desired, **pod)]
    return a_unit_of((jobset, *jobs, *pods))


def test_a_shape_has_the_name_of_its_job() -> None:
    request = placement_request_of(
        a_set(a_role("driver", pods=1), a_role("workers", pods=3, ask="4"))
    )
    names = {pod_set.shape.name: pod_set.count for pod_set in request.pod_sets}
    assert names == {"run-driver-0": 1, "run-workers-0": 3}


def test_several_jobs_of_a_part_are_named_by_the_part() -> None:
    request = placement_request_of(
        a_set(a_role("driver", pods=1, ask="2"), a_role("workers", jobs=3))
    )
    names = {pod_set.shape.name: pod_set.count for pod_set in request.pod_sets}
    assert names == {"run-driver-0": 1, "workers": 6}


def test_roles_with_equal_requests_are_one_shape() -> None:
    (pod_set,) = placement_request_of(a_set(a_role("driver", pods=1), a_role("workers"))).pod_sets
    assert (pod_set.shape.name, pod_set.count) == ("driver and workers", 3)


def test_pods_of_one_job_with_different_requests_have_different_names() -> None:
    job = a_job(pods=2)
    pods = (a_pod("a", of=job), a_pod("b", of=job, requests=requests(cpu="2")))
    pod_sets = placement_request_of(a_unit_of((job, *pods))).pod_sets
    assert [pod_set.shape.name for pod_set in pod_sets] == ["train", "train (2)"]


def test_a_pod_without_an_owner_has_its_own_name() -> None:
    pods = (a_pod("lone"),)
    (pod_set,) = placement_request_of(a_unit_of((a_job(pods=1), *pods))).pod_sets
    assert pod_set.shape.name == "lone"


def test_pod_constraints_are_part_of_the_shape() -> None:
    needs = PodConstraints(
        (("pool", "a"),),
        host_ports=frozenset({port(80)}),
        anti_affinity=(S, T),
        unsupported=("volumes",),
        undecidable=("devices",),
    )
    (pod_set,) = placement_request_of(a_unit_of(a_gang(2, needs=needs))).pod_sets
    shape = pod_set.shape
    assert dict(shape.node_selector) == {"pool": "a"}
    assert shape.host_ports == {port(80)}
    assert shape.anti_affinity == {S, T}
    assert shape.unsupported == ("volumes",)
    assert shape.undecidable == ("devices",)


# Claims that must not be made


def test_a_request_that_could_not_be_read_only_takes_away() -> None:
    unit = a_unit_of(a_gang(2, unread_requests=("memory",)))
    answer = placing_for(unit)
    assert cause(answer) is PlacementCause.CANNOT_TELL
    assert answer.assessment is not None
    assert answer.assessment.now.but_for == ("a request of memory that could not be read",)
    # 5 pods of 4 GPUs do not fit on four nodes of 4, for any amount of memory.
    assert (
        cause(placing_for(a_unit_of(a_gang(5, ask="4", unread_requests=("memory",)))))
        is PlacementCause.TOO_LARGE
    )


def test_siblings_in_a_tree_are_placed_together() -> None:
    job, group, *pods = a_gang(2, quorum=2, ask="4")
    group = a_group(quorum=2, of=job, parent_name="tree")
    answer = placing_for(a_unit_of((job, group, *pods)))
    assert answer.assessment is not None
    assert answer.assessment.why == (
        "not worked out: the other groups of the CompositePodGroup tree"
    )
    assert cause(placing_for(a_unit_of((job, group, *pods), FOUR[:1]))) is PlacementCause.TOO_LARGE


def test_nodes_that_cannot_be_read() -> None:
    unit = a_unit_of(a_gang(2, quorum=2), room=ClusterCapacity(why="nodes: forbidden"))
    answer = placing_for(unit)
    assert (answer.assessment, answer.shapes, answer.why) == (None, (), "nodes: forbidden")
    (row,) = fit_rows(replace(unit, placing=answer))
    assert (row.why, row.waiting, row.requests) == ("nodes: forbidden", 2, {GPU: "1"})


# Anti-affinity, both ways


def test_members_match_the_terms_of_pods_on_nodes_and_their_own() -> None:
    """The labels of the members count, independent of their own terms."""
    distant_term = replace(T, name="team-a/app=t by zone", is_exact=False)
    nodes = (
        replace(node("n0"), now=Requested({}, 2, anti_affinity={S: 1, distant_term: 1})),
        node("n1"),
    )
    job = a_job(pods=3)
    pods = (
        a_pod("a", of=job, labels={"app": "s"}, requests={}),
        a_pod("b", of=job, labels={"app": "t"}, requests={}),
        a_pod(
            "c", of=job, labels={"app": "u"}, needs=PodConstraints(anti_affinity=(T,)), requests={}
        ),
    )
    first, second, third = (
        pod_set.shape
        for pod_set in sorted(
            placement_request_of(a_unit_of((job, *pods), nodes)).pod_sets,
            key=lambda pod_set: [
                S in pod_set.shape.matched_terms,
                T in pod_set.shape.matched_terms,
            ],
            reverse=True,
        )
    )
    assert [set(item.matched_terms) for item in (first, second, third)] == [{S}, {T}, set()]
    assert [set(item.anti_affinity) for item in (first, second, third)] == [set(), set(), {T}]
    assert second.unsupported == ("anti-affinity of other pods",)
    assert first.unsupported == third.unsupported == ()


def test_a_pod_with_a_term_keeps_members_out() -> None:
    stored = (replace(node("n0"), now=Requested({}, 1, anti_affinity={S: 1})),)
    job, group, *_ = a_gang(2, quorum=2)
    request = {"requests": requests(gpu="1"), "of": job, "group": group}
    pods = [a_pod(f"train-{index}", labels={"app": "s"}, **request) for index in range(2)]
    answer = placing_for(a_unit_of((job, group, *pods), stored))
    assert cause(answer) is PlacementCause.CONSTRAINED
    assert answer.assessment is not None
    assert answer.assessment.constraints == (Constraint.ANTI_AFFINITY,)
    rest = [replace(pod, labels={"app": "u"}) for pod in pods]
    assert cause(placing_for(a_unit_of((job, group, *rest), stored))) is PlacementCause.FITS
    # Two of them share a node, because they have no anti-affinity.
    neighbours = (replace(node("n0"), now=Requested({}, 1, anti_affinity={T: 1})),)
    assert cause(placing_for(a_unit_of((job, group, *pods), neighbours))) is PlacementCause.FITS


# Its own nominated pods


def test_reserved_capacity_is_available_to_its_own_pods() -> None:
    # Both nodes are full with the reservations of the two pods themselves.
    stored = tuple(
        replace(node(f"n{index}"), now=Requested({GPU: 4, "cpu": 500}, 2, frozenset({port(80)})))
        for index in range(2)
    )
    job, group, *_ = a_gang(2, quorum=2)
    request = {"requests": requests(gpu="4"), "of": job, "group": group}
    needs = PodConstraints(host_ports=frozenset({port(80)}))
    pods = [
        a_pod(f"train-{index}", nominated_node=f"n{index}", needs=needs, **request)
        for index in range(2)
    ]
    unit = a_unit_of((job, group, *pods), stored)
    assert nodes_for(unit)[0].now == Requested({GPU: 0, "cpu": 500}, 1)
    assert cause(placing_for(unit)) is PlacementCause.FITS
    rest = [replace(pod, nominated_node="") for pod in pods]
    assert cause(placing_for(a_unit_of((job, group, *rest), stored))) is not PlacementCause.FITS


def test_a_port_that_a_running_member_holds_stays_taken() -> None:
    taken = replace(node("n0"), now=Requested({GPU: 2}, 2, frozenset({port(80)}), {S: 2}, {S: 2}))
    needs = PodConstraints(host_ports=frozenset({port(80)}), anti_affinity=(S,))
    job, group, *_ = a_gang(1, on=("n0",))
    request = {"requests": requests(gpu="1"), "of": job, "group": group, "needs": needs}
    request["labels"] = {"app": "s"}
    pods = (a_pod("train-0", on="n0", **request), a_pod("train-1", nominated_node="n0", **request))
    unit = a_unit_of((job, group, *pods), (taken,))
    assert nodes_for(unit)[0].now == Requested({GPU: 1}, 1, frozenset({port(80)}), {S: 1}, {S: 1})


# Topology

RACKS = tuple(node(f"n{index}", labels={"rack": "ab"[index // 2]}) for index in range(4))


def test_members_with_a_node_have_chosen_the_rack() -> None:
    job, group, *pods = a_gang(1, quorum=2, ask="4", on=("n2",))
    group = replace(a_group(quorum=2, of=job), topology_keys=("rack",))
    unit = a_unit_of((job, group, *pods), RACKS)
    assert placement_request_of(unit).domain == ("b",)
    answer = placing_for(unit)
    assert answer.assessment is not None
    assert set(answer.assessment.now.placement) <= {"n2", "n3"}


def test_the_fit_table_of_members_whose_rack_is_chosen() -> None:
    """Rack a has two free nodes that are of no use; of rack b one node is taken by the member."""
    nodes = (*RACKS[:2], replace(RACKS[2], now=Requested({GPU: 4}, 1)), RACKS[3])
    nodes = (*nodes, node("c0", gpu=0, labels={"rack": "a"}), node("x0"))
    job, group, *pods = a_gang(1, quorum=2, ask="4", on=("n2",))
    group = replace(a_group(quorum=2, of=job), topology_keys=("rack",))
    unit = a_unit_of((job, group, *pods), nodes)
    (row,) = fit_rows(replace(unit, placing=placing_of(unit)))
    assert (row.fits_now, row.fits_empty, row.open_nodes, row.nodes) == (1, 2, 1, 6)
    assert row.saturated == (
        FitReason("topology", 2, "", ("n0", "n1")),
        FitReason(GPU, 1, "", ("n2",)),
    )
    assert row.excluded == (
        FitReason("no label of the topology key", 1, "rack", ("x0",)),
        FitReason("does not have a requested resource", 1, GPU, ("c0",)),
    )


def test_the_chosen_rack_is_full() -> None:
    """A full node elsewhere does not help and counts as elsewhere."""
    full = [replace(rack, now=Requested({GPU: 4}, 1)) for rack in RACKS]
    job, group, *pods = a_gang(1, quorum=3, ask="4", on=("n2", "n3"))
    group = replace(a_group(quorum=3, of=job), topology_keys=("rack",))
    answer = placing_for(a_unit_of((job, group, *pods), (RACKS[0], *full[1:])))
    assert (cause(answer), only_shape(answer).now, only_shape(answer).open_nodes) == (
        PlacementCause.CONSTRAINED,
        0,
        0,
    )
    assert only_shape(answer).saturated == (
        (GPU, 2, ("n2", "n3")),
        ("topology", 2, ("n0", "n1")),
    )


@pytest.mark.parametrize("on", [("n0", "n2"), ("gone",)])
def test_members_in_two_racks_or_on_a_missing_node(on: tuple[str, ...]) -> None:
    job, group, *pods = a_gang(1, quorum=4, on=on)
    group = replace(a_group(quorum=len(on) + 1, of=job), topology_keys=("rack",))
    answer = placing_for(a_unit_of((job, group, *pods), RACKS))
    assert answer.request.domain is None
    assert answer.assessment is not None
    assert answer.assessment.why == (
        "not worked out: the topology domain that members with a node have chosen"
    )


def test_a_rack_that_is_too_small() -> None:
    job, group, *pods = a_gang(3, quorum=3, ask="4")
    group = replace(a_group(quorum=3, of=job), topology_keys=("rack",))
    answer = placing_for(a_unit_of((job, group, *pods), RACKS))
    assert answer.assessment is not None
    assert (cause(answer), answer.assessment.constraints) == (
        PlacementCause.CONSTRAINED,
        (Constraint.TOPOLOGY,),
    )
    assert (answer.assessment.empty.answer, only_shape(answer).now) == (FitAnswer.NO, 4)


# Telling causes apart


def test_no_nodes_at_all() -> None:
    answer = placing_for(a_unit_of(a_gang(2), ()))
    assert (cause(answer), answer.has_no_nodes) == (PlacementCause.NO_ELIGIBLE_NODE, True)
    assert exclusion_code_of(a_unit_of(a_gang(2), ())) == "no-nodes"


def exclusion_code_of(unit: Unit) -> str:
    """Return the code of the finding that no node can ever host a member."""
    answer = placing_for(unit)
    assert cause(answer) is PlacementCause.NO_ELIGIBLE_NODE
    return exclusion_code(unit, answer.shapes)


def test_which_filter_is_the_trouble() -> None:
    pool = PodConstraints((("pool", "a"),))
    cordoned = node("n8", unschedulable=True, taints=(CORDON,))
    tainted = [node(f"t{index}", taints=(Taint("gpu", "NoSchedule"),)) for index in range(2)]
    assert exclusion_code_of(a_unit_of(a_gang(2, needs=pool))) == "no-matching-node"
    # n8 is the only requested node, and it is cordoned.
    expected = replace(cordoned, labels={HOSTNAME: "n8", "pool": "a"})
    assert (
        exclusion_code_of(a_unit_of(a_gang(2, needs=pool), (*FOUR, expected)))
        == "nodes-unschedulable"
    )
    # Two are tainted, one is cordoned.
    assert exclusion_code_of(a_unit_of(a_gang(2), (cordoned, *tainted))) == "untolerated-taint"
    # Nodes of the pool have no GPU: the selector took the others before. No driver serves any.
    bare = node("c0", gpu=0, labels={"pool": "a"})
    unit = a_unit_of(a_gang(2, needs=pool), (*FOUR, bare), kubernetes=(1, 35))
    assert exclusion_code_of(unit) == "no-matching-node"


def test_a_driver_may_serve_resources_no_node_lists() -> None:
    # DRAExtendedResource, on since 1.36: amounts are not compared if a DeviceClass has the name.
    bare = node("c0", gpu=0), node("c1", gpu=0, labels={"pool": "a"})
    answer = placing_for(a_unit_of(a_gang(2), bare, kubernetes=(1, 36)))
    assert answer.assessment is not None
    assert (cause(answer), answer.assessment.why) == (
        PlacementCause.CANNOT_TELL,
        "not understood: devices that a DeviceClass may serve as nvidia.com/gpu",
    )
    # Where no node is selected, it is all the same what nodes have.
    nowhere = a_gang(2, needs=PodConstraints((("pool", "b"),)))
    assert exclusion_code_of(a_unit_of(nowhere, bare, kubernetes=(1, 36))) == "no-matching-node"
    # One node that lists it: the amounts are compared there.
    assessment = placing_for(a_unit_of(a_gang(2), (*bare, FOUR[0]), kubernetes=(1, 36)))
    assert cause(assessment) is PlacementCause.FITS
    assert exclusion_code_of(a_unit_of(a_gang(2, ask="8"))) == "no-matching-node"
    silent = node("n9", taints=(Taint("node.kubernetes.io/not-ready", "NoExecute"),))
    assert exclusion_code_of(a_unit_of(a_gang(1), (silent,))) == "nodes-unschedulable"


def test_only_the_shape_without_a_node_is_named() -> None:
    jobset = a_jobset("run", a_role("driver", pods=1), a_role("workers", pods=2, ask="4"))
    driver, workers = child_jobs(jobset)
    pods = (
        *pods_of(driver, 1, needs=PodConstraints((("pool", "none"),))),
        *pods_of(workers, 2),
    )
    unit = a_unit_of((jobset, driver, workers, *pods))
    without = find_shape_without_node(placing_for(unit).shapes)
    assert without is not None
    assert (without.shape.name, exclusion_code_of(unit)) == ("run-driver-0", "no-matching-node")


def test_pods_of_a_node_are_used_up() -> None:
    full = tuple(
        replace(item, allocatable={**item.allocatable, PODS: 2}, now=Requested(pods=2))
        for item in FOUR
    )
    answer = placing_for(a_unit_of(a_gang(2), full))
    assert answer.assessment is not None
    assert (cause(answer), answer.assessment.deciding) == (PlacementCause.OCCUPIED, PODS)
    assert only_shape(answer).saturated == ((PODS, 4, ("n0", "n1", "n2")),)


def test_pods_of_the_only_nodes_with_devices_are_used_up() -> None:
    # Free devices are on n0, where no pod may be added; free pods are on n1, whose devices are taken.
    nodes = (
        replace(node("n0"), allocatable={"cpu": 8000, GPU: 4, PODS: 1}, now=Requested(pods=1)),
        node("n1", used=4),
    )
    answer = placing_for(a_unit_of(a_gang(1), nodes))
    assert answer.assessment is not None
    # Either would do: neither is the one.
    assert (cause(answer), answer.assessment.deciding) == (PlacementCause.FRAGMENTED, "")
    # With devices wanted for two pods, only pods are lacking: one is left on each of two nodes.
    tight = tuple(
        replace(
            node(f"n{index}"), allocatable={"cpu": 8000, GPU: 4, PODS: 3}, now=Requested(pods=2)
        )
        for index in range(2)
    )
    answer = placing_for(a_unit_of(a_gang(3), tight))
    assert answer.assessment is not None
    assert (cause(answer), answer.assessment.deciding) == (PlacementCause.SHORT, PODS)


def test_a_waiting_gang_fits() -> None:
    answer = placing_for(a_unit_of(a_gang(4, quorum=4, ask="4", text="0/4 nodes are available")))
    assert cause(answer) is PlacementCause.FITS


# The node-fit table


def test_the_node_fit_table() -> None:
    nodes = (
        node("n0"),
        node("n1", used=1),
        node("n2", used=4),
        node("n3", used=3),
        node("n4", unschedulable=True),
        node("n5", taints=(Taint("gpu", "NoSchedule"),)),
        node("n6", taints=(Taint("gpu", "NoSchedule"),)),
        node("n7", taints=(Taint("spot", "NoExecute", "yes"),)),
        node("c0", gpu=0),
        node("c1", gpu=2),
    )
    unit = a_unit_of(
        a_gang(6, quorum=6, ask="3", requests={GPU: Decimal(3), "cpu": Decimal("0.50")}), nodes
    )
    (row,) = fit_rows(replace(unit, placing=placing_of(unit)))
    assert row == FitRow(
        unit="train-group",
        shape="train",
        waiting=6,
        requests={"cpu": "0.5", GPU: "3"},
        fits_now=2,
        fits_empty=4,
        nodes=10,
        open_nodes=2,
        saturated=(FitReason(GPU, 2, "", ("n2", "n3")),),
        excluded=(
            FitReason("does not have a requested resource", 1, GPU, ("c0",)),
            FitReason("too small for one pod when empty", 1, GPU, ("c1",)),
            FitReason("cordoned", 1, "", ("n4",)),
            FitReason(
                "untolerated taint",
                3,
                "gpu:NoSchedule (2), spot=yes:NoExecute (1)",
                ("n5", "n6", "n7"),
            ),
        ),
        blockers=(
            FitBlocker(GPU, "", 2, 2, None, ("n2", "n3")),
            FitBlocker("untolerated taint", "gpu", 2, 2, 2, ("n5", "n6")),
            FitBlocker("cordoned", "", 1, 1, 1, ("n4",)),
            FitBlocker("does not have a requested resource", GPU, 1, 1, None, ("c0",)),
            FitBlocker("too small for one pod when empty", GPU, 1, 1, None, ("c1",)),
            FitBlocker("untolerated taint", "spot", 1, 1, 1, ("n7",)),
        ),
    )


def test_a_unit_without_a_request_has_no_rows() -> None:
    assert fit_rows(a_unit_of(a_gang(2))) == ()
