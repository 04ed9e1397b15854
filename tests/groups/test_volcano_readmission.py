"""A PodGroup of Volcano that waits for its queue again: the cause, its usage meanwhile, and the remedy."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from gangboard.domain.event import Event
from gangboard.domain.health import Health
from gangboard.domain.objects import Controller
from gangboard.domain.verdict import Verdict
from tests.domain_objects import an_event
from tests.groups.other_schedulers import member, verdict_of
from tests.groups.volcano_objects import REFUSED, condition, members, queue, ring

JOB = Controller("batch.volcano.sh", "Job", "ring", "uid-job")


def back_in_queue(
    *rest: Any, ready: bool = False, of: Controller | None = JOB, **known: Any
) -> Verdict:
    """Two of three pods wait with their PodGroup for its queue, since it fell below its minimum. One has a node."""
    group = ring("Pending", condition("Unschedulable", "58", REFUSED), minResources={"cpu": "6"})
    cpu = {"cpu": Decimal(2)}
    holds = member(group, "p0", "volcano", on="n0", ready=ready, requests=cpu, of=of)
    waiting = members(group, 3, requests=cpu)[1:]
    return verdict_of(group, holds, *waiting, *rest, **known)


NO_QUOTA = "queue resource quota insufficient: insufficient cpu"


def no_quota() -> Event:
    return an_event(ring("Pending"), "Unschedulable", NO_QUOTA)


def test_pods_wait_until_their_group_is_let_in_again() -> None:
    """The scheduler tries none of them before (allocate.go), so its silence is no fault."""
    result = back_in_queue(queues=[queue()]).finding
    assert (result.code, result.health, result.message) == (
        "queue-evaluating",
        Health.DEGRADED,
        "Queue research has not admitted it again yet; 1 of 3 pods holds a node meanwhile.",
    )


def test_other_gangs_hold_the_capacity_for_readmission() -> None:
    result = back_in_queue(no_quota(), queues=[queue(cpu="12")]).finding
    assert (result.code, result.health, result.message) == (
        "waiting-for-quota",
        Health.DEGRADED,
        "Queue research has not admitted it again: not enough cpu is left in it; 1 of 3 pods holds a node "
        "meanwhile.",
    )
    assert result.advice_texts == ()


@pytest.mark.parametrize(
    ("ready", "of", "deletion"),
    [
        (False, JOB, "Delete pod p0: then all of PodGroup ring is admitted at once."),
        (False, None, "Delete pod p0 and re-create it: then all of PodGroup ring is admitted at once."),
        (True, JOB, "Delete pod p0 (the work since the last checkpoint is lost): then all of PodGroup ring "
         "is admitted at once."),
    ],
    ids=["of a Job", "by hand", "runs"],
)  # fmt: skip
def test_the_gang_itself_holds_the_capacity_for_readmission(
    ready: bool, of: Controller | None, deletion: str
) -> None:
    """Its queue has room for the 6 CPUs of all three, not for these and the 2 that one has already."""
    verdict = back_in_queue(no_quota(), ready=ready, of=of, queues=[queue(cpu="7")])
    reason = verdict.findings[-1]
    assert (reason.code, reason.health, reason.message) == (
        "exceeds-quota",
        Health.BLOCKED,
        (
            "Queue research allows at most 7 CPUs, and PodGroup ring requests 6 CPUs besides the "
            "2 CPUs of pod p0."
        ),
    )
    assert verdict.finding.advice_texts == (
        "Raise capability of Queue research to 8 CPUs at least.",
        deletion,
    )
    expected = "1 of 3 members runs; the other 2 pods wait until Queue research admits PodGroup ring: not enough cpu is left in it."
    assert (verdict.finding.code == "lost-members") is ready
    assert (verdict.finding.message == expected) is ready


def test_its_queue_that_did_not_refuse_it_is_not_blamed() -> None:
    """Near miss: an equal request without an event. The plugins of this Volcano are unknown."""
    assert back_in_queue(queues=[queue(cpu="7")]).finding.code == "queue-evaluating"


def test_a_readmitted_gang_is_judged_by_nodes() -> None:
    """Near miss: let in, it waits for room."""
    group = ring("Inqueue", condition("Unschedulable", "58", REFUSED))
    holds, *waiting = members(group, text="0/1 nodes are unavailable: 1 Insufficient cpu.")
    holds = replace(holds, node="n0")
    assert verdict_of(group, holds, *waiting, queues=[queue()]).finding.code == "unschedulable"
