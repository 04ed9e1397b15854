"""PodGroups of Volcano as they are read, and as what they are kept."""

from __future__ import annotations

from gangboard.decode.fitting import KeyField
from gangboard.decode.problems import deliver
from gangboard.decode.resource_lists import Amounts, Quantity
from gangboard.decode.wire import Int32, Wire, WireCondition, WireMeta, read_conditions, read_meta
from gangboard.domain.group import Group, GroupTemplate, Policy
from gangboard.domain.objects import Condition, find_condition

GROUP = "scheduling.volcano.sh"
REFUSED, _PLACED = "Unschedulable", "Scheduled"
PHASE = "phase"
"""The name in `detail` of a group."""
_RAN = ("Running", "Unknown", "Completed")
_DEFAULT_QUEUE = "default"
_TASK = "volcano.sh/task-spec"


class _WireSpec(Wire):
    min_member: KeyField[Int32 | None] = None
    min_task_member: dict[str, Int32] | None = None
    min_resources: dict[str, Quantity] | None = None
    queue: str | None = None
    priority_class_name: str | None = None


class _WireStatus(Wire):
    phase: str | None = None
    conditions: list[WireCondition] | None = None


class WirePodGroup(Wire):
    """A PodGroup as narrow as it is kept."""

    metadata: WireMeta
    spec: _WireSpec | None = None
    status: _WireStatus | None = None


def build(wire: WirePodGroup, version: str) -> Group:
    """Return a PodGroup as a group, with the faults of its amounts."""
    spec, status = wire.spec or _WireSpec(), wire.status or _WireStatus()
    quorum = spec.min_member or 0
    phase = status.phase or ""
    conditions = read_conditions(status.conditions)
    amounts = Amounts()
    tasks = {name: least for name, least in (spec.min_task_member or {}).items() if least > 0}
    group = Group(
        meta=read_meta(wire.metadata, GROUP, "PodGroup", version),
        policy=Policy.GANG if quorum > 1 else Policy.BASIC,
        quorum=quorum,
        conditions=conditions,
        placed=_placed(conditions, phase),
        templates=tuple(
            GroupTemplate(name, Policy.GANG, least) for name, least in sorted(tasks.items())
        ),
        part_label=_TASK if tasks else "",
        requests=dict(amounts.each("minResources", spec.min_resources)),
        queue=spec.queue or _DEFAULT_QUEUE,
        priority_class=spec.priority_class_name or "",
        detail={PHASE: phase},
    )
    return deliver(group, tuple(amounts.faults))


def _placed(conditions: tuple[Condition, ...], phase: str) -> Condition | None:
    """Return whether it was placed, by the later of its two conditions; what has run was, whatever came later."""
    refused = find_condition(conditions, REFUSED)
    placed = find_condition(conditions, _PLACED)
    if placed is not None and (refused is None or phase in _RAN or _is_later(placed, refused)):
        return placed
    if refused is None or not refused.is_true:
        return None
    return Condition(REFUSED, "False", "Unschedulable", refused.message, refused.since)


def _is_later(one: Condition, other: Condition) -> bool:
    return one.since is not None and other.since is not None and one.since > other.since
