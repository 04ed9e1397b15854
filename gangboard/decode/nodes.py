"""Decoder of nodes. They are optional, and without them only the capacity is unknown."""

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
"""Conditions of the node lifecycle (KEP-5683, k8s.io/api v0.37.2).

Admins or their tools set them. Controllers of Kubernetes do not set them, and the scheduler does not read them."""


class WireNodeMeta(WireMeta):
    """`metadata` of a node with all labels, because pods can select any."""

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
    """A node."""

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
        taints=tuple(
            Taint(taint.key, taint.effect, taint.value or "") for taint in spec.taints or ()
        ),
        tainted_by=field_writer(wire.metadata.managed_fields, "/spec/taints")
        if spec.taints
        else None,
        allocatable=allocatable,
        unreadable=frozenset(faults),
        withheld=_withheld(_amounts(status.capacity)[0], allocatable, faults),
        lifecycle=tuple(
            read_condition(condition)
            for condition in status.conditions or ()
            if condition.type in LIFECYCLE and condition.status == "True"
        ),
    )
    return raise_for_faults(node, faults.values())


def _cordoned_by(metadata: WireNodeMeta, spec: _WireNodeSpec) -> FieldWriter | None:
    """Return the writer of the cordon. The node controller adds the taint at once, so its time is exact."""
    if not spec.unschedulable:
        return None
    writer = field_writer(metadata.managed_fields, "/spec/unschedulable")
    times = (read_time(taint.time_added) for taint in spec.taints or () if taint.key == CORDON)
    added_at = next((time for time in times if time is not None), None)
    if writer is None or added_at is None or writer.at is None:
        return writer
    return replace(writer, at=min(writer.at, added_at), is_exact=True)


def _withheld(
    capacity: Mapping[str, int], allocatable: Mapping[str, int], faults: Collection[str]
) -> dict[str, int]:
    """Return the amounts of devices and huge pages that are not allocatable.

    A kubelet reserves CPU, memory and disk for itself, so such a difference is normal. A device in `capacity` alone is
    broken, or its plugin is down.
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
    """Return amounts in scheduler units, and a clause for each malformed resource.

    Fractions are rounded up and negative amounts stay, as for the requests of pods. NodeInfo.SetNode adds
    `status.allocatable` with the same Resource.Add.
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
