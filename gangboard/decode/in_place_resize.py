"""Requests of pods on nodes, which differ from the spec while a pod is resized in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gangboard.decode.podspec import (
    RequestReader,
    Requests,
    WireContainer,
    WirePodSpec,
    WireResources,
    add_amounts,
    container_requests,
    is_pod_level_resource,
    largest_amounts,
    pod_level_requests,
)
from gangboard.decode.quantities import Quantities
from gangboard.decode.wire import Wire, WireCondition


class WireResourceStatus(Wire):
    """Resources that the kubelet reports for a container or a pod."""

    name: str = ""
    allocated_resources: Quantities | None = None
    """Allocated by the kubelet."""
    resources: WireResources | None = None
    """In effect."""


@dataclass(frozen=True, slots=True)
class ResizeStatus:
    """Resources in the status of a pod and its containers."""

    containers: Mapping[str, WireResourceStatus] = field(default_factory=dict)
    pod: WireResourceStatus = field(default_factory=WireResourceStatus)
    infeasible: bool = False
    """The node can never perform the requested resize, so the spec does not count."""

    def changes(self, spec: WirePodSpec) -> bool:
        """Return whether the status differs from the spec."""
        if self.infeasible or self.pod.allocated_resources or self.pod.resources:
            return True
        for container in (*(spec.containers or ()), *(spec.init_containers or ())):
            status = self.containers.get(container.name)
            if status is not None and _differs(status, _spec_requests(container)):
                return True
        return False


def is_infeasible(conditions: list[WireCondition] | None) -> bool:
    """Return whether the node reports that it can never perform a resize."""
    pending = [condition for condition in conditions or () if condition.type == "PodResizePending"]
    return bool(pending) and pending[0].reason == "Infeasible"


def placed_requests(spec: WirePodSpec, status: ResizeStatus) -> tuple[Requests, dict[str, str]]:
    """Return the requests of a pod as the scheduler counts them, in base units, and faults by resource.

    The scheduler takes the largest of the requested, allocated and effective amounts, and adds them as `pod_requests`
    does. Source: component-helpers/resource PodRequests with UseStatusResources (1.37). Until 1.36 it took the largest
    for each container, which gives another sum only if one container grows while another shrinks.
    """
    reader = RequestReader()
    requests = container_requests(spec, reader.container)
    pod_level = pod_level_requests(spec, requests, reader)
    if status.changes(spec):
        candidates = [] if status.infeasible else [requests]
        requests = largest_amounts([*candidates, *_status_requests(spec, status, reader)])
        if pod_level and status.pod.resources is not None:
            pod_level = _pod_level_status_requests(pod_level, status, reader)
    requests.update(pod_level)
    add_amounts(requests, reader.amounts(spec.overhead))
    return reader.without_faults(requests), reader.faults


def _status_requests(
    spec: WirePodSpec, status: ResizeStatus, reader: RequestReader
) -> tuple[Requests, Requests]:
    """Return the allocated and the effective requests of all containers."""
    effective = _effective(status.pod)
    if status.pod.allocated_resources is not None and effective is not None:
        return reader.amounts(status.pod.allocated_resources), reader.amounts(effective)

    def allocated_requests(container: WireContainer) -> Requests:
        container_status = status.containers.get(container.name)
        if container_status is not None and container_status.allocated_resources is not None:
            return reader.amounts(container_status.allocated_resources)
        return {} if status.infeasible else reader.container(container)

    def effective_requests(container: WireContainer) -> Requests:
        container_status = status.containers.get(container.name)
        requests = _effective(container_status) if container_status is not None else None
        return allocated_requests(container) if requests is None else reader.amounts(requests)

    return (
        container_requests(spec, allocated_requests),
        container_requests(spec, effective_requests),
    )


def _pod_level_status_requests(
    requests: Requests, status: ResizeStatus, reader: RequestReader
) -> Requests:
    """Return the pod-level requests that count during a resize."""
    reported = [
        reader.amounts(_effective(status.pod)),
        reader.amounts(status.pod.allocated_resources),
    ]
    counted = largest_amounts(reported if status.infeasible else [requests, *reported])
    return {
        resource: amount for resource, amount in counted.items() if is_pod_level_resource(resource)
    }


def _spec_requests(container: WireContainer) -> Quantities:
    return (container.resources and container.resources.requests) or {}


def _differs(status: WireResourceStatus, requests: Quantities) -> bool:
    allocated, effective = status.allocated_resources, _effective(status)
    return (allocated is not None and allocated != requests) or (
        effective is not None and effective != requests
    )


def _effective(status: WireResourceStatus) -> Quantities | None:
    return status.resources.requests if status.resources is not None else None
