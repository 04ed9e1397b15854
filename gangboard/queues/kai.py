"""Queues of KAI-Scheduler (scheduling.run.ai/v2): the quota of each, and the limit up to which it may borrow.

Units are thousandths of a CPU, millions of bytes, and whole GPUs. -1 means unlimited. An unset quota or limit is 0, so
the queue may not use the resource (queue_info.go, max_allowed_check.go of v0.12.0). PodGroups wait in the queues
(`groups/kai`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from gangboard.decode.key_fields import KeyField, key_fields
from gangboard.decode.problems import raise_for_faults
from gangboard.decode.quantities import Quantity, ResourceListReader
from gangboard.decode.wire import Int32, Wire, WireMeta, read_meta
from gangboard.domain.api_resource import Resource
from gangboard.domain.quota import Queue, QueueLevel, QueueName, QueueState, Quota, QuotaTerm
from gangboard.domain.traits import QueueWording
from gangboard.plugins.queue_system import QueueSystem

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
    over_quota_weight: float | None = None


class _WireResources(Wire):
    cpu: _WireAmount | None = None
    memory: _WireAmount | None = None
    gpu: _WireAmount | None = None


class _WireSpec(Wire):
    parent_queue: str | None = None
    resources: _WireResources | None = None
    priority: Int32 | None = None


class _WireStatus(Wire):
    allocated: dict[str, Quantity] | None = None
    child_queues: list[str] | None = None


class WireQueue(Wire):
    """The fields of a Queue that gangboard reads."""

    metadata: WireMeta
    spec: _WireSpec | None = None
    status: _WireStatus | None = None


def _build(wire: WireQueue, version: str) -> Queue:
    spec, status = wire.spec or _WireSpec(), wire.status or _WireStatus()
    amounts = ResourceListReader()
    used = dict(amounts.each("allocated resources", status.allocated))
    queue = Queue(
        meta=read_meta(wire.metadata, _GROUP, _KIND, version),
        # A queue with child queues lends quota to them and admits no PodGroup.
        level=QueueLevel.SHARED if status.child_queues else QueueLevel.QUEUE,
        parent=QueueName(_GROUP, _KIND, "", spec.parent_queue) if spec.parent_queue else None,
        quotas=tuple(_quotas(spec.resources or _WireResources(), used)),
        state=QueueState.ACTIVE,
        terms=(QuotaTerm("priority", Decimal(spec.priority), True),)
        if spec.priority is not None
        else (),
    )
    return raise_for_faults(queue, tuple(amounts.faults))


def _quotas(resources: _WireResources, used: Mapping[str, Decimal]) -> Iterator[Quota]:
    for name, (resource, unit) in _UNITS.items():
        entry: _WireAmount = getattr(resources, name) or _WireAmount()
        amount = used.get(resource, _NOTHING)
        nominal, limit = _bound(entry.quota, unit), _bound(entry.limit, unit)
        terms = [QuotaTerm("limit", limit)]
        if entry.over_quota_weight:
            terms.append(QuotaTerm("over-quota weight", _exact(entry.over_quota_weight), True))
        yield Quota(
            "",
            resource,
            nominal=nominal,
            borrowing_limit=None
            if limit is None or nominal is None
            else max(_NOTHING, limit - nominal),
            used=amount,
            reserved=amount,
            borrowed=max(_NOTHING, amount - nominal) if nominal is not None else _NOTHING,
            terms=tuple(terms),
        )


def _bound(amount: float | None, unit: Decimal) -> Decimal | None:
    """Return an amount in base units; None if it is unlimited, 0 if it is not set."""
    return None if amount is not None and amount < 0 else _exact(amount or 0.0) * unit


def _exact(number: float) -> Decimal:
    return Decimal(str(number))


class KaiQueues(QueueSystem):
    """Queues of KAI-Scheduler."""

    label = "KAI"
    owner_label = "kai.scheduler/queue"
    resources = (
        Resource(
            _GROUP,
            "queues",
            _KIND,
            ("v2",),
            WireQueue,
            Queue,
            _build,
            fields=key_fields(WireQueue),
        ),
    )
    words = QueueWording(
        no_nominal="used, quota unlimited",
        borrowed="over quota",
        # proportion, priority and elastic, in the order of the default configuration.
        order=(
            "KAI first takes the queue furthest below its fair share, then the PodGroup of highest priority in it.",
            "Of one priority those below their minimum go first, then the oldest.",
            "Shares and the values of priority classes are not read, so no places are shown: oldest first.",
        ),
        open_to="Any namespace can name this queue: KAI does not restrict that.",
    )
    tested = "KAI-Scheduler 0.12 on 1.37"
