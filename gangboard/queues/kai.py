"""Queues of KAI-Scheduler (scheduling.run.ai/v2): the quota of each, and the limit up to which it may borrow.

Amounts are in units of their own: processors in thousandths, memory in millions of bytes, GPUs whole; -1 is no limit
(queue_types.go of v0.12.0). What waits in a queue are PodGroups (`groups/kai.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from gangboard.decode.fitting import KeyField, key_fields
from gangboard.decode.problems import deliver
from gangboard.decode.resource_lists import Amounts, Quantity
from gangboard.decode.wire import Wire, WireMeta, read_meta
from gangboard.domain.quota import Queue, QueueLevel, QueueName, QueueState, Quota
from gangboard.domain.registry import QueueSystem, Resource

_GROUP, _KIND = "scheduling.run.ai", "Queue"
_UNITS = {
    "cpu": ("cpu", Decimal("0.001")),
    "memory": ("memory", Decimal(1_000_000)),
    "gpu": ("nvidia.com/gpu", Decimal(1)),
}
_NOTHING = Decimal(0)


class _WireAmount(Wire):
    quota: KeyField[float | None] = None
    limit: float | None = None


class _WireResources(Wire):
    cpu: _WireAmount | None = None
    memory: _WireAmount | None = None
    gpu: _WireAmount | None = None


class _WireSpec(Wire):
    parent_queue: str | None = None
    resources: _WireResources | None = None


class _WireStatus(Wire):
    allocated: dict[str, Quantity] | None = None
    child_queues: list[str] | None = None


class WireQueue(Wire):
    """A Queue as narrow as it is kept."""

    metadata: WireMeta
    spec: _WireSpec | None = None
    status: _WireStatus | None = None


def _build(wire: WireQueue, version: str) -> Queue:
    spec, status = wire.spec or _WireSpec(), wire.status or _WireStatus()
    amounts = Amounts()
    used = dict(amounts.each("allocated resources", status.allocated))
    queue = Queue(
        meta=read_meta(wire.metadata, _GROUP, _KIND, version),
        # One with queues below it lends to these, and takes in nobody.
        level=QueueLevel.SHARED if status.child_queues else QueueLevel.QUEUE,
        parent=QueueName(_GROUP, _KIND, "", spec.parent_queue) if spec.parent_queue else None,
        quotas=tuple(_quotas(spec.resources or _WireResources(), used)),
        state=QueueState.ACTIVE,
    )
    return deliver(queue, tuple(amounts.faults))


def _quotas(resources: _WireResources, used: Mapping[str, Decimal]) -> Iterator[Quota]:
    for name, (resource, unit) in _UNITS.items():
        one: _WireAmount | None = getattr(resources, name)
        amount = used.get(resource, _NOTHING)
        if one is None:
            if amount:
                yield Quota("", resource, used=amount, reserved=amount)
            continue
        quota, limit = one.quota or 0.0, -1.0 if one.limit is None else one.limit
        nominal = None if quota < 0 else Decimal(str(quota)) * unit
        borrows = None if limit < 0 or nominal is None else Decimal(str(limit)) * unit - nominal
        yield Quota(
            "",
            resource,
            nominal=nominal,
            borrowing_limit=max(_NOTHING, borrows) if borrows is not None else None,
            used=amount,
            reserved=amount,
            borrowed=max(_NOTHING, amount - nominal) if nominal is not None else _NOTHING,
        )


QUEUE = QueueSystem(
    label="KAI",
    owner_label="kai.scheduler/queue",
    resources=(
        Resource(
            _GROUP, "queues", _KIND, ("v2",), WireQueue, Queue, _build, fields=key_fields(WireQueue)
        ),
    ),
    tested="KAI-Scheduler 0.12 on 1.37",
)
