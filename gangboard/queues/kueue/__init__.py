"""Kueue (kueue.x-k8s.io, v0.14 to v0.19): the queue that an owner names, its Workload there, and queues.

Kueue keeps a Workload of its own kind per owner, and suspends the owner until it is admitted. Its
`spec.active` is how a person stops and resumes the owner (jobset-kueue.md §3.5). v1beta2 is served
since v0.15; what is read here is the same in both versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from gangboard.decode.managers import field_writer
from gangboard.decode.problems import deliver
from gangboard.decode.resource_lists import Amounts
from gangboard.decode.wire import (
    api_group,
    read_conditions,
    read_meta,
    read_text,
    read_time,
)
from gangboard.domain.api_resource import Resource
from gangboard.domain.objects import Condition, Meta, find_condition
from gangboard.domain.queue import AssignedNodes, GivenUp, QueueCode, QueueEntry, QueueMessage
from gangboard.domain.quota import FlavorAmount
from gangboard.domain.text import names
from gangboard.domain.traits import QueueTraits, QueueWords
from gangboard.plugins.queue_system import QueueSystem
from gangboard.queues.kueue.acting import LEVER, job_reactions, job_warnings
from gangboard.queues.kueue.admission_checks import AdmissionCheck
from gangboard.queues.kueue.deactivations import given_up
from gangboard.queues.kueue.flavors import CHECKS, FLAVORS
from gangboard.queues.kueue.label_sources import label_sources
from gangboard.queues.kueue.messages import (
    PODS_LATE,
    Requeueing,
    is_true,
    message_of,
    not_requeued,
)
from gangboard.queues.kueue.quantities import added
from gangboard.queues.kueue.queues import GROUP, QUEUE_RESOURCES, VERSIONS
from gangboard.queues.kueue.topology import assigned_nodes
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
_BACK_OF_THE_LINE = (PODS_LATE, "AdmissionCheck")


def _build(wire: WireWorkload, version: str) -> QueueEntry:
    spec, status = wire.spec or WireWorkloadSpec(), wire.status or WireWorkloadStatus()
    meta = read_meta(wire.metadata, GROUP, _WORKLOAD, version)
    conditions = read_conditions(status.conditions)
    annotations = wire.metadata.annotations or WireWorkloadAnnotations()
    active = spec.active is not False  # defaulted to true by the CRD
    admission, amounts = status.admission or WireAdmission(), Amounts()
    is_variant = _is_variant(wire.metadata)
    over = given_up(meta, conditions, active=active)
    admitted_pods, asked_pods = _reduced(spec, status)
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
        given_up=over,
        message=_message(conditions, status, meta.ref.namespace, over) if active else None,
        priority=spec.priority or 0,
        in_line_since=_in_line_since(conditions, meta),
        has_quota=is_true(conditions, "QuotaReserved"),
        admitted_by=admission.cluster_queue or "",
        holds=added(_holds(admission, amounts)),
        asks=added(_asks(status, amounts)),
        assigned=tuple(_assigned(admission)),
        label_sources=label_sources(
            spec.pod_sets, admission.pod_set_assignments, status.admission_checks
        ),
        asked_pods=asked_pods,
        admitted_pods=admitted_pods,
        failed_nodes=tuple(read_text(one.name) for one in status.unhealthy_nodes or ()),
        replaces=(annotations.replaces or "").rpartition("/")[2],
        is_variant=is_variant,
        group_pods=group_pods,
    )
    return deliver(entry, amounts.faults)


def _owner_uid(metadata: WireWorkloadMeta, meta: Meta) -> str:
    if meta.controller is not None:
        return meta.controller.uid
    return read_text((metadata.labels or WireWorkloadLabels()).job_uid)


def _group_pods(metadata: WireWorkloadMeta, meta: Meta, spec: WireWorkloadSpec) -> int:
    """Return how many pods a Workload of plain pods admits together; 0 for that of any other object.

    Its references name the pods, none as controller (pkg/controller/jobs/pod). StatefulSets and LeaderWorkerSets have
    such a Workload, too, which they own.
    """
    marked = (metadata.annotations or WireWorkloadAnnotations()).is_group == "true"
    owners = metadata.owner_references or ()
    if not marked or meta.controller is not None or any(one.kind != "Pod" for one in owners):
        return 0
    return sum(one.count or 0 for one in spec.pod_sets or ())


def _is_variant(metadata: WireWorkloadMeta) -> bool:
    """Whether another Workload owns it: one flavor of several that Kueue tries for that one, switching
    them on and off itself (pkg/workload/concurrentadmission; its gate is off in v0.19)."""
    return any(
        one.kind == _WORKLOAD and api_group(one.api_version) == GROUP
        for one in metadata.owner_references or ()
    )


def _in_line_since(conditions: tuple[Condition, ...], meta: Meta) -> datetime | None:
    """Return by which time Kueue puts those of one priority in line (pkg/workload, Ordering).

    An entry that was taken back for a check, or since its pods were late, goes to the end. For late
    pods that is Kueue's default; `requeuingStrategy.timestamp: Creation` is not told by any object.
    """
    evicted = find_condition(conditions, "Evicted")
    if evicted is not None and evicted.is_true and evicted.reason in _BACK_OF_THE_LINE:
        return evicted.since
    return meta.created_at


def _holds(admission: WireAdmission, amounts: Amounts) -> Iterator[FlavorAmount]:
    for part in admission.pod_set_assignments or ():
        flavors = part.flavors or {}
        for resource, amount in amounts.each("assigned usage", part.resource_usage):
            yield FlavorAmount(flavors.get(resource, ""), resource, amount)


def _assigned(admission: WireAdmission) -> Iterator[AssignedNodes]:
    for part in admission.pod_set_assignments or ():
        found = assigned_nodes(part.name, part.topology_assignment)
        if found is not None:
            yield found


def _reduced(spec: WireWorkloadSpec, status: WireWorkloadStatus) -> tuple[int, int]:
    """Return (pods admitted, pods asked for) where a partial admission gave fewer; else (0, 0).

    Pods that are done need no quota and are left out of a later admission.
    """
    parts = (status.admission or WireAdmission()).pod_set_assignments or ()
    given = {part.name: part.count for part in parts if part.count is not None}
    done = {one.name: one.count or 0 for one in status.reclaimable_pods or ()}
    wanted = {one.name: one.count for one in spec.pod_sets or () if one.count is not None}
    if not given or given.keys() != wanted.keys():
        return 0, 0
    asked = sum(count - done.get(name, 0) for name, count in wanted.items())
    admitted = sum(given.values())
    return (admitted, asked) if admitted < asked else (0, 0)


def _asks(status: WireWorkloadStatus, amounts: Amounts) -> Iterator[FlavorAmount]:
    for part in status.resource_requests or ():
        for resource, amount in amounts.each("request", part.resources):
            yield FlavorAmount("", resource, amount)


def _message(
    conditions: tuple[Condition, ...],
    status: WireWorkloadStatus,
    namespace: str,
    over: GivenUp | None,
) -> QueueMessage | None:
    if over is not None:
        return not_requeued(over, conditions)
    told = message_of(conditions, _checks(status), _requeueing(status), namespace)
    offered = names(map(read_text, status.nominated_cluster_names or ()))
    if told is None or told.code is not QueueCode.ADMISSION_CHECK or not offered:
        return told
    return replace(told, cause=f"{told.cause}; offered to {offered}")


def _admitted_at(conditions: tuple[Condition, ...]) -> datetime | None:
    found = find_condition(conditions, "Admitted")
    return found.since if found is not None and found.is_true else None


def _checks(status: WireWorkloadStatus) -> tuple[AdmissionCheck, ...]:
    return tuple(
        AdmissionCheck(read_text(one.name), read_text(one.state), read_text(one.message))
        for one in status.admission_checks or ()
    )


def _requeueing(status: WireWorkloadStatus) -> Requeueing:
    state = status.requeue_state or WireRequeueState()
    stats = status.scheduling_stats or WireSchedulingStats()
    preemptions = sum(one.count or 0 for one in stats.evictions or () if one.reason == "Preempted")
    late = {one.underlying_cause for one in stats.evictions or () if one.reason == PODS_LATE}
    return Requeueing(
        read_time(state.requeue_at), state.count or 0, preemptions, no_node=late == {NO_NODE}
    )


def _takes_over(owner: str, queue: str, suspended: bool) -> str:
    """Say what Kueue does with an owner that has its label, once it is there (jobset-kueue.md §3.5)."""
    if suspended:
        return (
            f"If Kueue is installed here later, it takes {owner} into queue {queue}, and starts it when "
            "it admits it."
        )
    return (
        f"If Kueue is installed here later, it suspends {owner} until queue {queue} has admitted it: "
        "its pods are lost then."
    )


QUEUE = QueueSystem(
    label="Kueue",
    tested="Kueue 0.19 on 1.37",
    takes_over=_takes_over,
    traits=QueueTraits(
        manager="kueue",
        suspend_instead="Suspend it by spec.active of its Workload.",
        active_field="spec.active",
        eviction="Evicted",
        deactivation="Deactivated",
        run_cluster_field="status.clusterName",
    ),
    words=QueueWords(
        nominal="nominal quota",
        no_alias="No LocalQueue leads to it, so nothing can be submitted to it.",
    ),
    lends=True,
    mirrors={
        "kueue.x-k8s.io/multikueue": "mirrors a run in another cluster (MultiKueue): act in the cluster that "
        "runs it."
    },
    lever=LEVER,
    job_reactions=job_reactions,
    job_warnings=job_warnings,
    owner_label="kueue.x-k8s.io/queue-name",
    pod_group_label="kueue.x-k8s.io/pod-group-name",
    resources=(
        Resource(
            group=GROUP,
            plural="workloads",
            kind=_WORKLOAD,
            versions=VERSIONS,
            wire=WireWorkload,
            model=QueueEntry,
            build=_build,
            fields=("spec.queueName",),
        ),
        *QUEUE_RESOURCES,
        FLAVORS,
        CHECKS,
    ),
)
