"""Workloads that Kueue would write for an owner that does not exist yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal

from gangboard.domain.forecast import PodSet
from gangboard.domain.objects import Condition, Controller, Meta, ObjectRef
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry
from gangboard.domain.quota import FlavorAmount
from gangboard.queues.kueue.admission_checks import AdmissionCheck, open_checks_message
from gangboard.queues.kueue.flavor_search import Assignment
from gangboard.queues.kueue.messages import Requeueing, message_of
from gangboard.queues.kueue.queues import GROUP, VERSIONS

_NO_RESERVATION = Condition("Admitted", "False", "NoReservation", "The workload has no reservation")


def unborn_entry(owner: Owner, queue: str, pod_sets: Sequence[PodSet]) -> QueueEntry:
    """Return a Workload without conditions."""
    ref = owner.meta.ref
    sums: dict[str, Decimal] = {}
    for pod_set in pod_sets:
        for resource, amount in pod_set.requests.items():
            sums[resource] = sums.get(resource, Decimal(0)) + amount * pod_set.count
    return QueueEntry(
        meta=Meta(
            api_version=VERSIONS[0],
            ref=ObjectRef(GROUP, "Workload", ref.namespace, ref.name, f"{ref.uid}-workload"),
            resource_version="",
            generation=1,
            created_at=None,
            controller=Controller(ref.group, ref.kind, ref.name, ref.uid),
            owner_uids=(ref.uid,),
        ),
        queue=queue,
        owner_uid=ref.uid,
        asks=tuple(FlavorAmount("", name, sums[name]) for name in sorted(sums)),
    )


def waiting_entry(entry: QueueEntry, text: str, reason: str) -> QueueEntry:
    """Return the Workload with the message that Kueue would write. Kueue has evaluated it once."""
    reserved = Condition("QuotaReserved", "False", reason, text)
    conditions = (reserved, _NO_RESERVATION)
    message = message_of(conditions, (), Requeueing(), entry.meta.ref.namespace)
    return replace(entry, conditions=conditions, message=message)


def quota_entry(
    entry: QueueEntry, queue: str, assignment: Assignment, checks: Iterable[str]
) -> QueueEntry:
    """Return the Workload with quota. It is admitted if no check is required."""
    reserved = Condition(
        "QuotaReserved", "True", "QuotaReserved", f"Quota reserved in ClusterQueue {queue}"
    )
    pending = [AdmissionCheck(name, "Pending") for name in checks]
    admitted = (
        Condition("Admitted", "False", "UnsatisfiedChecks", "The workload has unsatisfied checks")
        if pending
        else Condition("Admitted", "True", "Admitted", "The workload is admitted")
    )
    return replace(
        entry,
        conditions=(reserved, admitted),
        message=open_checks_message(pending, reserved),
        admitted=not pending,
        has_quota=True,
        admitted_by=queue,
        asks=(),
        holds=tuple(
            FlavorAmount(key.flavor, key.resource, amount)
            for key, amount in sorted(assignment.usage.items())
        ),
    )


def owner_ref(entry: QueueEntry) -> ObjectRef:
    """Return the owner of a Workload, or the Workload itself if it has no controller."""
    controller, ref = entry.meta.controller, entry.meta.ref
    if controller is None:
        return ref
    return ObjectRef(
        controller.group, controller.kind, ref.namespace, controller.name, controller.uid
    )
