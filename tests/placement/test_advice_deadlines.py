"""Advice to wait: deadlines have the time of day, and terminating pods are not to be removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from gangboard.domain.advice import Advice, AdviceKind
from gangboard.domain.capacity import NodeInfo, Requested, RunningGang, Termination
from gangboard.domain.pod_constraints import PodConstraints
from gangboard.domain.verdict import NAMED_IN_ADVICE
from gangboard.facts.unit import Unit
from gangboard.placement.advice.ranking import advise
from gangboard.placement.unit_placement import placing_of
from tests.domain_objects import NOW
from tests.placement.making import CORDON, GPU, S, node
from tests.placement.test_advice import advice_of_kind, kinds, resident, waiting
from tests.rules.evaluation import evaluate as ask


def held(name: str, *ends: Termination, **options: Any) -> RunningGang:
    """A gang with that many ending pods. `more` is its remaining usage."""
    kind = options.pop("kind", "Job")
    gang = resident(name, kind=kind, **options)
    loads = dict(gang.loads)
    for end in ends:
        for place, load in end.loads.items():
            old = loads.get(place, Requested())
            amounts = {GPU: old.amounts.get(GPU, 0) + load.amounts[GPU]}
            loads[place] = Requested(amounts, old.pods + load.pods)
    return replace(gang, loads=loads, terminations=ends)


def ending(minutes: float, *, pods: int = 1, deleted: bool = False, **gpus: int) -> Termination:
    """Pods that end so many minutes from now and hold that many GPUs on these nodes."""
    loads = {place: Requested({GPU: count}, pods) for place, count in gpus.items()}
    return Termination(NOW + timedelta(minutes=minutes), loads, deleted)


def deleted_gang(name: str, minutes: float, **gpus: int) -> RunningGang:
    """A gang all of whose pods are being deleted."""
    return replace(held(name, ending(minutes, deleted=True, **gpus)), by_suspending={})


def advised(
    nodes: Sequence[NodeInfo], pods: int, gpu: int, *existing: RunningGang, **options: Any
) -> tuple[Advice, ...]:
    return advise(waiting(nodes, pods, gpu, quorum=pods, running_gangs=existing, **options))


FULL = node("a", 4, 4)


# Deadlines


def test_the_deadline_is_shown_as_the_time_of_day() -> None:
    result = advised([FULL], 1, 4, held("batch", ending(12, a=4)))[0]
    assert result.change is AdviceKind.WAIT_FOR_END
    assert result.text == (
        "Wait for Job team-b/batch, which ends at 12:12 UTC at the latest (its deadline): "
        "then the pod fits."
    )
    assert result.at == result.until == NOW + timedelta(minutes=12)
    assert [ref.name for ref in result.gangs] == ["batch"]


def test_the_time_is_rounded_up_and_has_a_date_on_another_day() -> None:
    result = advised([FULL], 1, 4, held("batch", ending(12.4, a=4)))[0]
    assert "ends at 12:13 UTC at the latest" in result.text
    assert result.at == NOW + timedelta(minutes=12.4)
    assert result.until == NOW + timedelta(minutes=13)
    result = advised([FULL], 1, 4, held("batch", ending(13 * 60, a=4)))[0]
    assert "ends at 2026-11-22 01:00 UTC at the latest" in result.text


def test_a_bare_pod_and_a_gang_of_any_kind_are_waited_for_and_never_suspended() -> None:
    for kind in ("Pod", "PodGroup"):
        gang = replace(held("x", ending(12, a=4), kind=kind), suspendable=False)
        result = advised([FULL], 1, 4, gang)
        assert result[0].text.startswith(f"Wait for {kind} team-b/x, which ends at 12:12 UTC")
        assert result[0].change is AdviceKind.WAIT_FOR_END, "its reader need not see what it names"
        assert AdviceKind.SUSPEND_GANGS not in kinds(result)


def test_pods_with_a_deadline_end_independently_of_their_gang() -> None:
    gang = held("batch", ending(12, pods=2, a=4), b=4)
    result = advised([FULL, node("b", 4, 4)], 1, 4, gang)[0]
    assert result.text == (
        "Wait for 2 pods of Job team-b/batch, which end at 12:12 UTC at the latest "
        "(their deadline): then the pod fits."
    )


def test_the_first_sufficient_deadline_is_named() -> None:
    nodes = [FULL, node("b", 4, 4), node("c", 4, 4)]
    early, late = held("late", ending(40, a=4)), held("early", ending(5, b=2))
    soon = held("soon", ending(9, c=4))
    result = advised(nodes, 1, 4, early, late, soon)[0]
    assert result.text.startswith("Wait for Job team-b/soon, which ends at 12:09 UTC")


def test_several_deadlines_are_named_if_one_is_not_enough() -> None:
    nodes = [FULL, node("b", 4, 4)]
    item, other = held("one", ending(5, a=4)), held("other", ending(9, b=4))
    result = advised(nodes, 2, 4, other, item)[0]
    assert result.text == (
        "Wait for Job team-b/one and Job team-b/other, which end by 12:09 UTC at the latest "
        "(their deadlines): then both pods fit."
    )
    assert result.until == NOW + timedelta(minutes=5)
    # Two of many are named.
    parts = [held(f"g{index}", ending(index + 1, a=1)) for index in range(4)]
    result = advised([FULL], 1, 4, *parts)[0]
    assert result.text.startswith(
        "Wait for Job team-b/g0, Job team-b/g1 and 2 others, which end by 12:04 UTC"
    )
    assert [ref.name for ref in result.gangs] == ["g0", "g1"]


def test_an_end_that_should_have_come_is_not_waited_for() -> None:
    late = held("late", ending(-1, a=4))
    assert AdviceKind.WAIT_FOR_END not in kinds(advised([FULL], 1, 4, late))
    stuck = deleted_gang("stuck", -1, a=4)
    result = kinds(advised([FULL], 1, 4, stuck))
    assert AdviceKind.WAIT_FOR_END not in result
    # Suspending does not help it either.
    assert AdviceKind.SUSPEND_GANGS not in result


def test_the_own_deadline_is_the_end_and_no_help() -> None:
    mine = replace(held("train", ending(5, a=4)), root="uid-train")
    assert AdviceKind.WAIT_FOR_END not in kinds(advised([FULL], 1, 4, mine))


def test_a_deadline_is_advised_if_the_domain_is_too_small() -> None:
    """Two pods in one rack: 4 are free in each, and in r1 a gang ends."""
    nodes = [node("a", 4, labels={"rack": "r1"}), node("b", 4, 4, labels={"rack": "r1"})]
    nodes.append(node("c", 4, labels={"rack": "r2"}))
    result = advised(nodes, 2, 4, held("batch", ending(12, b=4)), keys=("rack",))
    assert kinds(result)[0] is AdviceKind.WAIT_FOR_END
    assert AdviceKind.DROP_TOPOLOGY in kinds(result)


# Pods that are being deleted


def test_a_sufficient_deletion_is_the_only_advice() -> None:
    cordoned = replace(node("b", 4), unschedulable=True, taints=(CORDON,))
    gone = held("gone", ending(2.5, pods=2, deleted=True, a=4))
    (result,) = advised([FULL, cordoned], 1, 4, gone, resident("x", b=0))
    assert result.change is AdviceKind.WAIT_FOR_END
    assert result.text == "Wait: 2 pods on node a will be gone by 12:03 UTC; then the pod fits."
    assert [ref.name for ref in result.named] == ["a"]
    assert result.gangs == ()
    assert result.at == NOW + timedelta(minutes=2.5)
    assert result.until == NOW + timedelta(minutes=3)


def test_terminating_pods_of_the_gang_free_capacity() -> None:
    mine = replace(deleted_gang("train", 1, a=4), root="uid-train")
    (result,) = advised([FULL], 1, 4, mine)
    assert result.text == "Wait: 1 pod on node a will be gone by 12:01 UTC; then the pod fits."


def test_capacity_that_is_reused_helps_only_its_own_gang() -> None:
    """A Job that goes on makes a deleted pod anew, and the new one may be placed there first."""
    end = replace(ending(1, deleted=True, a=4), replaced=True)
    theirs = replace(held("eval", end), by_suspending={})
    assert AdviceKind.WAIT_FOR_END not in kinds(advised([FULL], 1, 4, theirs))
    mine = replace(theirs, root="uid-train")
    assert kinds(advised([FULL], 1, 4, mine)) == [AdviceKind.WAIT_FOR_END]


def test_only_necessary_deletions_are_awaited() -> None:
    nodes = [FULL, node("b", 4, 4), node("c", 0)]
    pods = [deleted_gang("late", 9, a=4), deleted_gang("soon", 1, b=4)]
    (result,) = advised(nodes, 1, 4, *pods)
    assert result.text == "Wait: 1 pod on node b will be gone by 12:01 UTC; then the pod fits."


def test_suspending_is_not_advised_for_capacity_that_frees_itself() -> None:
    """Two pods of 4: a frees itself, and the other pod needs manual steps."""
    result = advised(
        [FULL, node("b", 4, 4)], 2, 4, deleted_gang("gone", 2, a=4), resident("small", b=4)
    )
    room = advice_of_kind(result, AdviceKind.WAIT_FOR_ROOM)
    assert room.free == {"b": {GPU: 4}}
    assert room.text == (
        "Wait for 4 GPUs on node b to become free: then both pods fit, once 1 pod on node a that is being "
        "deleted is gone (12:02 UTC at the latest)."
    )
    assert room.until == NOW + timedelta(minutes=2)
    assert [ref.name for ref in room.nodes] == ["b"]
    assert {ref.name for ref in room.named} == {"a", "b"}
    gangs = advice_of_kind(result, AdviceKind.SUSPEND_GANGS)
    assert [ref.name for ref in gangs.gangs] == ["small"]
    assert gangs.text.endswith(
        "then both pods fit, once 1 pod on node a that is being deleted is gone "
        "(12:02 UTC at the latest)."
    )


def test_a_deadline_before_the_deletion_has_passed() -> None:
    nodes = [FULL, node("b", 4, 4)]
    result = advised(nodes, 2, 4, deleted_gang("gone", 9, a=4), held("batch", ending(5, b=4)))[0]
    assert result.text == (
        "Wait for Job team-b/batch, which ends at 12:05 UTC at the latest (its deadline): then "
        "both pods fit, once 1 pod on node a that is being deleted is gone (12:09 UTC at the latest)."
    )
    assert result.at == NOW + timedelta(minutes=9)
    assert result.until == NOW + timedelta(minutes=5)


def test_deletions_on_other_nodes_change_nothing() -> None:
    other = node("c", 0, 0)
    result = advised([FULL, other], 1, 4, deleted_gang("gone", 2, c=0), resident("small", a=4))
    assert advice_of_kind(result, AdviceKind.SUSPEND_GANGS).text.endswith("then the pod fits.")


def test_suspending_counts_only_permanent_pods() -> None:
    """Half of the gang is stuck in its deletion.

    Without that half the gang does not fit, even after suspensions.
    """
    part = {"a": Requested({GPU: 2}, 1)}
    stuck = replace(held("stuck", ending(-5, deleted=True, a=2), a=2), by_suspending=part)
    assert AdviceKind.SUSPEND_GANGS not in kinds(advised([FULL], 1, 4, stuck))
    suspended = replace(resident("off", a=4), by_suspending={})
    assert AdviceKind.SUSPEND_GANGS not in kinds(advised([FULL], 1, 4, suspended))


def test_a_pod_with_anti_affinity_is_terminating() -> None:
    needs = PodConstraints(anti_affinity=(S,))
    existing = replace(node("a", 8), now=Requested({GPU: 2}, 1, matched_terms={S: 1}))
    load = {"a": Requested({GPU: 2}, 1, matched_terms={S: 1})}
    end = Termination(NOW + timedelta(minutes=1), load, deleted=True)
    gone = replace(resident("gone"), loads=load, terminations=(end,), by_suspending={})
    (result,) = advised([existing], 1, 1, gone, needs=needs)
    assert result.text == "Wait: 1 pod on node a will be gone by 12:01 UTC; then the pod fits."


def test_unknown_placement_gets_no_deadline() -> None:
    unclear = PodConstraints(unsupported=("volumes",))
    assert advised([FULL], 1, 4, deleted_gang("gone", 2, a=4), needs=unclear) == ()


def test_a_finding_with_a_known_end_is_judged_again_when_it_must_have_come() -> None:
    """Names of gangs and nodes are evidence, so that who may not see them reads none."""
    text = f"0/1 nodes are available: 1 Insufficient {GPU}."
    nodes = [FULL, node("b", 4, 4)]
    existing = [deleted_gang("gone", 2, a=4), held("batch", ending(12.5, b=4))]
    unit = waiting(nodes, 2, 4, quorum=2, running_gangs=existing, text=text)
    finding = ask("insufficient-resources", unit)
    assert finding is not None
    assert finding.advice_texts[0].startswith("Wait for Job team-b/batch, which ends at 12:13 UTC")
    assert finding.recheck_at == NOW + timedelta(minutes=2)
    named = {item.value for item in finding.evidence if item.label == NAMED_IN_ADVICE}
    assert {"batch", "a"} <= named
    quiet = ask("insufficient-resources", waiting(nodes, 2, 4, quorum=2, text=text))
    assert quiet is not None
    assert quiet.recheck_at is None


def later(unit: Unit, minutes: float) -> Unit:
    facts = replace(unit.gang, now=NOW + timedelta(minutes=minutes))
    unit = replace(unit, gang=facts)
    return replace(unit, placing=placing_of(unit))


def test_a_placement_result_is_reused_only_while_it_is_valid() -> None:
    unit = waiting([FULL], 1, 4, quorum=1, running_gangs=[deleted_gang("gone", 2, a=4)])
    assert kinds(advise(unit)) == [AdviceKind.WAIT_FOR_END]
    assert kinds(advise(later(unit, 1.9))) == [AdviceKind.WAIT_FOR_END]
    assert AdviceKind.WAIT_FOR_END not in kinds(advise(later(unit, 2)))
