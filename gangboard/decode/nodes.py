"""Nodes: readiness, cordon, and what they offer. Never needed: without nodes only room is unknown."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import msgspec

from gangboard.decode.managed_fields import NO_ENTRIES, field_writer
from gangboard.decode.problems import raise_for_faults
from gangboard.decode.quantities import Quantities, parse_amount
from gangboard.decode.wire import (
    Wire,
    WireCondition,
    WireMeta,
    pick_condition,
    read_condition,
    read_meta,
    read_time,
)
from gangboard.domain.api_resource import Resource
from gangboard.domain.node import Node
from gangboard.domain.pod_constraints import CORDON, Taint
from gangboard.domain.resources import scheduler_units
from gangboard.domain.suspension import FieldWriter

LIFECYCLE = (
    "GracefulNodeShutdownInProgress",
    "DrainInProgress",
    "Drained",
    "MaintenancePlanned",
    "MaintenanceInProgress",
)
"""Conditions of the node lifecycle (KEP-5683; k8s.io/api v0.37.2). Admins or their tools set them, no controller of
Kubernetes, and the scheduler does not read them."""


class WireNodeMeta(WireMeta):
    """`metadata` of a node: all labels, any of them can be asked for."""

    labels: dict[str, str | None] | None = None
    managed_fields: msgspec.Raw = NO_ENTRIES


class _WireTaint(Wire):
    key: str = ""
    effect: str = ""
    value: str | None = None
    time_added: str | None = None


class _WireNodeSpec(Wire):
    unschedulable: bool | None = None
    taints: list[_WireTaint] | None = None


class _WireNodeStatus(Wire):
    conditions: list[WireCondition] | None = None
    allocatable: Quantities | None = None
    capacity: Quantities | None = None


class WireNode(Wire):
    """A node as narrow as it is kept."""

    metadata: WireNodeMeta
    spec: _WireNodeSpec | None = None
    status: _WireNodeStatus | None = None


def _build(wire: WireNode, version: str) -> Node:
    spec, status = wire.spec or _WireNodeSpec(), wire.status or _WireNodeStatus()
    allocatable, faults = _amounts(status.allocatable)
    node = Node(
        meta=read_meta(wire.metadata, "", "Node", version),
        ready=pick_condition(status.conditions, "Ready"),
        unschedulable=bool(spec.unschedulable),
        cordoned_by=_cordoned_by(wire.metadata, spec),
        labels={key: value or "" for key, value in (wire.metadata.labels or {}).items()},
        taints=tuple(Taint(one.key, one.effect, one.value or "") for one in spec.taints or ()),
        tainted_by=field_writer(wire.metadata.managed_fields, "/spec/taints")
        if spec.taints
        else None,
        allocatable=allocatable,
        unreadable=frozenset(faults),
        withheld=_withheld(_amounts(status.capacity)[0], allocatable, faults),
        lifecycle=tuple(
            read_condition(one)
            for one in status.conditions or ()
            if one.type in LIFECYCLE and one.status == "True"
        ),
    )
    return raise_for_faults(node, faults.values())


def _cordoned_by(metadata: WireNodeMeta, spec: _WireNodeSpec) -> FieldWriter | None:
    """Return who cordoned a node. The node controller adds the taint at once, so its time is exact."""
    if not spec.unschedulable:
        return None
    writer = field_writer(metadata.managed_fields, "/spec/unschedulable")
    times = (read_time(one.time_added) for one in spec.taints or () if one.key == CORDON)
    added_at = next((time for time in times if time is not None), None)
    if writer is None or added_at is None or writer.at is None:
        return writer
    return replace(writer, at=min(writer.at, added_at), is_exact=True)


def _withheld(
    capacity: Mapping[str, int], allocatable: Mapping[str, int], faults: Collection[str]
) -> dict[str, int]:
    """Return how much of each device and huge page size is not allocatable.

    A kubelet reserves CPU, memory and disk for itself, so that difference is no fault. A device that is not
    allocatable is broken, or its plugin is down: the kubelet counts it in `capacity` alone.
    """
    if not allocatable:
        return {}  # a node that has just registered
    return {
        resource: amount - max(0, allocatable.get(resource, 0))
        for resource, amount in capacity.items()
        if ("/" in resource or resource.startswith("hugepages-"))
        and resource not in faults
        and amount > max(0, allocatable.get(resource, 0))
    }


def _amounts(quantities: Quantities | None) -> tuple[dict[str, int], dict[str, str]]:
    """Return what pods can be given, in scheduler units, and per malformed resource half a sentence.

    Fractions are rounded up as those of pods are, and less than nothing stays less than nothing:
    NodeInfo.SetNode adds `status.allocatable` with the same Resource.Add as a pod's requests.
    """
    amounts: dict[str, int] = {}
    faults: dict[str, str] = {}
    for resource, text in (quantities or {}).items():
        try:
            amounts[resource] = scheduler_units(resource, parse_amount(resource, str(text)))
        except ValueError as error:
            faults[resource] = f"its allocatable {resource} is left out: {error}"
    return amounts, faults


NODE = Resource(
    group="",
    plural="nodes",
    kind="Node",
    versions=("v1",),
    wire=WireNode,
    model=Node,
    build=_build,
)
