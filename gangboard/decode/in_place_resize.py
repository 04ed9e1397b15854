"""What a pod on a node takes there: other than its spec says while it is resized in place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gangboard.decode.podspec import (
    RequestReader,
    Requests,
    WireContainer,
    WirePodSpec,
    WireResources,
    add,
    container_requests,
    is_pod_level_resource,
    most,
    pod_level_requests,
)
from gangboard.decode.quantities import Quantities
from gangboard.decode.wire import Wire, WireCondition


class WireResourceStatus(Wire):
    """What the kubelet says that something has been given, of a container or a whole pod."""

    name: str = ""
    allocated_resources: Quantities | None = None
    """Promised to it."""
    resources: WireResources | None = None
    """In force."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """The status of a pod, as far as its requests go."""

    containers: Mapping[str, WireResourceStatus] = field(default_factory=dict)
    pod: WireResourceStatus = field(default_factory=WireResourceStatus)
    infeasible: bool = False
    """The node can never carry out the resize that was asked for: the spec does not count."""

    def changes(self, spec: WirePodSpec) -> bool:
        """Whether it says anything that the spec does not say too."""
        if self.infeasible or self.pod.allocated_resources or self.pod.resources:
            return True
        for container in (*(spec.containers or ()), *(spec.init_containers or ())):
            status = self.containers.get(container.name)
            if status is not None and _differs(status, _asked(container)):
                return True
        return False


def is_infeasible(conditions: list[WireCondition] | None) -> bool:
    """Whether the node says that it can never carry out a resize."""
    pending = [one for one in conditions or () if one.type == "PodResizePending"]
    return bool(pending) and pending[0].reason == "Infeasible"


def placed_requests(spec: WirePodSpec, status: Allocation) -> tuple[Requests, dict[str, str]]:
    """Return what a scheduler counts for a pod, in base units, and per malformed resource why.

    The most of what is asked for, promised, and in force; see `pod_requests` for how it adds up.
    Source: component-helpers/resource PodRequests with UseStatusResources (1.37; until 1.36 the
    most was taken container by container, which is another sum only where one grows and another
    shrinks).
    """
    reading = RequestReader()
    asked = container_requests(spec, reading.container)
    whole = pod_level_requests(spec, asked, reading)
    if status.changes(spec):
        asked = most([*([] if status.infeasible else [asked]), *_given(spec, status, reading)])
        if whole and status.pod.resources is not None:
            whole = _whole(whole, status, reading)
    asked.update(whole)
    add(asked, reading.amounts(spec.overhead))
    return reading.without_faults(asked), reading.faults


def _given(
    spec: WirePodSpec, status: Allocation, reading: RequestReader
) -> tuple[Requests, Requests]:
    """Return what is promised to all containers together, and what is in force."""
    in_force = _in_force(status.pod)
    if status.pod.allocated_resources is not None and in_force is not None:
        return reading.amounts(status.pod.allocated_resources), reading.amounts(in_force)

    def promised(container: WireContainer) -> Requests:
        one = status.containers.get(container.name)
        if one is not None and one.allocated_resources is not None:
            return reading.amounts(one.allocated_resources)
        return {} if status.infeasible else reading.container(container)

    def used(container: WireContainer) -> Requests:
        one = status.containers.get(container.name)
        requests = _in_force(one) if one is not None else None
        return promised(container) if requests is None else reading.amounts(requests)

    return container_requests(spec, promised), container_requests(spec, used)


def _whole(asked: Requests, status: Allocation, reading: RequestReader) -> Requests:
    """Return what counts for a pod that makes requests as a whole."""
    given = [
        reading.amounts(_in_force(status.pod)),
        reading.amounts(status.pod.allocated_resources),
    ]
    counted = most(given if status.infeasible else [asked, *given])
    return {
        resource: amount for resource, amount in counted.items() if is_pod_level_resource(resource)
    }


def _asked(container: WireContainer) -> Quantities:
    return (container.resources and container.resources.requests) or {}


def _differs(status: WireResourceStatus, asked: Quantities) -> bool:
    promised, in_force = status.allocated_resources, _in_force(status)
    return (promised is not None and promised != asked) or (
        in_force is not None and in_force != asked
    )


def _in_force(status: WireResourceStatus) -> Quantities | None:
    return status.resources.requests if status.resources is not None else None
