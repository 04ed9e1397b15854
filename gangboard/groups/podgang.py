"""PodGangs of NVIDIA Grove (scheduler.grove.io/v1alpha1): PodCliques that are placed together.

Grove creates a PodGang for each replica of a PodCliqueSet, and for each replica of a scaling group beyond its
`minAvailable`. Pods name it by a label. A scheduler backend creates groups for it, such as core PodGroups, which it owns.
Pods are counted in these groups. So pages show PodGangs, but a PodGang is no unit. Its `status.phase` is not read,
because it is always Pending (podgang/syncflow.go of v0.1.0-alpha.12-rc1).
"""

from __future__ import annotations

from collections.abc import Iterator

from gangboard.decode.key_fields import KeyField
from gangboard.decode.wire import Int32, Wire, WireCondition, WireMeta, read_conditions, read_meta
from gangboard.domain.group import Group, GroupTemplate, Policy
from gangboard.domain.objects import find_condition
from gangboard.plugins.grouping_api import GroupingAPI, GroupingNotes, group_resource

_GROUP = "scheduler.grove.io"


class _WirePack(Wire):
    required: str | None = None


class _WireTopology(Wire):
    pack_constraint: _WirePack | None = None


class _WirePodReference(Wire):
    name: str = ""


class _WirePodGroup(Wire):
    name: str = ""
    min_replicas: KeyField[Int32 | None] = None
    pod_references: list[_WirePodReference] | None = None
    topology_constraint: _WireTopology | None = None


class _WirePodGangSpec(Wire):
    podgroups: list[_WirePodGroup] | None = None
    topology_constraint: _WireTopology | None = None


class _WirePodGangStatus(Wire):
    conditions: list[WireCondition] | None = None


class WirePodGang(Wire):
    """The fields of a PodGang that gangboard reads."""

    metadata: WireMeta
    spec: _WirePodGangSpec | None = None
    status: _WirePodGangStatus | None = None


def _build(wire: WirePodGang, version: str) -> Group:
    spec = wire.spec or _WirePodGangSpec()
    conditions = read_conditions(wire.status.conditions if wire.status is not None else None)
    templates = tuple(
        GroupTemplate(
            name=group.name,
            policy=Policy.GANG,
            quorum=max(0, group.min_replicas or 0),
            topology_keys=tuple(_topology_keys(group.topology_constraint)),
            members=tuple(pod.name for pod in group.pod_references or ()),
        )
        for group in spec.podgroups or ()
    )
    return Group(
        meta=read_meta(wire.metadata, _GROUP, "PodGang", version),
        policy=Policy.GANG,
        quorum=sum(group.quorum or 0 for group in templates),
        topology_keys=tuple(_topology_keys(spec.topology_constraint)),
        conditions=conditions,
        placed=find_condition(conditions, "Scheduled"),
        templates=templates,
    )


def _topology_keys(constraint: _WireTopology | None) -> Iterator[str]:
    if constraint is not None and constraint.pack_constraint is not None:
        key = constraint.pack_constraint.required
        if key:
            yield key


class PodGangs(GroupingAPI):
    """PodGangs of Grove."""

    label = "Grove"
    group = _GROUP
    resources = (group_resource(_GROUP, "podgangs", "PodGang", ("v1alpha1",), WirePodGang, _build),)
    groups_of = (("grove.io", "PodCliqueSet"),)
    # This event is the only report that a backend cannot translate a PodGang for its scheduler.
    event_reasons = frozenset({"KAIBackendMappingFailed"})
    notes = GroupingNotes(
        members="the PodGang lists its pods, and the pods name it by a label",
        tested="its public types on 1.35, 1.36 and 1.37; tests play its operator",
    )
