"""Wire structs of the pod spec in pods and pod templates, and the sum of its requests."""

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
_NO_QUANTITIES: Quantities = {}


class WireResources(Wire):
    """`resources` of a container or of a whole pod."""

    requests: Quantities | None = None
    limits: Quantities | None = None


class WireContainer(Wire):
    """A container with the fields that the scheduler reads."""

    name: str = ""
    restart_policy: str | None = None
    restart_policy_rules: msgspec.Raw = NULL
    resources: WireResources | None = None
    ports: msgspec.Raw = NULL

    @property
    def is_sidecar(self) -> bool:
        """Whether an init container runs until its pod ends."""
        return self.restart_policy == "Always"


class WireGate(Wire):
    """Entry of `schedulingGates`."""

    name: str = ""


class WireSchedulingGroup(Wire):
    """`schedulingGroup` (1.36 and later), which names the core PodGroup of the pod."""

    pod_group_name: str | None = None


class WireWorkloadRef(Wire):
    """`workloadRef` (1.35), which names the Workload entry of the pod."""

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
        """PodGroup that it names, or on 1.35 the name of its `WorkloadEntry`. Empty without a group."""
        if self.scheduling_group is not None and self.scheduling_group.pod_group_name:
            return self.scheduling_group.pod_group_name
        entry = self.workload_ref
        if entry is None or not (entry.name and entry.pod_group):
            return ""
        return WorkloadEntry(entry.name, entry.pod_group, entry.pod_group_replica_key or "").name


@dataclass(slots=True)
class RequestReader:
    """Reader of resource lists, which records and omits malformed quantities."""

    faults: dict[str, str] = field(default_factory=dict)
    """Resource → clause about the malformed quantity."""

    def amounts(self, quantities: Quantities | None) -> Requests:
        """Return a resource list in base units."""
        parsed: Requests = {}
        for resource, text in (quantities or _NO_QUANTITIES).items():
            try:
                parsed[resource] = parse_amount(resource, str(text))
            except ValueError as error:
                self.faults.setdefault(resource, f"its request of {resource} is left out: {error}")
        return parsed

    def container(self, container: WireContainer) -> Requests:
        """Return the requests of a container. A missing request is its limit, as in the API server's defaults."""
        resources = container.resources
        if resources is None:
            return {}
        return self.amounts({**(resources.limits or {}), **(resources.requests or {})})

    def without_faults(self, amounts: Requests) -> Requests:
        """Return the amounts without resources of which any quantity was malformed."""
        if not self.faults:
            return amounts
        return {key: amount for key, amount in amounts.items() if key not in self.faults}


def pod_requests(spec: WirePodSpec) -> tuple[Requests, tuple[str, ...]]:
    """Return the requests of such a pod as the scheduler counts them, in base units, and the faults.

    - The requests of containers and sidecars are added.
    - If initialization needs more at its peak, the peak counts.
    - Requests of the pod as a whole replace these for cpu, memory and huge pages.
    - The overhead is added.
    - A resource with a malformed quantity is omitted.

    Source: component-helpers/resource PodRequests and the API server's SetDefaults_Pod (1.37).
    """
    reader = RequestReader()
    total = container_requests(spec, reader.container)
    total.update(pod_level_requests(spec, total, reader))
    add_amounts(total, reader.amounts(spec.overhead))
    return reader.without_faults(total), tuple(reader.faults.values())


def container_requests(
    spec: WirePodSpec, requests: Callable[[WireContainer], Requests]
) -> Requests:
    """Return the sum over the containers, or the peak of initialization if that is more."""
    total: Requests = {}
    for container in spec.containers or ():
        add_amounts(total, requests(container))
    if not spec.init_containers:
        return total
    return largest_amounts([total, *_initialization(spec, requests, total)])


def _initialization(
    spec: WirePodSpec, requests: Callable[[WireContainer], Requests], total: Requests
) -> Iterator[Requests]:
    """Yield the requests in use while each init container runs, and add those of sidecars to the total."""
    sidecars: Requests = {}
    for container in spec.init_containers or ():
        amounts = requests(container)
        if container.is_sidecar:
            add_amounts(total, amounts)
            add_amounts(sidecars, amounts)
            yield dict(sidecars)
        else:
            add_amounts(amounts, sidecars)
            yield amounts


def pod_level_requests(
    spec: WirePodSpec, total: Mapping[str, Decimal], reader: RequestReader
) -> Requests:
    """Return the requests of the pod as a whole, which replace those of its containers."""
    if spec.resources is None:
        return {}
    requests = reader.amounts(spec.resources.requests)
    for resource, limit in reader.amounts(spec.resources.limits).items():
        # A limit is the request if no container has one. Huge pages cannot be overcommitted.
        if resource not in total or resource.startswith("hugepages-"):
            requests.setdefault(resource, limit)
    return {
        resource: amount for resource, amount in requests.items() if is_pod_level_resource(resource)
    }


def is_pod_level_resource(resource: str) -> bool:
    """Return whether a pod as a whole can request it (supportedPodLevelResources)."""
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def add_amounts(into: Requests, amounts: Mapping[str, Decimal]) -> None:
    """Add amounts to the requests `into`."""
    for resource, amount in amounts.items():
        into[resource] = into.get(resource, Decimal(0)) + amount


def largest_amounts(lists: Iterable[Mapping[str, Decimal]]) -> Requests:
    """Return the largest amount of each resource."""
    largest: Requests = {}
    for amounts in lists:
        for resource, amount in amounts.items():
            largest[resource] = max(amount, largest.get(resource, amount))
    return largest
