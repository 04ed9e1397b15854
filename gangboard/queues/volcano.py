"""Queues of Volcano (scheduling.volcano.sh/v1beta1): what PodGroups may have together, and whether one lets any in.

What waits in a queue are PodGroups (`groups/volcano.py`); there is no object besides. `capability` is what
all in it may have at most, `deserved` what it may have while others want theirs (capacity.go of v1.14.1).
"""

from __future__ import annotations

from decimal import Decimal

from gangboard.decode.problems import deliver
from gangboard.decode.resource_lists import Amounts, Quantity
from gangboard.decode.wire import Int32, Wire, WireMeta, read_meta
from gangboard.domain.advice import AdvisedStep
from gangboard.domain.quota import Queue, QueueLevel, QueueName, QueueState, Quota
from gangboard.domain.registry import QueueSystem, Resource
from gangboard.domain.shell import command

_GROUP, _KIND = "scheduling.volcano.sh", "Queue"
_ROOT = "root"
"""The queue above all, which is there without anybody's making it."""
_STATES = {
    "Open": (QueueState.ACTIVE, ""),
    "Closed": (QueueState.STOPPED, "it is closed"),
    "Closing": (QueueState.STOPPED, "it is closed, and what is in it runs to its end"),
}


class _WireSpec(Wire):
    capability: dict[str, Quantity] | None = None
    parent: str | None = None


class _WireStatus(Wire):
    state: str | None = None
    pending: Int32 | None = None
    inqueue: Int32 | None = None
    running: Int32 | None = None
    allocated: dict[str, Quantity] | None = None


class WireQueue(Wire):
    """A Queue as narrow as it is kept."""

    metadata: WireMeta
    spec: _WireSpec | None = None
    status: _WireStatus | None = None


def _build(wire: WireQueue, version: str) -> Queue:
    spec, status = wire.spec or _WireSpec(), wire.status or _WireStatus()
    amounts = Amounts()
    most = dict(amounts.each("capability", spec.capability))
    used = dict(amounts.each("allocated resources", status.allocated))
    state, cause = _STATES.get(status.state or "", (QueueState.UNKNOWN, ""))
    name, parent = wire.metadata.name, spec.parent or ""
    queue = Queue(
        meta=read_meta(wire.metadata, _GROUP, _KIND, version),
        level=QueueLevel.QUEUE,
        parent=QueueName(_GROUP, _KIND, "", parent) if parent not in ("", _ROOT, name) else None,
        quotas=tuple(
            Quota(
                "",
                resource,
                nominal=most.get(resource),
                used=used.get(resource, Decimal(0)),
                reserved=used.get(resource, Decimal(0)),
            )
            for resource in dict.fromkeys((*most, *used))
        ),
        pending=status.pending,
        reserving=None if status.inqueue is None else status.inqueue + (status.running or 0),
        admitted=status.running,
        state=state,
        cause=cause,
        advice=_open(name) if state is QueueState.STOPPED else "",
    )
    return deliver(queue, tuple(amounts.faults))


def _open(name: str) -> str:
    """Return how the queue is opened, with the command where its name is safe in a shell."""
    return AdvisedStep(
        "Open it.", command=command("vcctl queue operate -a open -n {}", name)
    ).sentence


QUEUE = QueueSystem(
    label="Volcano",
    owner_label="scheduling.volcano.sh/queue-name",
    resources=(
        Resource(
            _GROUP, "queues", _KIND, ("v1beta1",), WireQueue, Queue, _build, decoder_version=2
        ),
    ),
    tested="Volcano 1.14 on 1.37",
)
