"""PodGangs of NVIDIA Grove (scheduler.grove.io/v1alpha1): PodCliques that are placed together.

Grove makes one for each replica of a PodCliqueSet, and one for each replica of a scaling group beyond its
`minAvailable`. Pods name it by a label, and a scheduler's backend makes its own group of it, such as core
PodGroups: these are owned by it, and are what the pods are counted in. So a PodGang is shown, and is no
unit of its own. Its `status.phase` is always Pending (only that is ever written: podgang/syncflow.go of
v0.1.0-alpha.12-rc1) and is not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from gangboard.decode.fitting import KeyField, key_fields
from gangboard.decode.wire import Int32, Wire, WireCondition, WireMeta, read_conditions, read_meta
from gangboard.domain.api_resource import Resource
from gangboard.domain.group import Group, GroupTemplate, Policy
from gangboard.domain.objects import find_condition
from gangboard.plugins.grouping_api import GroupingAPI, GroupingNotes

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
    """A PodGang as narrow as it is kept."""

    metadata: WireMeta
    spec: _WirePodGangSpec | None = None
    status: _WirePodGangStatus | None = None


def _build(wire: WirePodGang, version: str) -> Group:
    spec = wire.spec or _WirePodGangSpec()
    conditions = read_conditions(wire.status.conditions if wire.status is not None else None)
    templates = tuple(
        GroupTemplate(
            name=one.name,
            policy=Policy.GANG,
            quorum=max(0, one.min_replicas or 0),
            topology_keys=tuple(_keys(one.topology_constraint)),
            members=tuple(pod.name for pod in one.pod_references or ()),
        )
        for one in spec.podgroups or ()
    )
    return Group(
        meta=read_meta(wire.metadata, _GROUP, "PodGang", version),
        policy=Policy.GANG,
        quorum=sum(one.quorum or 0 for one in templates),
        topology_keys=tuple(_keys(spec.topology_constraint)),
        conditions=conditions,
        placed=find_condition(conditions, "Scheduled"),
        templates=templates,
    )


def _keys(constraint: _WireTopology | None) -> Iterator[str]:
    if constraint is not None and constraint.pack_constraint is not None:
        key = constraint.pack_constraint.required
        if key:
            yield key


GROUPING = GroupingAPI(
    label="Grove",
    notes=GroupingNotes(
        members="it lists its pods; these name it by a label",
        tested="its public types, its operator played, on 1.35, 1.36 and 1.37",
    ),
    group=_GROUP,
    groups_of=(("grove.io", "PodCliqueSet"),),
    # A backend cannot hand a PodGang to its scheduler; no condition says so.
    event_reasons=frozenset({"KAIBackendMappingFailed"}),
    resources=(
        Resource(
            group=_GROUP,
            plural="podgangs",
            kind="PodGang",
            versions=("v1alpha1",),
            wire=WirePodGang,
            model=Group,
            build=_build,
            needed=True,
            fields=key_fields(WirePodGang),
        ),
    ),
)
