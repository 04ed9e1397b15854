"""The part of a pod's spec that decides where it can go, alike in pods and in pod templates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from gangboard.decode.quantities import parse_quantity
from gangboard.decode.wire import Int32, Wire

# Served as text by built-in types; a custom resource keeps `cpu: 2` as the number it was.
Quantities = dict[str, str | int | float]


class WireResources(Wire):
    """`resources` of a container or of a whole pod."""

    requests: Quantities | None = None
    limits: Quantities | None = None


class WireContainer(Wire):
    """A container, as far as the scheduler counts it."""

    name: str = ""
    restart_policy: str | None = None
    resources: WireResources | None = None


class WireGate(Wire):
    """One entry of `schedulingGates`."""

    name: str = ""


class WireSchedulingGroup(Wire):
    """`schedulingGroup` (1.36 and later): the core PodGroup that the pod belongs to."""

    pod_group_name: str | None = None


class WirePodSpec(Wire):
    """`spec` of a pod or of a pod template."""

    containers: list[WireContainer] | None = None
    init_containers: list[WireContainer] | None = None
    resources: WireResources | None = None
    overhead: Quantities | None = None
    node_name: str | None = None
    scheduler_name: str | None = None
    priority: Int32 | None = None
    priority_class_name: str | None = None
    scheduling_gates: list[WireGate] | None = None
    scheduling_group: WireSchedulingGroup | None = None

    @property
    def group_name(self) -> str:
        """The PodGroup that it names, or empty."""
        return (self.scheduling_group and self.scheduling_group.pod_group_name) or ""


@dataclass(slots=True)
class _Sum:
    """Amounts per resource, and the resources of which some amount could not be read."""

    amounts: dict[str, Decimal] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)

    def read(self, quantities: Quantities | None) -> dict[str, Decimal]:
        """Parse a resource list; what is malformed is noted and left out."""
        parsed: dict[str, Decimal] = {}
        for resource, text in (quantities or {}).items():
            try:
                parsed[resource] = parse_quantity(str(text))
            except ValueError as error:
                self.faults.setdefault(resource, f"its request of {resource} is left out: {error}")
        return parsed

    def container(self, container: WireContainer) -> dict[str, Decimal]:
        """Requests of one container; a missing one is its limit, as the API server defaults pods."""
        resources = container.resources
        if resources is None:
            return {}
        return self.read({**(resources.limits or {}), **(resources.requests or {})})

    def add(self, amounts: dict[str, Decimal]) -> None:
        """Add resource by resource."""
        _add(self.amounts, amounts)


def pod_requests(spec: WirePodSpec) -> tuple[dict[str, Decimal], tuple[str, ...]]:
    """Return what the scheduler counts for one such pod, in base units, and what was malformed.

    Source: component-helpers/resource PodRequests and the API server's SetDefaults_Pod (1.37).
    Containers and sidecars add up; the largest moment of initialization counts when it is more;
    requests of the pod as a whole win for cpu, memory and huge pages; overhead comes on top. A
    resource with one malformed amount is left out as a whole, never summed without it. A resize
    in place that the kubelet has not carried out yet is counted as already done.
    """
    total = _Sum()
    for container in spec.containers or ():
        total.add(total.container(container))
    peak: dict[str, Decimal] = {}
    for amounts in _initialization(spec, total):
        for resource, amount in amounts.items():
            peak[resource] = max(amount, peak.get(resource, amount))
    for resource, amount in peak.items():
        total.amounts[resource] = max(amount, total.amounts.get(resource, amount))
    total.amounts.update(_of_whole_pod(spec, total))
    total.add(total.read(spec.overhead))
    for resource in total.faults:
        total.amounts.pop(resource, None)
    return total.amounts, tuple(total.faults.values())


def _initialization(spec: WirePodSpec, total: _Sum) -> Iterator[dict[str, Decimal]]:
    """Yield what is in use while each init container runs; sidecars are added to the total."""
    sidecars: dict[str, Decimal] = {}
    for container in spec.init_containers or ():
        amounts = total.container(container)
        if container.restart_policy == "Always":
            total.add(amounts)
            _add(sidecars, amounts)
            yield dict(sidecars)
        else:
            _add(amounts, sidecars)
            yield amounts


def _of_whole_pod(spec: WirePodSpec, total: _Sum) -> dict[str, Decimal]:
    """Return requests that the pod as a whole makes, which win over those of its containers."""
    if spec.resources is None:
        return {}
    requests = total.read(spec.resources.requests)
    for resource, limit in total.read(spec.resources.limits).items():
        # A limit becomes the request where no container asks; huge pages cannot be overcommitted.
        if resource not in total.amounts or resource.startswith("hugepages-"):
            requests.setdefault(resource, limit)
    return {
        resource: amount
        for resource, amount in requests.items()
        if resource in ("cpu", "memory") or resource.startswith("hugepages-")
    }


def _add(into: dict[str, Decimal], amounts: dict[str, Decimal]) -> None:
    for resource, amount in amounts.items():
        into[resource] = into.get(resource, Decimal(0)) + amount
