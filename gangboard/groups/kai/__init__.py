"""PodGroups of KAI-Scheduler (scheduling.run.ai/v2alpha2): gangs in queues with quotas, made by its podgrouper.

The podgrouper creates a PodGroup for each gang that it knows. Other owners, such as a JobSet, get one with `minMember` 1,
which is no gang. So does each pod of a Job (both observed on v0.12.0). The owner reference names the topmost owner, but
not as controller.

The scheduler reports in `schedulingConditions`, one for each node pool, the newest last. Before v0.17 it does not clear
them when all pods run (observed). It writes none if the queue does not exist, or while a member has a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from gangboard.decode.key_fields import KeyField
from gangboard.decode.problems import raise_for_faults
from gangboard.decode.quantities import Quantity, ResourceListReader, read_minimum
from gangboard.decode.wire import Int32, Wire, WireMeta, read_meta, read_text, read_time
from gangboard.domain.group import Group, GroupFate, GroupTemplate, Policy
from gangboard.domain.objects import Condition
from gangboard.domain.traits import KindTraits
from gangboard.groups.kai.reasons import (
    EVICTED_BY,
    GROUP,
    PREEMPTION_DELAY,
    REASON,
    RULES,
    STALE,
    STALE_GRACE,
)
from gangboard.plugins.grouping_api import GroupingAPI, GroupingNotes, group_resource

_UNSCHEDULABLE = "UnschedulableOnNodePool"


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
    """The fields of a PodGroup that gangboard reads."""

    metadata: _WireMeta
    spec: _WireSpec | None = None
    status: _WireStatus | None = None


def _build(wire: WirePodGroup, version: str) -> Group:
    """Return a PodGroup as a group, with the faults of its amounts."""
    spec, status = wire.spec or _WireSpec(), wire.status or _WireStatus()
    subgroups = spec.sub_groups or []
    leaves = [
        subgroup
        for subgroup in subgroups
        if all(child.parent != subgroup.name for child in subgroups)
    ]
    quorum = _minimum(spec, subgroups)
    condition, reason = _newest_refusal(status.scheduling_conditions)
    amounts = ResourceListReader()
    stale = (wire.metadata.annotations or _WireAnnotations()).stale
    detail = {
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
            GroupTemplate(subgroup.name, Policy.GANG, subgroup.min_member)
            for subgroup in leaves
            if (subgroup.min_member or 0) > 0
        ),
        part_label="kai.scheduler/subgroup-name" if leaves else "",
        requests=dict(
            amounts.each(
                "requested resources", (status.resources_status or _WireResources()).requested
            )
        ),
        queue=spec.queue or "",
        priority_class=spec.priority_class_name or "",
        detail={name: text for name, text in detail.items() if text},
    )
    return raise_for_faults(group, tuple(amounts.faults))


def _minimum(spec: _WireSpec, subgroups: list[_WireSubGroup]) -> int:
    """Return how many pods must start together, with the minima of all or of enough subgroups."""
    if not subgroups:
        return max(0, spec.min_member or 0)

    def minimum_of(subgroup: _WireSubGroup, above: tuple[str, ...]) -> int:
        below = [
            minimum_of(child, (*above, subgroup.name))
            for child in subgroups
            if child.parent == subgroup.name and child.name not in (*above, subgroup.name)
        ]
        return (
            _sum_of_smallest(below, subgroup.min_sub_group)
            if below
            else max(0, subgroup.min_member or 0)
        )

    names = {subgroup.name for subgroup in subgroups}
    top = [
        minimum_of(subgroup, ())
        for subgroup in subgroups
        if subgroup.parent is None or subgroup.parent not in names
    ]
    return max(_sum_of_smallest(top, spec.min_sub_group), spec.min_member or 0)


def _sum_of_smallest(minima: Iterable[int], number: int | None) -> int:
    smallest_first = sorted(minima)
    return sum(smallest_first[: read_minimum(number)])


def _newest_refusal(conditions: list[_WireCondition] | None) -> tuple[Condition | None, str]:
    """Return the newest refusal of the gang as a condition for `Group.placed`, and its first reason."""
    refusals = [condition for condition in conditions or () if condition.type == _UNSCHEDULABLE]
    if not refusals or refusals[-1].status != "True":
        return None, ""
    newest = refusals[-1]
    first = next(iter(newest.reasons or ()), _WireReason())
    message = read_text(first.message or newest.message)
    since = read_time(newest.last_transition_time)
    return Condition(_UNSCHEDULABLE, "False", "Unschedulable", message, since), first.reason or ""


class Kai(GroupingAPI):
    """PodGroups of KAI-Scheduler."""

    label = "KAI"
    group = GROUP
    fate = GroupFate(is_kept=True)  # with the same uid (real-owners-2.md, KAI 0.12)
    resources = (
        group_resource(
            GROUP,
            "podgroups",
            "PodGroup",
            ("v2alpha2",),
            WirePodGroup,
            _build,
        ),
    )
    annotations: Mapping[str, str] = {"pod-group-name": "PodGroup"}
    traits: Mapping[str, KindTraits] = {
        "PodGroup": KindTraits(number_paths={"minMember": "spec.minMember"})
    }
    schedulers = ("kai-scheduler",)
    rules = RULES
    event_reasons = frozenset({EVICTED_BY})
    notes = GroupingNotes(
        members=(
            "the annotation `pod-group-name`, which KAI's podgrouper writes; only "
            "`kai-scheduler` reads it"
        ),
        limits=(
            "KAI places pods of kinds without a grouper, such as a JobSet before 0.16, one "
            "by one. It reports a missing queue since 0.17. It deletes a gang that is below "
            "its minimum after its `stalenessGracePeriod`, or after a minute"
        ),
        tested="KAI-Scheduler 0.12 on 1.37",
    )
