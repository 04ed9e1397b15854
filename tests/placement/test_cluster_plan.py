"""The plan of a cluster: situations whose plan was worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from gangboard.domain.capacity import (
    ClusterCapacity,
    NodeInfo,
    PlacementRequest,
    PodSet,
    Requested,
    RunningGang,
    Shape,
    Termination,
)
from gangboard.domain.cluster_plan import ClusterPlan, MovablePod, PlanStepKind, WaitingGang
from gangboard.domain.objects import Condition, ObjectRef
from gangboard.domain.pod_constraints import Taint
from gangboard.placement.cluster_plan import make_plan
from gangboard.placement.plan_budget import SearchBudget
from tests.domain_objects import NOW
from tests.placement.making import CORDON, GPU, gang, node, shape, term

RACK = "rack"


def job(name: str, namespace: str = "team-a") -> ObjectRef:
    return ObjectRef("batch", "Job", namespace, name, f"uid-{name}")


def waiting(name: str, request: PlacementRequest, priority: int = 0) -> WaitingGang:
    return WaitingGang(job(name), (request,), priority)


def cordoned(name: str, gpu: int = 4, **options: Any) -> NodeInfo:
    return replace(node(name, gpu, **options), unschedulable=True, taints=(CORDON,))


def holding(
    name: str, on: dict[str, int], *, whole: bool = False, priority: int = 0
) -> RunningGang:
    """A gang with one pod on each of these nodes, which takes that many GPUs."""
    loads = {node: Requested({GPU: amount}, 1) for node, amount in on.items()}
    return RunningGang(f"uid-{name}", job(name), priority, loads, is_whole=whole)


def replica(name: str, on: str, gpu: int, **options: Any) -> MovablePod:
    ref = ObjectRef("", "Pod", "web", name, f"uid-{name}")
    return MovablePod(ref, on, shape("web", gpu, **options), Requested({GPU: gpu}, 1))


def plan(
    nodes: Iterable[NodeInfo],
    gangs: Iterable[WaitingGang],
    running: Sequence[RunningGang] = (),
    pods: Sequence[MovablePod] = (),
    **options: Any,
) -> ClusterPlan:
    capacity = ClusterCapacity(tuple(nodes), running_gangs=lambda: running)
    return make_plan(
        capacity,
        gangs,
        lambda names: [pod for pod in pods if pod.node in names],
        NOW,
        budget=SearchBudget(60),
        **options,
    )


def steps_of(result: ClusterPlan) -> list[tuple[str, list[str], list[tuple[list[str], int]]]]:
    """(kind, names of what changes, gains) of each step."""
    return [
        (
            step.kind.value,
            [ref.name for ref in (step.pods or step.gangs or step.nodes)],
            [([ref.name for ref in gain.gangs], gain.count) for gain in step.gains],
        )
        for step in result.steps
    ]


# Nodes


def test_uncordons_only_the_nodes_that_a_gang_needs() -> None:
    """Eight GPUs are missing: two of three cordoned nodes have four each, and one is too small for a pod."""
    nodes = [cordoned("a"), cordoned("b", 2), cordoned("c"), node("d", used=4)]
    result = plan(nodes, [waiting("run", gang(2, shape(gpu=4)))])
    assert steps_of(result) == [("uncordon", ["a", "c"], [(["run"], 1)])]
    assert result.steps[0].accelerators == 8
    assert (result.waiting_gangs, result.waiting_accelerators) == (1, 8)
    assert result.is_complete


def test_one_node_too_few_is_no_step() -> None:
    assert steps_of(plan([cordoned("a")], [waiting("run", gang(2, shape(gpu=4)))])) == []


def test_a_node_in_maintenance_stays_cordoned() -> None:
    leaving = replace(cordoned("a"), lifecycle=(Condition("DrainInProgress", "True"),))
    assert steps_of(plan([leaving], [waiting("run", gang(1, shape(gpu=4)))])) == []


def test_a_silent_node_stays_cordoned() -> None:
    silent = replace(cordoned("a"), ready=False)
    assert steps_of(plan([silent], [waiting("run", gang(1, shape(gpu=4)))])) == []


def test_a_taint_of_a_person_is_removed_and_one_of_a_controller_stays() -> None:
    by_hand = Taint("team", "NoSchedule", "infra")
    by_controller = Taint("node.kubernetes.io/disk-pressure", "NoSchedule")
    gangs = [waiting("run", gang(1, shape(gpu=4)))]
    (step,) = plan([node("a", taints=(by_hand,))], gangs).steps
    assert (step.kind, step.taint) == (PlanStepKind.REMOVE_TAINT, by_hand)
    assert plan([node("a", taints=(by_controller,))], gangs).steps == ()
    assert plan([node("a", taints=(by_hand, by_controller))], gangs).steps == ()


def test_the_step_with_most_accelerators_for_each_node_comes_first() -> None:
    """One node with eight GPUs lets `large` run. `wide` needs three nodes for six GPUs, of which one is free."""
    nodes = [cordoned("a", 8), *(cordoned(name, 2, labels={"p": "w"}) for name in ("b", "c", "d"))]
    wide = gang(3, shape(gpu=2, node_selector={"p": "w"}))
    large = gang(1, shape(gpu=8))
    result = plan(nodes, [waiting("wide", wide), waiting("large", large)])
    assert steps_of(result) == [
        ("uncordon", ["a"], [(["large"], 1)]),
        ("uncordon", ["b", "c", "d"], [(["wide"], 1)]),
    ]


def test_equal_gangs_are_promised_by_number() -> None:
    """One node for two equal gangs: one of them runs, whichever it is."""
    gangs = [waiting(name, gang(1, shape(gpu=4))) for name in ("one", "two")]
    assert steps_of(plan([cordoned("a")], gangs)) == [("uncordon", ["a"], [(["one", "two"], 1)])]


def test_a_gang_is_not_promised_what_another_may_take_first() -> None:
    """The freed node has room for one gang of four GPUs or for one of three. Nobody knows which comes first."""
    gangs = [waiting("four", gang(1, shape(gpu=4))), waiting("three", gang(1, shape(gpu=3)))]
    result = plan([cordoned("a")], gangs)
    assert steps_of(result) == [("uncordon", ["a"], [])]
    assert result.steps[0].accelerators == 3
    both = steps_of(plan([cordoned("a"), cordoned("b")], gangs))
    assert both == [("uncordon", ["a", "b"], [(["four"], 1), (["three"], 1)])]


def test_a_step_without_a_promise_may_be_followed_at_once() -> None:
    """Nodes a and b each have room for one pod, so either `small` runs on a, or `pair` on both.

    Once web has left a, both run if one of them runs already. If not, `pair` may take both places of a.
    """
    nodes = [cordoned("a", 4, used=1), cordoned("b", 3)]
    small = gang(1, shape(gpu=2, node_selector={"kubernetes.io/hostname": "a"}))
    gangs = [waiting("small", small), waiting("pair", gang(2, shape(gpu=2)))]
    assert steps_of(plan(nodes, gangs, pods=[replica("web", "a", 1)])) == [
        ("uncordon", ["a", "b"], []),
        ("move-pods", ["web"], [(["pair"], 1)]),
    ]


def test_gangs_of_one_size_are_not_promised_by_their_names() -> None:
    """Both request eight GPUs at the same time, one of them in one rack. Either may come first."""
    nodes = [cordoned("a", 8, labels={RACK: "1"})]
    gangs = [
        waiting("rack", gang(2, shape(gpu=4), topology_keys=(RACK,))),
        waiting("any", gang(2, shape(gpu=4))),
    ]
    result = plan(nodes, gangs)
    assert steps_of(result) == [("uncordon", ["a"], [])]
    assert result.steps[0].accelerators == 8


def test_a_gang_in_one_rack_needs_nodes_of_one_rack() -> None:
    nodes = [
        cordoned("a", labels={RACK: "1"}),
        cordoned("b", labels={RACK: "2"}),
        cordoned("c", labels={RACK: "2"}),
    ]
    request = gang(2, shape(gpu=4), topology_keys=(RACK,))
    assert steps_of(plan(nodes, [waiting("run", request)])) == [
        ("uncordon", ["b", "c"], [(["run"], 1)])
    ]
    assert steps_of(plan(nodes[:2], [waiting("run", request)])) == []


def test_a_gang_that_fits_already_needs_no_step_and_takes_its_room() -> None:
    """`now` takes node a. Node b is enough for `later` alone."""
    nodes = [node("a"), cordoned("b")]
    gangs = [waiting("now", gang(1, shape(gpu=4))), waiting("later", gang(1, shape(gpu=4)), 0)]
    result = plan(nodes, gangs)
    (free,) = result.without_steps
    assert (free.count, len(free.gangs)) == (1, 2)
    assert steps_of(result) == [("uncordon", ["b"], [(["later", "now"], 1)])]


def test_capacity_that_becomes_free_by_itself_needs_no_step() -> None:
    """The pod on node a is being deleted. Ending another gang would help nobody."""
    ending = Termination(NOW + timedelta(seconds=30), {"a": Requested({GPU: 4}, 1)}, deleted=True)
    leaving = replace(holding("old", {"a": 4}), terminations=(ending,), by_suspending={})
    nodes = [node("a", used=4), node("b", used=4)]
    result = plan(
        nodes, [waiting("run", gang(1, shape(gpu=4)))], [leaving, holding("half", {"b": 4})]
    )
    assert result.steps == ()
    assert [gain.count for gain in result.without_steps] == [1]


# Incomplete gangs


def test_ends_the_incomplete_gang_and_leaves_the_whole_one_alone() -> None:
    nodes = [node("a", used=4), node("b", used=4)]
    running = [holding("half", {"a": 4}), holding("whole", {"b": 4}, whole=True)]
    result = plan(nodes, [waiting("run", gang(1, shape(gpu=4)), 1)], running)
    assert steps_of(result)[0] == ("end-incomplete", ["half"], [(["run"], 1)])
    assert len(result.steps) == 1


def test_an_incomplete_gang_of_a_higher_priority_stays() -> None:
    running = [holding("half", {"a": 4}, priority=2)]
    assert (
        plan([node("a", used=4)], [waiting("run", gang(1, shape(gpu=4)), 1)], running).steps == ()
    )


def test_an_incomplete_gang_that_is_only_starting_stays() -> None:
    running = [holding("half", {"a": 4})]
    gangs = [waiting("run", gang(1, shape(gpu=4)))]
    assert plan([node("a", used=4)], gangs, running, spared={"uid-half"}).steps == ()


def test_of_two_gangs_that_hold_half_of_each_other_one_ends() -> None:
    """Both request eight GPUs and hold four. Without one of them the other gets its second node."""
    nodes = [node("a", used=4), node("b", used=4)]
    gangs = [waiting(name, gang(1, shape(gpu=4))) for name in ("left", "right")]
    running = [holding("left", {"a": 4}), holding("right", {"b": 4})]
    assert steps_of(plan(nodes, gangs, running)) == [("end-incomplete", ["left"], [(["right"], 1)])]


def test_an_incomplete_gang_is_completed_before_it_is_ended() -> None:
    """Node c lets `half` run. Ending it would let `run` run, but that is no step once `half` is whole."""
    nodes = [node("a", used=4), cordoned("c", 2)]
    gangs = [
        waiting("half", gang(1, shape(gpu=2))),
        waiting("run", gang(1, shape(gpu=4)), 1),
    ]
    result = plan(nodes, gangs, [holding("half", {"a": 4})])
    assert steps_of(result) == [("uncordon", ["c"], [(["half"], 1)])]


# Moves


def test_moving_single_pods_opens_room_for_a_gang() -> None:
    """Nodes a and b each lack one GPU for a pod of the gang, and node c has room for both pods that hold it."""
    nodes = [node("a", used=1), node("b", used=1), node("c", 2)]
    pods = [replica("x", "a", 1), replica("y", "b", 1)]
    result = plan(nodes, [waiting("run", gang(2, shape(gpu=4)))], pods=pods)
    assert steps_of(result) == [("move-pods", ["x", "y"], [(["run"], 1)])]
    assert [ref.name for ref in result.steps[0].nodes] == ["a", "b"]


def test_two_pods_of_one_node_move_for_one_pod_of_a_gang() -> None:
    """Without either of them alone, node a still has too few GPUs."""
    nodes = [replace(node("a"), now=Requested({GPU: 2}, 2)), node("c", 2)]
    pods = [replica("x", "a", 1), replica("y", "a", 1)]
    result = plan(nodes, [waiting("run", gang(1, shape(gpu=4)))], pods=pods)
    assert steps_of(result) == [("move-pods", ["x", "y"], [(["run"], 1)])]


def test_a_pod_without_another_place_is_not_moved() -> None:
    nodes = [node("a", used=1), node("b", used=1), node("c", 1)]
    pods = [replica("x", "a", 1), replica("y", "b", 1)]
    assert plan(nodes, [waiting("run", gang(2, shape(gpu=4)))], pods=pods).steps == ()


def test_a_pod_that_must_stay_on_its_pool_is_not_moved() -> None:
    nodes = [node("a", used=1, labels={"p": "x"}), node("c", 2)]
    pods = [replica("x", "a", 1, node_selector={"p": "x"})]
    assert plan(nodes, [waiting("run", gang(1, shape(gpu=4)))], pods=pods).steps == ()


def test_only_as_many_pods_move_as_needed() -> None:
    """Four of eight GPUs are held by pods of one, two and one. The gang needs six."""
    nodes = [node("a", 8, used=4), node("c", 4)]
    nodes[0] = replace(nodes[0], now=Requested({GPU: 4}, 3))
    pods = [replica("x", "a", 1), replica("y", "a", 2), replica("z", "a", 1)]
    result = plan(nodes, [waiting("run", gang(1, shape(gpu=6)))], pods=pods)
    assert steps_of(result) == [("move-pods", ["y"], [(["run"], 1)])]


# Whole gangs


def test_a_whole_gang_stops_only_in_the_last_steps_and_for_more_than_it_holds() -> None:
    nodes = [node("a", used=4), node("b")]
    small = [holding("whole", {"a": 4}, whole=True)]
    result = plan(nodes, [waiting("run", gang(2, shape(gpu=4)))], small)
    assert steps_of(result) == [("stop-whole", ["whole"], [(["run"], 1)])]
    equal = plan(nodes[:1], [waiting("run", gang(1, shape(gpu=4)))], small)
    assert equal.steps == ()
    higher = plan(nodes[:1], [waiting("run", gang(1, shape(gpu=4)), 1)], small)
    assert steps_of(higher) == [("stop-whole", ["whole"], [(["run"], 1)])]


# What is never promised


def test_a_gang_with_a_requirement_that_is_not_worked_out_is_not_promised() -> None:
    result = plan(
        [cordoned("a")], [waiting("run", gang(1, shape(gpu=4, unsupported=("volumes",))))]
    )
    assert (result.steps, result.undecided, result.waiting_accelerators) == ((), 1, 4)


def test_an_undecided_gang_may_take_the_room_of_another() -> None:
    unclear = waiting("unclear", gang(1, shape(gpu=3, unsupported=("volumes",))))
    assert plan([cordoned("a")], [waiting("run", gang(1, shape(gpu=4))), unclear]).steps == ()


def test_too_few_pods_for_the_quorum_are_not_promised() -> None:
    assert plan([cordoned("a")], [waiting("run", gang(1, shape(gpu=1), quorum=2))]).steps == ()


def test_a_gang_runs_only_with_all_its_units() -> None:
    two = WaitingGang(job("two"), (gang(1, shape(gpu=4)), gang(1, shape(gpu=2))))
    assert plan([cordoned("a"), cordoned("b", 1)], [two]).steps == ()
    assert steps_of(plan([cordoned("a"), cordoned("b", 2)], [two])) == [
        ("uncordon", ["a", "b"], [(["two"], 1)])
    ]


def test_gangs_that_keep_each_other_off_are_not_promised_together() -> None:
    """The pods of each gang share no node with those of the other, so their labels decide, which are not known."""
    apart = shape(gpu=2, anti_affinity=frozenset({term("s")}), matched_terms=frozenset({term("s")}))
    gangs = [
        waiting("one", gang(1, apart)),
        waiting("two", gang(1, replace(apart, requests={GPU: Decimal(1)}))),
    ]
    result = plan([cordoned("a"), cordoned("b")], gangs)
    assert sum(step.gang_count for step in result.steps) <= 1


def test_pods_placed_one_by_one_may_take_part_of_the_room() -> None:
    """`many` has no quorum: of its four pods two fit on the freed node, and the scheduler places them."""
    many = waiting("many", gang(4, shape(gpu=2)))
    run = waiting("run", gang(1, shape(gpu=3)))
    assert plan([cordoned("a")], [many, run]).steps == ()


def test_unknown_nodes_give_no_plan() -> None:
    capacity = ClusterCapacity(why="nodes: forbidden")
    result = make_plan(capacity, [waiting("run", gang(1, shape(gpu=4)))], lambda _: (), NOW)
    assert (result.why, result.steps) == ("nodes: forbidden", ())


def test_a_plan_that_ran_out_of_time_says_so() -> None:
    capacity = ClusterCapacity((cordoned("a"),))
    run = waiting("run", gang(1, shape(gpu=4)))
    result = make_plan(capacity, [run], lambda _: (), NOW, budget=SearchBudget(0))
    assert (result.is_complete, result.steps) == (False, ())


def test_equal_requests_are_one_class_whatever_the_names_are() -> None:
    first = WaitingGang(job("a"), (PlacementRequest((PodSet(Shape("a", {GPU: Decimal(1)}), 2),)),))
    second = replace(first, ref=job("b"), requests=(gang(2, shape("b", gpu=1)),))
    assert first.requirements == second.requirements
    assert first.requirements != replace(second, priority=1).requirements


# Large clusters

FULL_NODES, SMALL_GANGS = 2_000, 600


def large_cluster() -> tuple[list[NodeInfo], list[WaitingGang]]:
    """Full nodes, cordoned ones, a tainted one, and gangs that all request something else.

    32 cordoned nodes let `wide` run with 256 GPUs, and the tainted one lets `narrow` run with 4 GPUs. No other gang
    fits anywhere.
    """
    nodes = [
        *(node(f"full-{number:04}", 8, used=8) for number in range(FULL_NODES)),
        *(cordoned(f"wide-{number:02}", 8, labels={"pool": "wide"}) for number in range(32)),
        node("narrow", 8, labels={"pool": "narrow"}, taints=(Taint("team", "NoSchedule", "a"),)),
    ]
    wide = shape(gpu=8, node_selector={"pool": "wide"})
    narrow = shape(gpu=4, node_selector={"pool": "narrow"})
    gangs = [waiting("wide", gang(32, wide)), waiting("narrow", gang(1, narrow))]
    gangs += [
        waiting(f"small-{number}", gang(2, replace(shape(gpu=1), requests=small_requests(number))))
        for number in range(SMALL_GANGS)
    ]
    return nodes, gangs


def small_requests(number: int) -> dict[str, Decimal]:
    """One GPU, and more CPU than any node has."""
    return {GPU: Decimal(1), "cpu": Decimal(9) + Decimal(number) / 1000}


def plan_within(placements: int) -> ClusterPlan:
    nodes, gangs = large_cluster()
    budget = SearchBudget(600, placements)
    result = make_plan(ClusterCapacity(tuple(nodes)), gangs, lambda _: (), NOW, budget=budget)
    assert budget.placements <= placements
    return result


def test_the_best_step_of_a_large_cluster_takes_few_placements() -> None:
    """Work follows what changes: gangs that fit nowhere cost no placement, whatever their number is."""
    result = plan_within(300)
    wide, narrow = result.steps
    assert (wide.accelerators, len(wide.nodes)) == (256, 32)
    assert (narrow.accelerators, [ref.name for ref in narrow.nodes]) == (4, ["narrow"])
    assert (result.waiting_gangs, result.untried, result.is_complete) == (SMALL_GANGS + 2, (), True)


def test_the_end_of_the_budget_cuts_the_smaller_step_and_says_so() -> None:
    result = plan_within(32)
    assert [step.accelerators for step in result.steps] == [256]
    untried = {entry.kind: (entry.gangs, entry.accelerators) for entry in result.untried}
    assert not result.is_complete
    assert untried[PlanStepKind.REMOVE_TAINT] == (SMALL_GANGS + 1, 2 * SMALL_GANGS + 4)


def test_without_budget_for_the_rooms_all_gangs_are_untried() -> None:
    result = plan_within(0)
    assert (result.steps, result.without_steps, result.is_complete) == ((), (), False)
    everything = (SMALL_GANGS + 2, 2 * SMALL_GANGS + 260)
    assert [(entry.gangs, entry.accelerators) for entry in result.untried] == [everything] * 5
