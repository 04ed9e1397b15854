"""Queues of a scheduler have no flavors, and its gangs are in them."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

from gangboard.domain.objects import Meta, ObjectRef
from gangboard.domain.quota import Queue, QueueLevel, Quota
from gangboard.polling.rows import _queue_of_groups
from gangboard.readmodels.queue_quotas import quota_rows

QUEUE = Queue(
    Meta("v1", ObjectRef("toys.example", "Queue", "", "research", "q-1"), "1", 1, None),
    QueueLevel.QUEUE,
    quotas=(
        Quota("", "nvidia.com/gpu", Decimal(4)),
        Quota("l4", "nvidia.com/gpu", Decimal(4)),
    ),
)


def test_only_a_flavor_that_is_named_can_be_missing() -> None:
    without, named = quota_rows(QUEUE, None, set())
    assert (without.is_flavor_known, named.is_flavor_known) == (True, False)


def _facts(*queues: str) -> Any:
    return cast("Any", SimpleNamespace(groups=[SimpleNamespace(queue=one) for one in queues]))


def test_a_gang_is_in_the_queue_of_its_groups() -> None:
    assert _queue_of_groups(_facts("research", "research", "")) == "research"
    assert _queue_of_groups(_facts("research", "ads")) == ""
    assert _queue_of_groups(_facts()) == ""
