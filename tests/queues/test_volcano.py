"""Queues of Volcano: their limits, and whether they admit gangs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from gangboard.domain.quota import Queue, QueueLevel, QueueName, QueueState, Quota, QuotaTerm
from gangboard.plugins import registry
from gangboard.queues.volcano import VolcanoQueues
from tests.decode.reading import Json, model

(RESOURCE,) = VolcanoQueues.resources


def a_queue(spec: Json | None = None, **status: Any) -> Queue:
    metadata = {"name": "research", "uid": "q1", "resourceVersion": "1"}
    result: Queue = model(RESOURCE, {"metadata": metadata, "spec": spec, "status": status})
    return result


def test_a_queue_has_capability_and_counts() -> None:
    """gang-owners.md §5."""
    result = a_queue(
        {"weight": 1, "capability": {"nvidia.com/gpu": "64"}, "parent": "labs"},
        state="Open", pending=1, inqueue=1, running=2, allocated={"nvidia.com/gpu": "32", "cpu": "4"},
    )  # fmt: skip
    assert result.parent == QueueName("scheduling.volcano.sh", "Queue", "", "labs")
    assert (result.state, result.pending, result.reserving, result.admitted) == (
        QueueState.ACTIVE,
        1,
        3,
        2,
    )
    assert result.quotas == (
        Quota("", "nvidia.com/gpu", nominal=Decimal(64), used=Decimal(32), reserved=Decimal(32)),
        Quota("", "cpu", used=Decimal(4), reserved=Decimal(4)),
    )


def test_deserved_and_guaranteed_amounts() -> None:
    """capacity.go of v1.14.1."""
    result = a_queue(
        {
            "weight": 3,
            "priority": 10,
            "deserved": {"nvidia.com/gpu": "8"},
            "guarantee": {"resource": {"nvidia.com/gpu": "2"}},
        },
        state="Open", allocated={"cpu": "0", "memory": "0"},
    )  # fmt: skip
    assert result.quotas == (
        Quota(
            "",
            "nvidia.com/gpu",
            terms=(QuotaTerm("deserved", Decimal(8)), QuotaTerm("guarantee", Decimal(2))),
        ),
    )
    assert result.terms == (
        QuotaTerm("weight", Decimal(3), True),
        QuotaTerm("priority", Decimal(10), True),
    )


def test_counts_that_it_does_not_write_are_not_zero() -> None:
    """v1.14.1 only writes the state and the allocation (seen)."""
    result = a_queue({"weight": 1}, state="Open", allocated={"cpu": "2"}, reservation={})
    assert (result.pending, result.reserving, result.admitted) == (None, None, None)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("Open", QueueState.ACTIVE),
        ("Closed", QueueState.STOPPED),
        ("Closing", QueueState.STOPPED),
        ("Unknown", QueueState.UNKNOWN),
        (None, QueueState.UNKNOWN),
    ],
)
def test_whether_it_lets_anybody_in(state: str | None, expected: QueueState) -> None:
    assert a_queue(state=state).state is expected


def test_the_root_queue_admits_no_gangs() -> None:
    """admit_job.go of v1.14.1: can not submit job to root queue."""
    result: Queue = model(
        RESOURCE, {"metadata": {"name": "root", "uid": "q0", "resourceVersion": "1"}}
    )
    assert result.level is QueueLevel.SHARED


def test_the_root_is_above_none() -> None:
    assert a_queue({"parent": "root"}).parent is None


def test_volcano_queues_have_no_entries_and_admit_no_owners() -> None:
    """Otherwise a JobSet without its Kueue would get the advice to install Volcano."""
    assert "Volcano" in [system.label for system in registry.queue_systems()]
    assert [system.label for system in registry.admission_systems()] == ["Kueue"]
