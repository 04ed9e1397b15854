"""`preempted` at placement: the victims of job-preempting as captured on 1.37.0."""

from dataclasses import replace
from typing import Any

from gangboard.domain.event import Event
from gangboard.domain.health import Health
from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import UnitMemory
from gangboard.facts.unit import Unit
from gangboard.readmodels.redaction import redact
from tests.domain_objects import a_job, a_pod, ago, an_event
from tests.placement.making import CORDON, node
from tests.rules import texts
from tests.rules.evaluation import evaluate, first_code, require_finding, unit_of, whole_memory
from tests.rules.waiting_gangs import capacity_of, evidence_values, pod_requests, with_placement
from tests.sentence_values import values_in

URGENT = ObjectRef("scheduling.k8s.io", "PodGroup", "team-b", "urgent-ring", "943ac034")
JOB = a_job("low", pods=2)
FULL = capacity_of(node("n0", used=4), node("n1", used=4))


def taken(name: str = "low-0", seconds: float = 30, **more: Any) -> Event:
    victim = a_pod(name, of=JOB, uid=f"uid-gone-{name}")
    event = an_event(victim, "Preempted", "Preempted by podgroup 943ac034 on node cluster")
    return replace(event, last_seen=ago(seconds), **{"related": URGENT, **more})


def low(*events: Event, room: Any = FULL, on: str = "", memory: UnitMemory | None = None) -> Unit:
    pods = [
        a_pod(
            "low-0-new", of=JOB, text=texts.GPU_SHORT, requests=pod_requests(4), created_at=ago(25)
        )
    ]
    if on:
        pods.append(a_pod("low-1", of=JOB, on=on, requests=pod_requests(4)))
    else:
        pods.append(replace(pods[0], meta=a_pod("low-1-new", of=JOB, created_at=ago(25)).meta))
    extra = {"memory": memory} if memory is not None else {}
    return with_placement(unit_of(JOB, *pods, *events, facts={"room": room}, **extra))


def test_the_preemptor_and_the_remaining_shortage_are_named() -> None:
    unit = low(taken(), taken("low-1"), memory=whole_memory(31))
    finding = require_finding("preempted", unit)
    assert finding.health is Health.WAITING
    assert finding.message == (
        "Its pods were preempted by team-b/urgent-ring; 2 pods need 8 GPUs, and none is "
        "free on the 2 usable nodes."
    )
    (preemptors,) = [item for item in finding.evidence if item.label == "preempted by PodGroup"]
    assert preemptors.source == URGENT
    assert finding.since == ago(30)
    assert evidence_values(finding, "scheduler says") == [texts.GPU_SHORT]
    assert first_code(unit) == "preempted"


USURPER = ObjectRef("batch", "Job", "team-b", "usurper", "uid-usurper")


def by_pod(uid: str = "7899f2fb") -> dict[str, Any]:
    """On 1.37 the event tells of a pod that preempts only its uid."""
    return {"related": ObjectRef("", "Pod", "", "", uid)}


def test_a_preempting_pod_is_named_by_its_gang() -> None:
    facts = {"room": FULL, "preemptors": {"7899f2fb": USURPER, "a07f2cd5": USURPER}}
    events = (taken(**by_pod()), taken("low-1", **by_pod("a07f2cd5")))
    waiting = low(*events).pods
    finding = require_finding(
        "preempted", with_placement(unit_of(JOB, *waiting, *events, facts=facts))
    )
    assert finding.message.startswith("Its pods were preempted by team-b/usurper; 2 pods need ")
    (preemptors,) = [item for item in finding.evidence if item.label.startswith("preempted by")]
    assert (preemptors.label, preemptors.value, preemptors.source) == (
        "preempted by Job",
        "team-b/usurper",
        USURPER,
    )


def test_a_gang_that_the_viewer_may_not_see_is_not_named() -> None:
    memory = UnitMemory(preempted_at=ago(30), preempted_by=(USURPER,))
    finding = require_finding("preempted", low(memory=memory))
    hidden = tuple(item.source for item in finding.evidence if item.source == USURPER)
    assert redact(finding.message, hidden, own="low").startswith(
        "Its pods were preempted by a gang you may not see; 2 pods need "
    )


def test_an_unknown_preempting_pod() -> None:
    finding = require_finding("preempted", low(taken(**by_pod())))
    assert finding.message.startswith(
        "Its pods were preempted by pods of higher priority; 2 pods need "
    )
    assert evidence_values(finding, "Preempted") == [taken().note]


def test_a_preemption_is_remembered_without_its_event() -> None:
    memory = UnitMemory(whole_at=ago(31), preempted_at=ago(30), preempted_by=(USURPER,))
    finding = require_finding("preempted", low(memory=memory))
    assert finding.message.startswith("Its pods were preempted by team-b/usurper; 2 pods need ")
    assert finding.since == ago(30)
    # The same sentence while the event exists and the preemptor is deleted.
    assert (
        require_finding("preempted", low(taken(**by_pod()), memory=memory)).message
        == finding.message
    )
    assert (
        first_code(low(memory=replace(memory, preempted_at=ago(2000)))) == "insufficient-resources"
    )


def test_a_preemption_that_it_came_back_from_is_over() -> None:
    """It ran again within the minute that clocks may differ by."""
    memory = UnitMemory(whole_at=ago(20), recovered_from=ago(30))
    assert first_code(low(taken(), memory=memory)) == "insufficient-resources"
    assert first_code(low(taken(seconds=10), memory=memory)) == "preempted"


def test_an_unknown_preemptor_is_not_named() -> None:
    assert require_finding("preempted", low(taken(related=None))).message.startswith(
        "Its pods were preempted by pods of higher priority; 2 pods need "
    )


def test_a_preempted_gang_before_the_next_attempt() -> None:
    silent = replace(low(taken()), pods=tuple(a_pod(f"low-{n}-new", of=JOB) for n in range(2)))
    assert values_in(require_finding("preempted", silent).message) == "team-b/urgent-ring 2"


def test_twin_with_a_running_member() -> None:
    unit = low(taken(), on="n1", memory=whole_memory(31))
    assert first_code(unit) == "lost-members"
    finding = require_finding("lost-members", unit)
    assert finding.message.startswith(
        "1 of 2 members runs. Members were preempted by team-b/urgent-ring. "
    )
    assert evidence_values(finding, "preempted by PodGroup") == ["team-b/urgent-ring"]


def test_twin_that_ran_again_since() -> None:
    assert first_code(low(taken(seconds=500), memory=whole_memory(31))) == "insufficient-resources"


def test_a_permanent_block_is_the_closer_cause() -> None:
    cordoned = capacity_of(node("n0", unschedulable=True, taints=(CORDON,)))
    assert first_code(low(taken(), room=cordoned)) == "nodes-unschedulable"


def test_pods_of_an_earlier_attempt_are_ignored() -> None:
    assert first_code(low(taken(seconds=2000))) == "insufficient-resources"


def test_a_gang_without_preemption_has_no_finding() -> None:
    assert evaluate("preempted", low()) is None
