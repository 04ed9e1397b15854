"""Kueue (kueue.x-k8s.io, v0.14 to v0.19): the queue that an owner names, its Workload there, and queues.

Kueue keeps a Workload of its own kind per owner, and suspends the owner until it is admitted. Its
`spec.active` is how a person stops and resumes the owner (jobset-kueue.md §3.5). v1beta2 is served
since v0.15; what is read here is the same in both versions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

import msgspec

from gangboard.decode.podspec import Quantities
from gangboard.decode.problems import deliver
from gangboard.decode.resource_lists import Amounts
from gangboard.decode.wire import (
    Int32,
    Wire,
    WireCondition,
    WireMeta,
    api_group,
    read_conditions,
    read_meta,
    read_text,
    read_time,
)
from gangboard.domain.objects import Condition, Meta, find_condition
from gangboard.domain.queue import AssignedNodes, GivenUp, QueueCode, QueueEntry, QueueMessage
from gangboard.domain.quota import FlavorAmount
from gangboard.domain.reading.wording import names
from gangboard.domain.registry import QueueSystem, Resource
from gangboard.domain.traits import QueueTraits, QueueWords
from gangboard.queues.kueue.acting import LEVER, job_reactions, job_warnings
from gangboard.queues.kueue.deactivations import given_up
from gangboard.queues.kueue.flavors import CHECKS, FLAVORS
from gangboard.queues.kueue.messages import (
    PODS_LATE,
    AdmissionCheck,
    Requeueing,
    is_true,
    message_of,
    not_requeued,
)
from gangboard.queues.kueue.quantities import added
from gangboard.queues.kueue.queues import GROUP, QUEUE_RESOURCES, VERSIONS
from gangboard.queues.kueue.topology import WireTopologyAssignment, assigned_nodes

NO_NODE = "WorkloadWaitForScheduling"
"""Underlying cause of an eviction: the pods got no node in time."""
_WORKLOAD = "Workload"
_BACK_OF_THE_LINE = (PODS_LATE, "AdmissionCheck")


class _WireLabels(Wire):
    job_uid: str | None = msgspec.field(default=None, name="kueue.x-k8s.io/job-uid")


class _WireAnnotations(Wire):
    replaces: str | None = msgspec.field(
        default=None, name="kueue.x-k8s.io/workload-slice-replacement-for"
    )
    is_group: str | None = msgspec.field(default=None, name="kueue.x-k8s.io/is-group-workload")


class _WireWorkloadMeta(WireMeta):
    labels: _WireLabels | None = None
    annotations: _WireAnnotations | None = None


class _WirePodCount(Wire):
    """One of `spec.podSets` or `status.reclaimablePods`."""

    name: str = ""
    count: Int32 | None = None


class _WireFailedNode(Wire):
    name: str | None = None


class _WireWorkloadSpec(Wire):
    queue_name: str | None = None
    active: bool | None = None
    priority: Int32 | None = None
    pod_sets: list[_WirePodCount] | None = None


class _WireAdmissionCheck(Wire):
    name: str | None = None
    state: str | None = None
    message: str | None = None


class _WireRequeueState(Wire):
    count: int | None = None
    requeue_at: str | None = None


class _WireEviction(Wire):
    reason: str | None = None
    underlying_cause: str | None = None
    count: int | None = None


class _WireSchedulingStats(Wire):
    evictions: list[_WireEviction] | None = None


class _WirePodSetAssignment(Wire):
    name: str = ""
    topology_assignment: WireTopologyAssignment | None = None
    flavors: dict[str, str] | None = None
    resource_usage: Quantities | None = None
    count: Int32 | None = None


class _WireAdmission(Wire):
    cluster_queue: str | None = None
    pod_set_assignments: list[_WirePodSetAssignment] | None = None


class _WirePodSetRequest(Wire):
    resources: Quantities | None = None


class _WireWorkloadStatus(Wire):
    conditions: list[WireCondition] | None = None
    admission: _WireAdmission | None = None
    resource_requests: list[_WirePodSetRequest] | None = None
    admission_checks: list[_WireAdmissionCheck] | None = None
    requeue_state: _WireRequeueState | None = None
    reclaimable_pods: list[_WirePodCount] | None = None
    unhealthy_nodes: list[_WireFailedNode] | None = None
    cluster_name: str | None = None
    nominated_cluster_names: list[str] | None = None
    scheduling_stats: _WireSchedulingStats | None = None


class WireWorkload(Wire):
    """A Workload of Kueue as narrow as it is kept."""

    metadata: _WireWorkloadMeta
    spec: _WireWorkloadSpec | None = None
    status: _WireWorkloadStatus | None = None


def _build(wire: WireWorkload, version: str) -> QueueEntry:
    spec, status = wire.spec or _WireWorkloadSpec(), wire.status or _WireWorkloadStatus()
    meta = read_meta(wire.metadata, GROUP, _WORKLOAD, version)
    conditions = read_conditions(status.conditions)
    annotations = wire.metadata.annotations or _WireAnnotations()
    active = spec.active is not False  # defaulted to true by the CRD
    admission, amounts = status.admission or _WireAdmission(), Amounts()
    is_variant = _is_variant(wire.metadata)
    over = given_up(meta, conditions, active=active)
    admitted_pods, asked_pods = _reduced(spec, status)
    group_pods = _group_pods(wire.metadata, meta, spec)
    entry = QueueEntry(
        meta=meta,
        queue=spec.queue_name or "",
        active=active,
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
        asked_pods=asked_pods,
        admitted_pods=admitted_pods,
        failed_nodes=tuple(read_text(one.name) for one in status.unhealthy_nodes or ()),
        replaces=(annotations.replaces or "").rpartition("/")[2],
        is_variant=is_variant,
        group_pods=group_pods,
    )
    return deliver(entry, amounts.faults)


def _owner_uid(metadata: _WireWorkloadMeta, meta: Meta) -> str:
    if meta.controller is not None:
        return meta.controller.uid
    return read_text((metadata.labels or _WireLabels()).job_uid)


def _group_pods(metadata: _WireWorkloadMeta, meta: Meta, spec: _WireWorkloadSpec) -> int:
    """Return how many pods a Workload of plain pods admits together; 0 for that of any other object.

    Its references name the pods, none as controller (pkg/controller/jobs/pod). StatefulSets and LeaderWorkerSets have
    such a Workload, too, which they own.
    """
    marked = (metadata.annotations or _WireAnnotations()).is_group == "true"
    owners = metadata.owner_references or ()
    if not marked or meta.controller is not None or any(one.kind != "Pod" for one in owners):
        return 0
    return sum(one.count or 0 for one in spec.pod_sets or ())


def _is_variant(metadata: _WireWorkloadMeta) -> bool:
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


def _holds(admission: _WireAdmission, amounts: Amounts) -> Iterator[FlavorAmount]:
    for part in admission.pod_set_assignments or ():
        flavors = part.flavors or {}
        for resource, amount in amounts.each("assigned usage", part.resource_usage):
            yield FlavorAmount(flavors.get(resource, ""), resource, amount)


def _assigned(admission: _WireAdmission) -> Iterator[AssignedNodes]:
    for part in admission.pod_set_assignments or ():
        found = assigned_nodes(part.name, part.topology_assignment)
        if found is not None:
            yield found


def _reduced(spec: _WireWorkloadSpec, status: _WireWorkloadStatus) -> tuple[int, int]:
    """Return (pods admitted, pods asked for) where a partial admission gave fewer; else (0, 0).

    Pods that are done need no quota and are left out of a later admission.
    """
    parts = (status.admission or _WireAdmission()).pod_set_assignments or ()
    given = {part.name: part.count for part in parts if part.count is not None}
    done = {one.name: one.count or 0 for one in status.reclaimable_pods or ()}
    wanted = {one.name: one.count for one in spec.pod_sets or () if one.count is not None}
    if not given or given.keys() != wanted.keys():
        return 0, 0
    asked = sum(count - done.get(name, 0) for name, count in wanted.items())
    admitted = sum(given.values())
    return (admitted, asked) if admitted < asked else (0, 0)


def _asks(status: _WireWorkloadStatus, amounts: Amounts) -> Iterator[FlavorAmount]:
    for part in status.resource_requests or ():
        for resource, amount in amounts.each("request", part.resources):
            yield FlavorAmount("", resource, amount)


def _message(
    conditions: tuple[Condition, ...],
    status: _WireWorkloadStatus,
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


def _checks(status: _WireWorkloadStatus) -> tuple[AdmissionCheck, ...]:
    return tuple(
        AdmissionCheck(read_text(one.name), read_text(one.state), read_text(one.message))
        for one in status.admission_checks or ()
    )


def _requeueing(status: _WireWorkloadStatus) -> Requeueing:
    state = status.requeue_state or _WireRequeueState()
    stats = status.scheduling_stats or _WireSchedulingStats()
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
        manager="kueue", suspend_instead="Suspend it by spec.active of its Workload."
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
            decoder_version=7,
            fields=("spec.queueName",),
        ),
        *QUEUE_RESOURCES,
        FLAVORS,
        CHECKS,
    ),
)
