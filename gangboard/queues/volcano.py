"""Queues of Volcano (scheduling.volcano.sh/v1beta1): their limits, their use, and closed queues.

PodGroups wait in the queues (`groups/volcano`). `capability` is the limit of a queue, `deserved` its share while other
queues need theirs, and `guarantee` is reserved for it (capacity.go of v1.14.1). The status has the counts of PodGroups
in older releases only.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from gangboard.decode.problems import raise_for_faults
from gangboard.decode.quantities import Quantity, ResourceListReader
from gangboard.decode.wire import Int32, Wire, WireMeta, read_meta
from gangboard.domain.api_resource import Resource
from gangboard.domain.group import Group
from gangboard.domain.quota import Queue, QueueLevel, QueueName, QueueState, Quota, QuotaTerm
from gangboard.domain.shell import command
from gangboard.domain.traits import QueueWording
from gangboard.plugins.queue_system import QueueSystem

_GROUP, _KIND = "scheduling.volcano.sh", "Queue"
_ROOT = "root"
"""The root of all queues. Volcano creates it, and refuses Jobs in it (admit_job.go)."""
_STATES = {
    "Open": (QueueState.ACTIVE, ""),
    "Closed": (QueueState.STOPPED, "it is closed"),
    "Closing": (QueueState.STOPPED, "it is closed, and what is in it runs to its end"),
}
_PHASE_TEXTS = {
    "": "not looked at yet",
    "Pending": "Pending: the queue has not let it in",
    "Inqueue": "Inqueue: let in, waits for nodes",
}


class _WireGuarantee(Wire):
    resource: dict[str, Quantity] | None = None


class _WireSpec(Wire):
    capability: dict[str, Quantity] | None = None
    deserved: dict[str, Quantity] | None = None
    guarantee: _WireGuarantee | None = None
    parent: str | None = None
    weight: Int32 | None = None
    priority: Int32 | None = None


class _WireStatus(Wire):
    state: str | None = None
    pending: Int32 | None = None
    inqueue: Int32 | None = None
    running: Int32 | None = None
    allocated: dict[str, Quantity] | None = None


class WireQueue(Wire):
    """The fields of a Queue that gangboard reads."""

    metadata: WireMeta
    spec: _WireSpec | None = None
    status: _WireStatus | None = None


def _build(wire: WireQueue, version: str) -> Queue:
    spec, status = wire.spec or _WireSpec(), wire.status or _WireStatus()
    amounts = ResourceListReader()
    state, cause = _STATES.get(status.state or "", (QueueState.UNKNOWN, ""))
    name, parent = wire.metadata.name, spec.parent or ""
    queue = Queue(
        meta=read_meta(wire.metadata, _GROUP, _KIND, version),
        level=QueueLevel.SHARED if name == _ROOT else QueueLevel.QUEUE,
        parent=QueueName(_GROUP, _KIND, "", parent) if parent not in ("", _ROOT, name) else None,
        quotas=tuple(_quotas(spec, status, amounts)),
        pending=status.pending,
        reserving=None if status.inqueue is None else status.inqueue + (status.running or 0),
        admitted=status.running,
        state=state,
        cause=cause,
        advice="Open it." if state is QueueState.STOPPED else "",
        command=command("vcctl queue operate -a open -n {}", name)
        if state is QueueState.STOPPED
        else (),
        terms=tuple(
            QuotaTerm(term, Decimal(number), True)
            for term, number in (("weight", spec.weight), ("priority", spec.priority))
            if number
        ),
    )
    return raise_for_faults(queue, tuple(amounts.faults))


def _quotas(spec: _WireSpec, status: _WireStatus, amounts: ResourceListReader) -> Iterator[Quota]:
    most = dict(amounts.each("capability", spec.capability))
    used = dict(amounts.each("allocated resources", status.allocated))
    shares = {
        "deserved": dict(amounts.each("deserved", spec.deserved)),
        "guarantee": dict(amounts.each("guarantee", (spec.guarantee or _WireGuarantee()).resource)),
    }
    # An empty queue has allocated resources of 0.
    in_use = [resource for resource, amount in used.items() if amount]
    for resource in dict.fromkeys((*most, *shares["deserved"], *shares["guarantee"], *in_use)):
        yield Quota(
            "",
            resource,
            nominal=most.get(resource),
            used=used.get(resource, Decimal(0)),
            reserved=used.get(resource, Decimal(0)),
            terms=tuple(
                QuotaTerm(name, share[resource])
                for name, share in shares.items()
                if resource in share
            ),
        )


class VolcanoQueues(QueueSystem):
    """Queues of Volcano."""

    label = "Volcano"
    owner_label = "scheduling.volcano.sh/queue-name"
    resources = (Resource(_GROUP, "queues", _KIND, ("v1beta1",), WireQueue, Queue, _build),)
    words = QueueWording(
        nominal="capability",
        no_nominal="used, no capability set",
        borrowed="",
        order=(
            "Volcano goes by the priority and share of queues, then by the priority of PodGroups in one queue.",
            "Plugins of its scheduler, such as drf, go before age.",
            "They and the values of priority classes are not read, so no places are shown: oldest first.",
        ),
        open_to="Any namespace can name this queue: Volcano does not restrict that.",
    )
    tested = "Volcano 1.14 on 1.37"

    def phase_of(self, group: Group) -> str:
        """Return the phase of a PodGroup, in Volcano's words."""
        phase = group.detail.get("phase", "")
        return _PHASE_TEXTS.get(phase, phase)
