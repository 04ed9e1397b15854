"""Preemptions in the facts of both gangs, and their memory of them."""

from dataclasses import replace
from typing import Any

from gangboard.diagnosis.engine import assess
from gangboard.domain.objects import Condition, ObjectRef
from gangboard.domain.pod import Pod
from gangboard.domain.verdict import UnitMemory
from gangboard.facts.gang import Gang, Victim
from tests.domain_objects import NOW, a_job, a_pod, ago, an_event
from tests.gangs import assemble

LOW, URGENT = a_job("low", pods=1), a_job("urgent", pods=1)
USURPER = ObjectRef("batch", "Job", "team-b", "usurper", "uid-usurper")
TAKEN_AWAY = Condition("DisruptionTarget", "True", "PreemptionByScheduler", since=ago(20))


def holder(name: str, **fields: Any) -> Pod:
    return a_pod(
        name, **{"on": "n0", "deleting_since": ago(-10), "disruption": TAKEN_AWAY, **fields}
    )


def test_only_existing_victims_are_counted() -> None:
    victims = [
        (holder("holder-10"), "uid-urgent-0"),
        (holder("holder-2"), "uid-urgent-0"),
        (holder("stays", deleting_since=None), "uid-urgent-0"),
        (holder("done", phase="Failed"), "uid-urgent-0"),
    ]
    facts = assemble(URGENT, [a_pod("urgent-0", of=URGENT)], now=NOW, victims=victims)
    refs = [holder(name).meta.ref for name in ("holder-2", "holder-10")]
    # The time of a deletion is when the grace period ends, so it is not since when it leaves.
    assert facts.victims == tuple(Victim(ref, "uid-urgent-0", ago(20)) for ref in refs)


def preempted(pod: Pod, **fields: Any) -> Gang:
    event = an_event(a_pod("low-gone"), "Preempted", last_seen=ago(30))
    event = replace(event, related=ObjectRef("", "Pod", "", "", "uid-usurper-0"))
    defaults = {"now": NOW, "events": [event], "preemptors": {"uid-usurper-0": USURPER}, **fields}
    return assemble(LOW, [pod], **defaults)


def memory_of(facts: Gang) -> UnitMemory:
    return assess(facts).memory["low"]


def test_a_preemption_is_remembered_until_it_came_back() -> None:
    waits, runs = a_pod("low-new", of=LOW), a_pod("low-new", of=LOW, on="n0")
    memory = memory_of(preempted(waits))
    assert (memory.preempted_at, memory.preempted_by) == (ago(30), (USURPER,))

    # Neither the event nor the preemptor has to exist any more.
    later = memory_of(preempted(waits, events=[], preemptors={}, memory={"low": memory}))
    assert (later.preempted_at, later.preempted_by) == (ago(30), (USURPER,))

    back = memory_of(preempted(runs, memory={"low": memory}))
    assert (back.preempted_at, back.preempted_by, back.recovered_from) == (None, (), ago(30))
    repeated = memory_of(preempted(waits, memory={"low": back}))
    assert (repeated.preempted_at, repeated.recovered_from) == (None, ago(30))
