"""`preempted` at placement: the victims of job-preempting as captured on 1.37.0."""

from dataclasses import replace
from typing import Any

from gangboard.domain.event import Event
from gangboard.domain.facts import Unit
from gangboard.domain.health import Health
from gangboard.domain.objects import ObjectRef
from gangboard.domain.verdict import UnitMemory
from tests.diagnosis.building import a_job, a_pod, ago, an_event
from tests.placement.making import CORDON, node
from tests.rules import texts
from tests.rules.asking import ask, first, found, ran, unit_of
from tests.rules.waiting import ask as asks
from tests.rules.waiting import room_of, values, with_room

URGENT = ObjectRef("scheduling.k8s.io", "PodGroup", "team-b", "urgent-ring", "943ac034")
JOB = a_job("low", pods=2)
FULL = room_of(node("n0", used=4), node("n1", used=4))


def taken(name: str = "low-0", seconds: float = 30, **more: Any) -> Event:
    victim = a_pod(name, of=JOB, uid=f"uid-gone-{name}")
    event = an_event(victim, "Preempted", "Preempted by podgroup 943ac034 on node cluster")
    return replace(event, last_seen=ago(seconds), **{"related": URGENT, **more})


def low(*events: Event, room: Any = FULL, on: str = "", memory: UnitMemory | None = None) -> Unit:
    pods = [a_pod("low-0-new", of=JOB, text=texts.GPU_SHORT, requests=asks(4), created_at=ago(25))]
    if on:
        pods.append(a_pod("low-1", of=JOB, on=on, requests=asks(4)))
    else:
        pods.append(replace(pods[0], meta=a_pod("low-1-new", of=JOB, created_at=ago(25)).meta))
    more = {"memory": memory} if memory is not None else {}
    return with_room(unit_of(JOB, *pods, *events, facts={"room": room}, **more))


def test_who_took_the_room_and_what_is_missing_now() -> None:
    unit = low(taken(), taken("low-1"), memory=ran(31))
    finding = found("preempted", unit)
    assert finding.health is Health.WAITING
    assert finding.message == (
        "Its pods were preempted by team-b/urgent-ring, and 2 pods wait: 2 pods need 8 "
        "nvidia.com/gpu, and none is free on the 2 nodes that could host them."
    )
    (who,) = [one for one in finding.evidence if one.label == "preempted by PodGroup"]
    assert who.source == URGENT
    assert finding.since == ago(30)
    assert values(finding, "scheduler says") == [texts.GPU_SHORT]
    assert first(unit) == "preempted"


def test_nobody_says_by_whom() -> None:
    assert found("preempted", low(taken(related=None))).message.startswith(
        "Its pods were preempted by the scheduler for pods of higher priority, and 2 pods wait: "
    )


def test_before_the_scheduler_has_said_a_word() -> None:
    silent = replace(low(taken()), pods=tuple(a_pod(f"low-{n}-new", of=JOB) for n in range(2)))
    assert found("preempted", silent).message == (
        "Its pods were preempted by team-b/urgent-ring, and 2 pods wait for a node."
    )


def test_twin_of_which_one_still_runs() -> None:
    assert first(low(taken(), on="n1", memory=ran(31))) == "lost-members"


def test_twin_that_ran_again_since() -> None:
    assert first(low(taken(seconds=500), memory=ran(31))) == "insufficient-resources"


def test_what_is_blocked_for_good_is_nearer_to_the_cause() -> None:
    cordoned = room_of(node("n0", unschedulable=True, taints=(CORDON,)))
    assert first(low(taken(), room=cordoned)) == "nodes-unschedulable"


def test_pods_of_an_earlier_attempt_say_nothing() -> None:
    assert first(low(taken(seconds=2000))) == "insufficient-resources"


def test_without_a_preemption() -> None:
    assert ask("preempted", low()) is None
