"""Kueue (kueue.x-k8s.io, v0.14 to v0.19): the queue that an owner names, and its Workload there.

Kueue keeps a Workload of its own kind per owner, and suspends the owner until it is admitted. Its
`spec.active` is how a person stops and resumes the owner (jobset-kueue.md §3.5). v1beta2 is served
since v0.15; what is read here is the same in both versions.
"""

from __future__ import annotations

import msgspec

from gangboard.decode.wire import (
    Wire,
    WireCondition,
    WireMeta,
    read_conditions,
    read_meta,
    read_text,
    read_time,
)
from gangboard.domain.objects import find_condition
from gangboard.domain.queue import QueueEntry
from gangboard.domain.registry import QueueSystem, Resource
from gangboard.queues.kueue.messages import AdmissionCheck, Requeueing, message_of

_GROUP = "kueue.x-k8s.io"


class _WireLabels(Wire):
    job_uid: str | None = msgspec.field(default=None, name="kueue.x-k8s.io/job-uid")


class _WireWorkloadMeta(WireMeta):
    labels: _WireLabels | None = None


class _WireWorkloadSpec(Wire):
    queue_name: str | None = None
    active: bool | None = None


class _WireAdmissionCheck(Wire):
    name: str | None = None
    state: str | None = None
    message: str | None = None


class _WireRequeueState(Wire):
    count: int | None = None
    requeue_at: str | None = None


class _WireEviction(Wire):
    reason: str | None = None
    count: int | None = None


class _WireSchedulingStats(Wire):
    evictions: list[_WireEviction] | None = None


class _WireWorkloadStatus(Wire):
    conditions: list[WireCondition] | None = None
    admission_checks: list[_WireAdmissionCheck] | None = None
    requeue_state: _WireRequeueState | None = None
    scheduling_stats: _WireSchedulingStats | None = None


class WireWorkload(Wire):
    """A Workload of Kueue as narrow as it is kept."""

    metadata: _WireWorkloadMeta
    spec: _WireWorkloadSpec | None = None
    status: _WireWorkloadStatus | None = None


def _build(wire: WireWorkload, version: str) -> QueueEntry:
    spec, status = wire.spec or _WireWorkloadSpec(), wire.status or _WireWorkloadStatus()
    meta = read_meta(wire.metadata, _GROUP, "Workload", version)
    conditions = read_conditions(status.conditions)
    admitted = find_condition(conditions, "Admitted")
    labelled = read_text((wire.metadata.labels or _WireLabels()).job_uid)
    active = spec.active is not False  # defaulted to true by the CRD
    return QueueEntry(
        meta=meta,
        queue=spec.queue_name or "",
        active=active,
        admitted=admitted is not None and admitted.is_true,
        conditions=conditions,
        owner_uid=meta.controller.uid if meta.controller is not None else labelled,
        message=message_of(conditions, _checks(status), _requeueing(status)) if active else None,
    )


def _checks(status: _WireWorkloadStatus) -> tuple[AdmissionCheck, ...]:
    return tuple(
        AdmissionCheck(read_text(one.name), read_text(one.state), read_text(one.message))
        for one in status.admission_checks or ()
    )


def _requeueing(status: _WireWorkloadStatus) -> Requeueing:
    state = status.requeue_state or _WireRequeueState()
    stats = status.scheduling_stats or _WireSchedulingStats()
    preemptions = sum(one.count or 0 for one in stats.evictions or () if one.reason == "Preempted")
    return Requeueing(read_time(state.requeue_at), state.count or 0, preemptions)


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
    takes_over=_takes_over,
    owner_label="kueue.x-k8s.io/queue-name",
    resources=(
        Resource(
            group=_GROUP,
            plural="workloads",
            kind="Workload",
            versions=("v1beta2", "v1beta1"),
            wire=WireWorkload,
            model=QueueEntry,
            build=_build,
            decoder_version=2,
        ),
    ),
)
