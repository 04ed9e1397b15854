"""Workloads of Kueue (v0.14 to v0.19) as entries of a queue.

Kueue creates a Workload for each owner. It serves v1beta2 since v0.15.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from gangboard.decode.managed_fields import field_writer
from gangboard.decode.problems import raise_for_faults
from gangboard.decode.quantities import ResourceListReader
from gangboard.decode.wire import (
    api_group,
    read_conditions,
    read_meta,
    read_text,
    read_time,
)
from gangboard.domain.api_resource import Resource
from gangboard.domain.objects import Condition, Meta, find_condition
from gangboard.domain.queue import (
    AssignedNodes,
    FinalRejection,
    QueueCode,
    QueueEntry,
    QueueMessage,
)
from gangboard.domain.quota import FlavorAmount
from gangboard.domain.text import names
from gangboard.queues.kueue.activation import given_up
from gangboard.queues.kueue.admission_checks import AdmissionCheck
from gangboard.queues.kueue.evictions import CHECK_RETRIES, PODS_LATE, last_eviction
from gangboard.queues.kueue.messages import (
    Requeueing,
    is_true,
    message_of,
    not_requeued_message,
)
from gangboard.queues.kueue.pod_sets import assigned_nodes, label_sources
from gangboard.queues.kueue.queues import GROUP, VERSIONS
from gangboard.queues.kueue.wire import (
    WireAdmission,
    WireRequeueState,
    WireSchedulingStats,
    WireWorkload,
    WireWorkloadAnnotations,
    WireWorkloadLabels,
    WireWorkloadMeta,
    WireWorkloadSpec,
    WireWorkloadStatus,
)

NO_NODE = "WorkloadWaitForScheduling"
"""Underlying cause of an eviction: the pods got no node in time."""
_WORKLOAD = "Workload"
WORKLOAD_CLASS, POD_CLASS = "WorkloadPriorityClass", "PriorityClass"
"""Kinds of the classes that give priorities."""
_REQUEUED_AT_END = (PODS_LATE, CHECK_RETRIES)


def _build(wire: WireWorkload, version: str) -> QueueEntry:
    spec, status = wire.spec or WireWorkloadSpec(), wire.status or WireWorkloadStatus()
    meta = read_meta(wire.metadata, GROUP, _WORKLOAD, version)
    conditions = read_conditions(status.conditions)
    annotations = wire.metadata.annotations or WireWorkloadAnnotations()
    active = spec.active is not False  # defaulted to true by the CRD
    admission, amounts = status.admission or WireAdmission(), ResourceListReader()
    is_variant = _is_variant(wire.metadata)
    over = given_up(meta, conditions, active=active)
    admitted_pods, asked_pods = _partial_admission(spec, status)
    group_pods = _group_pods(wire.metadata, meta, spec)
    entry = QueueEntry(
        meta=meta,
        queue=spec.queue_name or "",
        active=active,
        deactivated_by=None
        if active
        else field_writer(wire.metadata.managed_fields, "/spec/active"),
        admitted=is_true(conditions, "Admitted"),
        conditions=conditions,
        owner_uid="" if is_variant or group_pods else _owner_uid(wire.metadata, meta),
        admitted_at=_admitted_at(conditions),
        cluster=read_text(status.cluster_name),
        offered_clusters=tuple(map(read_text, status.nominated_cluster_names or ())),
        given_up=over,
        message=_message(conditions, status, meta.ref.namespace, over) if active else None,
        priority=spec.priority or 0,
        priority_source=_priority_source(spec),
        in_line_since=_queued_since(conditions, meta),
        has_quota=is_true(conditions, "QuotaReserved"),
        admitted_by=admission.cluster_queue or "",
        holds=_sum_by_flavor(_held_amounts(spec, status, amounts)),
        asks=_sum_by_flavor(_requested_amounts(status, amounts)),
        assigned=tuple(_assigned_nodes(spec, admission)),
        label_sources=label_sources(
            spec.pod_sets, admission.pod_set_assignments, status.admission_checks
        ),
        asked_pods=asked_pods,
        admitted_pods=admitted_pods,
        failed_nodes=tuple(read_text(node.name) for node in status.unhealthy_nodes or ()),
        replaces=(annotations.replaces or "").rpartition("/")[2],
        is_variant=is_variant,
        evicted=last_eviction(conditions),
        group_pods=group_pods,
    )
    return raise_for_faults(entry, amounts.faults)


def _owner_uid(metadata: WireWorkloadMeta, meta: Meta) -> str:
    if meta.controller is not None:
        return meta.controller.uid
    return read_text((metadata.labels or WireWorkloadLabels()).job_uid)


def _group_pods(metadata: WireWorkloadMeta, meta: Meta, spec: WireWorkloadSpec) -> int:
    """Return how many pods a Workload of plain pods admits together. 0: any other Workload.

    Its owner references name the pods, none as controller (pkg/controller/jobs/pod). Workloads of StatefulSets and
    LeaderWorkerSets are also of this kind.
    """
    marked = (metadata.annotations or WireWorkloadAnnotations()).is_group == "true"
    owners = metadata.owner_references or ()
    if not marked or meta.controller is not None or any(item.kind != "Pod" for item in owners):
        return 0
    return sum(item.count or 0 for item in spec.pod_sets or ())


def _is_variant(metadata: WireWorkloadMeta) -> bool:
    """Return whether another Workload owns this one.

    Kueue tries such variants, one for each flavor, and activates and deactivates them itself. The gate is off in v0.19
    (pkg/workload/concurrentadmission).
    """
    return any(
        owner.kind == _WORKLOAD and api_group(owner.api_version) == GROUP
        for owner in metadata.owner_references or ()
    )


def _priority_source(spec: WireWorkloadSpec) -> str:
    if spec.priority_class_ref is not None:
        kind, name = spec.priority_class_ref.kind, spec.priority_class_ref.name
    else:
        of_kueue = (spec.priority_class_source or "").startswith(GROUP)
        kind, name = WORKLOAD_CLASS if of_kueue else POD_CLASS, spec.priority_class_name
    return f"{kind} {name}" if kind and name else ""


def _queued_since(conditions: tuple[Condition, ...], meta: Meta) -> datetime | None:
    """Return the time by which Kueue sorts Workloads of one priority (pkg/workload, Ordering).

    An entry that was evicted for a check or for late pods goes to the end. For late pods that is Kueue's default. No
    object tells the setting `requeuingStrategy.timestamp: Creation`.
    """
    evicted = find_condition(conditions, "Evicted")
    if evicted is not None and evicted.is_true and evicted.reason in _REQUEUED_AT_END:
        return evicted.since
    return meta.created_at


def _held_amounts(
    spec: WireWorkloadSpec, status: WireWorkloadStatus, amounts: ResourceListReader
) -> Iterator[FlavorAmount]:
    """Yield the used quota. Finished pods give their part back (totalRequestsFromAdmission)."""
    done = {pod_set.name: pod_set.count or 0 for pod_set in status.reclaimable_pods or ()}
    counts = {pod_set.name: pod_set.count or 0 for pod_set in spec.pod_sets or ()}
    for assignment in (status.admission or WireAdmission()).pod_set_assignments or ():
        flavors, count = assignment.flavors or {}, counts.get(assignment.name, 0)
        admitted = count if assignment.count is None else assignment.count
        left = min(admitted, max(0, count - done.get(assignment.name, 0)))
        for resource, amount in amounts.each("assigned usage", assignment.resource_usage):
            used = amount * left / admitted if left < admitted and done else amount
            yield FlavorAmount(flavors.get(resource, ""), resource, used)


def _assigned_nodes(spec: WireWorkloadSpec, admission: WireAdmission) -> Iterator[AssignedNodes]:
    requests = {pod_set.name: pod_set.topology_request for pod_set in spec.pod_sets or ()}
    for assignment in admission.pod_set_assignments or ():
        request = requests.get(assignment.name)
        nodes = assigned_nodes(assignment.name, assignment.topology_assignment, request)
        if nodes is not None:
            yield nodes


def _partial_admission(spec: WireWorkloadSpec, status: WireWorkloadStatus) -> tuple[int, int]:
    """Return (admitted pods, requested pods) of a partial admission, or (0, 0).

    Finished pods need no quota, so a later admission excludes them.
    """
    assignments = (status.admission or WireAdmission()).pod_set_assignments or ()
    admitted_counts = {
        assignment.name: assignment.count
        for assignment in assignments
        if assignment.count is not None
    }
    done = {pod_set.name: pod_set.count or 0 for pod_set in status.reclaimable_pods or ()}
    wanted_counts = {
        pod_set.name: pod_set.count for pod_set in spec.pod_sets or () if pod_set.count is not None
    }
    if not admitted_counts or admitted_counts.keys() != wanted_counts.keys():
        return 0, 0
    requested = sum(count - done.get(name, 0) for name, count in wanted_counts.items())
    admitted = sum(admitted_counts.values())
    return (admitted, requested) if admitted < requested else (0, 0)


def _requested_amounts(
    status: WireWorkloadStatus, amounts: ResourceListReader
) -> Iterator[FlavorAmount]:
    for request in status.resource_requests or ():
        for resource, amount in amounts.each("request", request.resources):
            yield FlavorAmount("", resource, amount)


def _sum_by_flavor(amounts: Iterator[FlavorAmount]) -> tuple[FlavorAmount, ...]:
    """Return the sum per flavor and resource, sorted by both."""
    sums: dict[tuple[str, str], Decimal] = {}
    for flavor, resource, amount in amounts:
        sums[flavor, resource] = sums.get((flavor, resource), Decimal(0)) + amount
    return tuple(
        FlavorAmount(flavor, resource, sums[flavor, resource]) for flavor, resource in sorted(sums)
    )


def _message(
    conditions: tuple[Condition, ...],
    status: WireWorkloadStatus,
    namespace: str,
    over: FinalRejection | None,
) -> QueueMessage | None:
    if over is not None:
        return not_requeued_message(over, conditions)
    message = message_of(conditions, _checks(status), _requeueing(status), namespace)
    # The page links `cluster NAME` to that cluster.
    offered = names(f"cluster {read_text(name)}" for name in status.nominated_cluster_names or ())
    if message is None or message.code is not QueueCode.ADMISSION_CHECK or not offered:
        return message
    return replace(message, cause=f"{message.cause}; offered to {offered}")


def _admitted_at(conditions: tuple[Condition, ...]) -> datetime | None:
    condition = find_condition(conditions, "Admitted")
    return condition.since if condition is not None and condition.is_true else None


def _checks(status: WireWorkloadStatus) -> tuple[AdmissionCheck, ...]:
    return tuple(
        AdmissionCheck(read_text(check.name), read_text(check.state), read_text(check.message))
        for check in status.admission_checks or ()
    )


def _requeueing(status: WireWorkloadStatus) -> Requeueing:
    state = status.requeue_state or WireRequeueState()
    stats = status.scheduling_stats or WireSchedulingStats()
    preemptions = sum(
        eviction.count or 0 for eviction in stats.evictions or () if eviction.reason == "Preempted"
    )
    late = {
        eviction.underlying_cause
        for eviction in stats.evictions or ()
        if eviction.reason == PODS_LATE
    }
    return Requeueing(
        read_time(state.requeue_at), state.count or 0, preemptions, no_node=late == {NO_NODE}
    )


WORKLOADS = Resource(
    group=GROUP,
    plural="workloads",
    kind=_WORKLOAD,
    versions=VERSIONS,
    wire=WireWorkload,
    model=QueueEntry,
    build=_build,
    fields=("spec.queueName",),
)
