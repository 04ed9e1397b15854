"""Devices that a DRA driver provides under the name of an extended resource.

The scheduler asks the driver instead of comparing amounts if a node does not list the resource and a DeviceClass has
its name as `extendedResourceName` (shouldDelegateResourceToDRA in plugins/noderesources/fit.go). The gate
DRAExtendedResource is off before 1.36, on in 1.36 and locked on in 1.37. The poller does not read DeviceClasses. But the
scheduler reports `Insufficient …` only for amounts that it compares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gangboard.domain.capacity import PlacementRequest, PodSet, Shape
from gangboard.domain.pod import Pod
from gangboard.domain.pod_constraints import Toleration
from gangboard.facts.scheduler_text import node_reasons, scheduler_messages
from gangboard.facts.unit import Unit
from gangboard.placement.amounts import requested_amounts
from gangboard.placement.feasible_nodes import feasible_nodes_of
from gangboard.placement.node_snapshot import snapshot_of

_SERVED_PREFIX = "devices that a DeviceClass may serve as "
_SERVED_SINCE = (1, 36)
_EVERYWHERE = (Toleration(operator="Exists"),)


def driver_served_requests(unit: Unit, shape: Shape, pods: Sequence[Pod]) -> tuple[str, ...]:
    """Return the requests of a shape that a driver may provide, for `Shape.undecidable`.

    These are extended resources that no selected node lists, unless the scheduler reports them as
    insufficient. Empty: the cluster is older than 1.36, or the pods select no node at all.
    """
    if unit.gang.cluster.kubernetes is not None and unit.gang.cluster.kubernetes < _SERVED_SINCE:
        return ()
    requested = [
        name for name in requested_amounts(shape) if "/" in name and "kubernetes.io/" not in name
    ]
    if not requested:
        return ()
    snapshot = snapshot_of(unit.gang.cluster.room)
    plain = Shape(shape.name, {}, shape.node_selector, shape.affinity, _EVERYWHERE)
    selected = feasible_nodes_of(snapshot, plain).eligible()
    names = []
    for resource in requested:
        is_listed = snapshot.resource(resource).allocatable != 0
        if not selected.any() or (selected & is_listed).any():
            continue
        # Other nodes list the resource, so only messages about these pods count.
        if not _scheduler_compares(unit, resource, pods if is_listed.any() else None):
            names.append(f"{_SERVED_PREFIX}{resource}")
    return tuple(names)


def _scheduler_compares(unit: Unit, resource: str, pods: Sequence[Pod] | None) -> bool:
    """Return whether the scheduler reports the resource as insufficient for one of these pods. None: for any pod."""
    own_refs = None if pods is None else {pod.meta.ref for pod in pods}
    return any(
        reason == f"Insufficient {resource}"
        for message in scheduler_messages(unit, "Unschedulable")
        if own_refs is None or message.source in own_refs
        for reason, _ in node_reasons(message.text)
    )


def without_devices(request: PlacementRequest) -> PlacementRequest:
    """Return the request without the resources that `driver_served_requests` has named in its shapes."""
    return replace(
        request,
        pod_sets=tuple(
            PodSet(_shape_without_devices(pod_set.shape), pod_set.count)
            for pod_set in request.pod_sets
        ),
    )


def _shape_without_devices(shape: Shape) -> Shape:
    served = {
        name.removeprefix(_SERVED_PREFIX)
        for name in shape.undecidable
        if name.startswith(_SERVED_PREFIX)
    }
    return replace(
        shape,
        requests={name: amount for name, amount in shape.requests.items() if name not in served},
        undecidable=tuple(
            name for name in shape.undecidable if not name.startswith(_SERVED_PREFIX)
        ),
    )
