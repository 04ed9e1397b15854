"""PodGroups of KAI as they are read, and as what they are kept."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from gangboard.decode.fitting import KeyField
from gangboard.decode.problems import deliver
from gangboard.decode.quantities import set_minimum
from gangboard.decode.resource_lists import Amounts, Quantity
from gangboard.decode.wire import Int32, Wire, WireMeta, read_meta, read_text, read_time
from gangboard.domain.group import Group, GroupTemplate, Policy
from gangboard.domain.objects import Condition

GROUP = "scheduling.run.ai"
_UNSCHEDULABLE = "UnschedulableOnNodePool"
REASON, STALE = "reason", "stale"
"""Names in `detail` of a group: the first of its reasons, and since when it is below its minimum."""
STALE_GRACE, PREEMPTION_DELAY = "stalenessGracePeriod", "preemptionDelay"
"""The same for fields of its spec, durations (v0.17)."""


class _WireSubGroup(Wire):
    name: str = ""
    min_member: KeyField[Int32 | None] = None
    min_sub_group: KeyField[Int32 | None] = None
    parent: str | None = None


class _WireTopology(Wire):
    required_topology_level: str | None = None


class _WireSpec(Wire):
    min_member: KeyField[Int32 | None] = None
    min_sub_group: Int32 | None = None
    queue: str | None = None
    priority_class_name: str | None = None
    sub_groups: list[_WireSubGroup] | None = None
    topology_constraint: _WireTopology | None = None
    staleness_grace_period: str | None = None
    preemption_delay: str | None = None


class _WireReason(Wire):
    reason: str | None = None
    message: str | None = None


class _WireCondition(Wire):
    type: str = ""
    status: str = ""
    message: str | None = None
    reasons: list[_WireReason] | None = None
    last_transition_time: str | None = None


class _WireResources(Wire):
    requested: dict[str, Quantity] | None = None


class _WireStatus(Wire):
    scheduling_conditions: list[_WireCondition] | None = None
    resources_status: _WireResources | None = None


class _WireAnnotations(Wire):
    stale: str | None = msgspec.field(default=None, name="kai.scheduler/stale-podgroup-timestamp")


class _WireMeta(WireMeta):
    annotations: _WireAnnotations | None = None


class WirePodGroup(Wire):
    """A PodGroup as narrow as it is kept."""

    metadata: _WireMeta
    spec: _WireSpec | None = None
    status: _WireStatus | None = None


def build(wire: WirePodGroup, version: str) -> Group:
    """Return a PodGroup as a group, with the faults of its amounts."""
    spec, status = wire.spec or _WireSpec(), wire.status or _WireStatus()
    parts = spec.sub_groups or []
    leaves = [one for one in parts if all(other.parent != one.name for other in parts)]
    quorum = _minimum(spec, parts)
    condition, reason = _refused(status.scheduling_conditions)
    amounts = Amounts()
    stale = (wire.metadata.annotations or _WireAnnotations()).stale
    found = {
        REASON: reason,
        STALE: stale or "",
        STALE_GRACE: read_text(spec.staleness_grace_period),
        PREEMPTION_DELAY: read_text(spec.preemption_delay),
    }
    topology = spec.topology_constraint or _WireTopology()
    group = Group(
        meta=read_meta(wire.metadata, GROUP, "PodGroup", version),
        policy=Policy.GANG if quorum > 1 else Policy.BASIC,
        quorum=quorum,
        topology_keys=(topology.required_topology_level,)
        if topology.required_topology_level
        else (),
        conditions=(condition,) if condition is not None else (),
        placed=condition,
        templates=tuple(
            GroupTemplate(one.name, Policy.GANG, one.min_member)
            for one in leaves
            if (one.min_member or 0) > 0
        ),
        part_label="kai.scheduler/subgroup-name" if leaves else "",
        requests=dict(
            amounts.each(
                "requested resources", (status.resources_status or _WireResources()).requested
            )
        ),
        queue=spec.queue or "",
        priority_class=spec.priority_class_name or "",
        detail={name: text for name, text in found.items() if text},
    )
    return deliver(group, tuple(amounts.faults))


def _minimum(spec: _WireSpec, parts: list[_WireSubGroup]) -> int:
    """Return how many pods must start together: of its subgroups all, or as many as are asked for."""
    if not parts:
        return max(0, spec.min_member or 0)

    def of(one: _WireSubGroup, above: tuple[str, ...]) -> int:
        below = [
            of(other, (*above, one.name))
            for other in parts
            if other.parent == one.name and other.name not in (*above, one.name)
        ]
        return _of_all(below, one.min_sub_group) if below else max(0, one.min_member or 0)

    names = {one.name for one in parts}
    top = [of(one, ()) for one in parts if one.parent is None or one.parent not in names]
    return max(_of_all(top, spec.min_sub_group), spec.min_member or 0)


def _of_all(minima: Iterable[int], wanted: int | None) -> int:
    found = sorted(minima)
    return sum(found[: set_minimum(wanted)])


def _refused(conditions: list[_WireCondition] | None) -> tuple[Condition | None, str]:
    """Return how the newest condition refuses the gang, as one of `placed`, and its first reason."""
    told = [one for one in conditions or () if one.type == _UNSCHEDULABLE]
    if not told or told[-1].status != "True":
        return None, ""
    newest = told[-1]
    first = next(iter(newest.reasons or ()), _WireReason())
    message = read_text(first.message or newest.message)
    since = read_time(newest.last_transition_time)
    return Condition(_UNSCHEDULABLE, "False", "Unschedulable", message, since), first.reason or ""
