"""Evictions that the objects and events of a gang tell."""

from __future__ import annotations

from dataclasses import replace

from gangboard.domain.eviction import EntryEviction, EvictionCode, GangEviction
from gangboard.domain.objects import ObjectRef
from gangboard.facts.evictions import evictions_of
from tests.domain_objects import a_condition, a_job, a_pod, ago, an_entry, an_event, facts_of

JOB = a_job("low", pods=2)
TAKER = ObjectRef("batch", "Job", "research", "urgent", "uid-urgent")
BY = ObjectRef("", "Pod", "research", "urgent-0", "uid-urgent-0")


def preempted(index: int, seconds: float, *, by: ObjectRef | None = BY) -> object:
    pod = a_pod(f"low-{index}", of=JOB, uid=f"uid-gone-{index}")
    at = ago(seconds)
    return an_event(pod, "Preempted", uid=f"event-{index}", first_seen=at, last_seen=at, related=by)


def told(*objects: object, **fields: object) -> tuple[GangEviction, ...]:
    return evictions_of(facts_of(JOB, *objects, **fields))  # type: ignore[arg-type]


def test_pods_that_go_together_are_one_preemption() -> None:
    found = told(preempted(0, 100), preempted(1, 70), preemptors={BY.uid: TAKER})
    assert found == (GangEviction(EvictionCode.PREEMPTED, "", ago(100), ago(70), taker=TAKER),)


def test_pods_that_go_more_than_a_minute_apart_are_two_preemptions() -> None:
    found = told(preempted(0, 161), preempted(1, 100))
    assert [eviction.at for eviction in found] == [ago(161), ago(100)]


def test_a_preemptor_without_a_name_is_unknown() -> None:
    nameless = replace(BY, name="", namespace="")
    (eviction,) = told(preempted(0, 100, by=nameless))
    assert eviction.taker is None


def test_an_event_about_a_pod_that_stays_is_no_eviction() -> None:
    pod = a_pod("low-0", of=JOB, on="n0", uid="uid-gone-0")
    assert told(pod, preempted(0, 100)) == ()


def test_the_condition_of_a_pod_and_its_event_are_one_preemption() -> None:
    disruption = a_condition("DisruptionTarget", reason="PreemptionByScheduler", since=ago(99))
    pod = a_pod("low-0", of=JOB, on="n0", uid="uid-gone-0", disruption=disruption, phase="Failed")
    (eviction,) = told(pod, preempted(0, 100), preemptors={BY.uid: TAKER})
    assert (eviction.at, eviction.last_at, eviction.taker) == (ago(100), ago(99), TAKER)


def test_a_pod_that_a_taint_drives_away_is_evicted() -> None:
    disruption = a_condition("DisruptionTarget", reason="DeletionByTaintManager", since=ago(50))
    pod = a_pod("low-0", of=JOB, on="n0", disruption=disruption)
    assert told(pod) == (
        GangEviction(EvictionCode.EVICTED, "DeletionByTaintManager", ago(50), ago(50)),
    )


def test_a_pod_without_a_node_has_no_place_to_lose() -> None:
    disruption = a_condition("DisruptionTarget", reason="DeletionByPodGC", since=ago(50))
    assert told(a_pod("low-0", of=JOB, disruption=disruption)) == ()


def test_a_time_in_the_future_is_not_believed() -> None:
    assert told(preempted(0, -61)) == ()
    assert len(told(preempted(0, -60))) == 1


def test_a_queue_entry_tells_its_last_eviction() -> None:
    last = EntryEviction(EvictionCode.PREEMPTED, "Preempted", ago(40), TAKER.uid)
    entry = an_entry(JOB, evicted=last)
    assert told(entry, preemptors={TAKER.uid: TAKER}) == (
        GangEviction(
            EvictionCode.PREEMPTED, "Preempted", ago(40), ago(40), entry.meta.ref.uid, TAKER
        ),
    )
