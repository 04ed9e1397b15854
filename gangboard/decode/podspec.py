"""The part of a pod's spec that decides where it can go, alike in pods and in pod templates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

import msgspec

from gangboard.decode.quantities import Quantities, parse_amount
from gangboard.decode.wire import Int32, Wire
from gangboard.domain.group import WorkloadEntry

Requests = dict[str, Decimal]
NULL = msgspec.Raw(b"null")
_NOTHING: Quantities = {}


class WireResources(Wire):
    """`resources` of a container or of a whole pod."""

    requests: Quantities | None = None
    limits: Quantities | None = None


class WireContainer(Wire):
    """A container, as far as the scheduler counts it."""

    name: str = ""
    restart_policy: str | None = None
    restart_policy_rules: msgspec.Raw = NULL
    resources: WireResources | None = None
    ports: msgspec.Raw = NULL

    @property
    def is_sidecar(self) -> bool:
        """Whether an init container runs as long as its pod."""
        return self.restart_policy == "Always"


class WireGate(Wire):
    """One entry of `schedulingGates`."""

    name: str = ""


class WireSchedulingGroup(Wire):
    """`schedulingGroup` (1.36 and later): the core PodGroup that the pod belongs to."""

    pod_group_name: str | None = None


class WireWorkloadRef(Wire):
    """`workloadRef` (1.35): the entry of a Workload that the pod belongs to."""

    name: str = ""
    pod_group: str = ""
    pod_group_replica_key: str | None = None


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
    workload_ref: WireWorkloadRef | None = None

    @property
    def group_name(self) -> str:
        """The PodGroup that it names, on 1.35 the name of its `WorkloadEntry`, or empty."""
        if self.scheduling_group is not None and self.scheduling_group.pod_group_name:
            return self.scheduling_group.pod_group_name
        entry = self.workload_ref
        if entry is None or not (entry.name and entry.pod_group):
            return ""
        return WorkloadEntry(entry.name, entry.pod_group, entry.pod_group_replica_key or "").name


@dataclass(slots=True)
class RequestReader:
    """Reads resource lists; what is malformed is noted and left out."""

    faults: dict[str, str] = field(default_factory=dict)
    """Resource → half a sentence."""

    def amounts(self, quantities: Quantities | None) -> Requests:
        """Return a resource list in base units."""
        parsed: Requests = {}
        for resource, text in (quantities or _NOTHING).items():
            try:
                parsed[resource] = parse_amount(resource, str(text))
            except ValueError as error:
                self.faults.setdefault(resource, f"its request of {resource} is left out: {error}")
        return parsed

    def container(self, container: WireContainer) -> Requests:
        """Requests of one container; a missing one is its limit, as the API server defaults pods."""
        resources = container.resources
        if resources is None:
            return {}
        return self.amounts({**(resources.limits or {}), **(resources.requests or {})})

    def without_faults(self, amounts: Requests) -> Requests:
        """Leave out the resources with a malformed amount, never summing without it."""
        if not self.faults:
            return amounts
        return {key: amount for key, amount in amounts.items() if key not in self.faults}


def pod_requests(spec: WirePodSpec) -> tuple[Requests, tuple[str, ...]]:
    """Return what the scheduler counts for one such pod, in base units, and what was malformed.

    Source: component-helpers/resource PodRequests and the API server's SetDefaults_Pod (1.37).
    Containers and sidecars add up; the largest moment of initialization counts when it is more;
    requests of the pod as a whole win for cpu, memory and huge pages; overhead comes on top. A
    resource with one malformed amount is left out as a whole.
    """
    reading = RequestReader()
    total = container_requests(spec, reading.container)
    total.update(pod_level_requests(spec, total, reading))
    add(total, reading.amounts(spec.overhead))
    return reading.without_faults(total), tuple(reading.faults.values())


def container_requests(
    spec: WirePodSpec, requests: Callable[[WireContainer], Requests]
) -> Requests:
    """Return the sum over the containers, or what initialization needs where that is more."""
    total: Requests = {}
    for container in spec.containers or ():
        add(total, requests(container))
    if not spec.init_containers:
        return total
    return most([total, *_initialization(spec, requests, total)])


def _initialization(
    spec: WirePodSpec, requests: Callable[[WireContainer], Requests], total: Requests
) -> Iterator[Requests]:
    """Yield what is in use while each init container runs; sidecars are added to the total."""
    sidecars: Requests = {}
    for container in spec.init_containers or ():
        amounts = requests(container)
        if container.is_sidecar:
            add(total, amounts)
            add(sidecars, amounts)
            yield dict(sidecars)
        else:
            add(amounts, sidecars)
            yield amounts


def pod_level_requests(
    spec: WirePodSpec, total: Mapping[str, Decimal], reading: RequestReader
) -> Requests:
    """Return requests that the pod as a whole makes, which win over those of its containers."""
    if spec.resources is None:
        return {}
    requests = reading.amounts(spec.resources.requests)
    for resource, limit in reading.amounts(spec.resources.limits).items():
        # A limit becomes the request where no container asks; huge pages cannot be overcommitted.
        if resource not in total or resource.startswith("hugepages-"):
            requests.setdefault(resource, limit)
    return {
        resource: amount for resource, amount in requests.items() if is_pod_level_resource(resource)
    }


def is_pod_level_resource(resource: str) -> bool:
    """Whether a pod as a whole can ask for it (supportedPodLevelResources)."""
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def add(into: Requests, amounts: Mapping[str, Decimal]) -> None:
    """Add resource by resource."""
    for resource, amount in amounts.items():
        into[resource] = into.get(resource, Decimal(0)) + amount


def most(lists: Iterable[Mapping[str, Decimal]]) -> Requests:
    """Return the largest amount of each resource."""
    largest: Requests = {}
    for amounts in lists:
        for resource, amount in amounts.items():
            largest[resource] = max(amount, largest.get(resource, amount))
    return largest
