"""PodGroups of Volcano (scheduling.volcano.sh/v1beta1): gangs that wait in a queue, then for nodes.

Values of `phase`:

- Pending: the queue has not admitted it. A PodGroup that falls below its minimum before any pod runs is Pending again
  (`readmission`).
- Inqueue: the queue has admitted it, and it waits for nodes.
- Unknown: it ran, and lost some of its members.

A Volcano Job and the jobs of Kubeflow's training operator get their pods only after the admission. Pods of other owners
exist before it and wait.

Volcano never clears conditions, so the later one counts (gang.go and session.go of v1.14.1): `Unschedulable` if it
cannot be placed, `Scheduled` if it was. Why a queue does not admit a PodGroup is in events only (proportion.go,
capacity.go, overcommit.go).
"""

from __future__ import annotations

from collections.abc import Mapping

from gangboard.decode.key_fields import KeyField
from gangboard.decode.problems import raise_for_faults
from gangboard.decode.quantities import Quantity, ResourceListReader
from gangboard.decode.wire import Int32, Wire, WireCondition, WireMeta, read_conditions, read_meta
from gangboard.domain.group import Group, GroupTemplate, Policy
from gangboard.domain.objects import Condition, find_condition
from gangboard.domain.traits import KindTraits
from gangboard.groups.volcano.queue_state import GROUP, PHASE, REFUSED
from gangboard.groups.volcano.readmission import OWN_PODS_COUNT_TWICE, WAITS_FOR_READMISSION
from gangboard.groups.volcano.reasons import RULES
from gangboard.plugins.grouping_api import GroupingAPI, GroupingNotes, group_resource

_PLACED = "Scheduled"
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
    """The fields of a PodGroup that gangboard reads."""

    metadata: WireMeta
    spec: _WireSpec | None = None
    status: _WireStatus | None = None


def _build(wire: WirePodGroup, version: str) -> Group:
    """Return a PodGroup as a group, with the faults of its amounts."""
    spec, status = wire.spec or _WireSpec(), wire.status or _WireStatus()
    quorum = spec.min_member or 0
    phase = status.phase or ""
    conditions = read_conditions(status.conditions)
    amounts = ResourceListReader()
    tasks = _task_minima(spec)
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
    return raise_for_faults(group, tuple(amounts.faults))


def _task_minima(spec: _WireSpec) -> dict[str, int]:
    """Return task → minimum, for the tasks that are not optional.

    Volcano ignores all minima if their sum is above `minMember` (CheckTaskValid in job_info.go of v1.14.1).
    """
    minima = {name: least for name, least in (spec.min_task_member or {}).items() if least > 0}
    return minima if sum(minima.values()) <= (spec.min_member or 0) else {}


def _placed(conditions: tuple[Condition, ...], phase: str) -> Condition | None:
    """Return the later of the two conditions. A PodGroup that has run counts as placed in any case."""
    refused = find_condition(conditions, REFUSED)
    placed = find_condition(conditions, _PLACED)
    if placed is not None and (refused is None or phase in _RAN or _is_later(placed, refused)):
        return placed
    if refused is None or not refused.is_true:
        return None
    return Condition(REFUSED, "False", "Unschedulable", refused.message, refused.since)


def _is_later(condition: Condition, reference: Condition) -> bool:
    return (
        condition.since is not None
        and reference.since is not None
        and condition.since > reference.since
    )


class Volcano(GroupingAPI):
    """PodGroups of Volcano."""

    label = "Volcano"
    group = GROUP
    resources = (
        group_resource(GROUP, "podgroups", "PodGroup", ("v1beta1",), WirePodGroup, _build),
    )
    annotations: Mapping[str, str] = {
        "scheduling.k8s.io/group-name": "PodGroup",
        "scheduling.volcano.sh/group-name": "PodGroup",
    }
    schedulers = ("volcano",)
    traits: Mapping[str, KindTraits] = {
        "PodGroup": KindTraits(number_paths={"minMember": "spec.minMember"})
    }
    rules = (*RULES, WAITS_FOR_READMISSION, OWN_PODS_COUNT_TWICE)
    event_reasons = frozenset({REFUSED})
    # The pod itself could be placed while its gang waits (unschedule_info.go of v1.14.1).
    pod_reasons: Mapping[str, str] = {"Schedulable": ""}
    notes = GroupingNotes(
        members=(
            "the annotations `scheduling.k8s.io/group-name` and "
            "`scheduling.volcano.sh/group-name`; only scheduler `volcano` reads them"
        ),
        limits=(
            "Only events say why its queue does not admit it. Its conditions are never "
            "removed, and the latest one counts. Pods behind the gate "
            "`queue-allocation-gate` (1.15) wait for their queue"
        ),
        tested="Volcano 1.14 on 1.37",
    )
