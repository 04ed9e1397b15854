"""What Kueue says of a Workload that it has not admitted, as a reason code and half a sentence.

Kueue tells it in conditions. With default settings v0.19.2 writes one reason, `Pending`, for nearly
everything (observed, real-control-plane.md §5), so the text decides; where the gate
`UnadmittedWorkloadsObservability` writes a reason of its own, that does (jobset-kueue.md §3.3). Texts
are those of v0.19.2, all brought about on the real one but for what is marked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gangboard.domain.objects import Condition, find_condition
from gangboard.domain.queue import GivenUp, QueueCode, QueueMessage
from gangboard.domain.quota import QueueName
from gangboard.domain.text import quote
from gangboard.queues.kueue.admission_checks import AdmissionCheck, checks_text, open_checks
from gangboard.queues.kueue.obstacles import flavor_message
from gangboard.queues.kueue.queues import GROUP

_PATIENCE = "the pods were not ready in time"
PODS_LATE = "PodsReadyTimeout"
_EVICTIONS = {
    PODS_LATE: _PATIENCE,
    "AdmissionCheck": "an admission check asks for another try",
    "NodeFailures": "a node failed",  # not brought about
}
"""Reason of `Evicted` → why Kueue took the quota back, where it tries again by itself."""
_STOPPED = {"ClusterQueueStopped": "ClusterQueue", "LocalQueueStopped": "LocalQueue"}
_TOLD_OTHERWISE = {*_EVICTIONS, *_STOPPED, "Preempted", "Deactivated"}
"""Reasons of `Evicted` whose text says nothing more: the queue, or the next look of Kueue, tells what is the case."""

# Of the queue.
_MISSING = re.compile(r"^(LocalQueue|ClusterQueue) (\S+) (?:doesn't exist|not found)")
_INACTIVE = re.compile(r"^(LocalQueue|ClusterQueue) (\S+) is inactive")
_NO_QUEUE = "LocalQueue  "
"""It names no queue, and neither does Kueue."""
_OTHER_NAMESPACE = "workload namespace doesn't match ClusterQueue selector"
# Of those before it.
_OVERTAKEN = "Workload no longer fits after processing another workload"
_FOR_JOB = re.compile(r"JobUID: ([^\s,)]+)")
# The second form was not brought about (tas_flavor_snapshot.go).
_TOPOLOGY = re.compile(
    r'topology "([^"]{1,253})" (?:allows to fit only (\d{1,6}) out of (\d{1,6})|'
    r"doesn't allow to fit any of (\d{1,6})) (?:pod|slice)"
)
_GATED = re.compile(r"Admission is gated by: (.+)", re.DOTALL)
_PREEMPTION_GATED = "requires preemption, but it's gated"

_REASONS = {
    "WaitingForQuota": QueueCode.WAITING_FOR_QUOTA,
    "WaitingForPreemptedWorkloads": QueueCode.WAITING_FOR_QUOTA,
    "ExceedsMaxQuota": QueueCode.EXCEEDS_QUOTA,
    "NoMatchingFlavor": QueueCode.NO_MATCHING_FLAVOR,
    "Suspended": QueueCode.QUEUE_STOPPED,
    "TopologyPlacementFailed": QueueCode.TOPOLOGY,
    "AdmissionGated": QueueCode.ADMISSION_GATED,
}
"""Reason of `QuotaReserved=False` that says as much as a text (not brought about)."""
_PODS_FIRST = ("Waiting", "WaitingForPodsReady")
_SILENT = {"Pending", "PendingEvaluation", "Inadmissible", *_PODS_FIRST, *_REASONS}
"""Reasons of `QuotaReserved=False` that say nothing without a text."""
_NOT_ADMITTED = {
    "NoReservation",
    "NoReservationUnsatisfiedChecks",
    "UnsatisfiedChecks",
    "UnsatisfiedAdmissionChecks",
}
"""Reasons of `Admitted=False` that `QuotaReserved` and the checks say better."""


@dataclass(frozen=True, slots=True)
class Requeueing:
    """When Kueue tries again, how often it has tried, and how often it preempted the Workload."""

    at: datetime | None = None
    tries: int = 0
    preemptions: int = 0
    no_node: bool = False
    """Its pods were late since they got no node (from v0.20 on; read, not brought about)."""


def message_of(
    conditions: tuple[Condition, ...],
    checks: Sequence[AdmissionCheck],
    requeueing: Requeueing,
    namespace: str,
) -> QueueMessage | None:
    """Return what Kueue says of a Workload that is active; None when it is admitted, or nothing is said.

    Taken back and not tried again yet goes before what it waits for, and what can never be before all.
    """
    reserved = find_condition(conditions, "QuotaReserved")
    if reserved is None or is_true(conditions, "Admitted"):
        return None
    if reserved.is_true:
        return open_checks(checks, reserved) or _not_admitted(conditions)
    evicted = find_condition(conditions, "Evicted")
    if evicted is not None and not evicted.is_true:
        evicted = None
    waits = _of_text(reserved, evicted, namespace)
    if waits is not None and waits.code.is_final:
        return waits
    if evicted is not None and evicted.reason in _EVICTIONS:
        requeued = find_condition(conditions, "Requeued")
        if requeued is None or not requeued.is_true:
            ready = find_condition(conditions, "PodsReady")
            if ready is not None and ready.is_false and ready.reason == "WaitForScheduling":
                requeueing = replace(requeueing, no_node=True)
            return _of_requeueing(evicted, requeueing)
    if evicted is not None and evicted.reason == "Preempted":
        return _of_preemption(evicted, waits, requeueing)
    return waits


def not_requeued(over: GivenUp, conditions: tuple[Condition, ...]) -> QueueMessage:
    """Return the message for a Workload that Kueue gave up and a person activated again. Kueue ignores it."""
    requeued = find_condition(conditions, "Requeued")
    return QueueMessage(
        QueueCode.NOT_REQUEUED,
        f"it is active again, but Kueue does not queue it (Requeued=False, {over.reason})",
        over.advice,
        over.command,
        label=f"Requeued: {over.reason}",
        text=requeued.message if requeued is not None else "",
        since=requeued.since if requeued is not None else None,
        is_out_of_line=True,
    )


def is_true(conditions: tuple[Condition, ...], kind: str) -> bool:
    """Whether that condition is there and true."""
    condition = find_condition(conditions, kind)
    return condition is not None and condition.is_true


def _not_admitted(conditions: tuple[Condition, ...]) -> QueueMessage | None:
    """Return why a Workload with its quota and all checks is not admitted, in Kueue's words; None if it says nothing."""
    admitted = find_condition(conditions, "Admitted")
    if admitted is None or not admitted.is_false or admitted.reason in _NOT_ADMITTED:
        return None
    return QueueMessage(
        QueueCode.QUEUE_EVALUATING,
        f"Kueue says “{quote(admitted.message or admitted.reason)}”",
        label=f"Admitted: {admitted.reason}",
        text=admitted.message,
        since=admitted.since,
    )


def _of_requeueing(evicted: Condition, requeueing: Requeueing) -> QueueMessage:
    next_try = "the next try comes after a pause"
    if requeueing.at is not None:
        next_try = f"the next try is at {requeueing.at:%Y-%m-%d %H:%M:%S} UTC"
    times = f" (the {_ordinal(requeueing.tries + 1)})" if requeueing.tries else ""
    asks = checks_text(evicted.message, "asks for another try", "ask for another try")
    cause = asks or _EVICTIONS[evicted.reason]
    if evicted.reason == PODS_LATE and requeueing.no_node:
        cause = "its pods found no node in time"
    return QueueMessage(
        QueueCode.REQUEUED,
        f"{cause}; {next_try}{times}",
        label=f"Evicted: {evicted.reason}",
        text=evicted.message,
        since=evicted.since,
        is_out_of_line=True,
    )


def _ordinal(number: int) -> str:
    """Return `2nd`, `3rd`, `11th`."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{({1: 'st', 2: 'nd', 3: 'rd'}).get(number % 10, 'th')}"


def _of_preemption(
    evicted: Condition, waits: QueueMessage | None, requeueing: Requeueing
) -> QueueMessage:
    job = _FOR_JOB.search(evicted.message)
    often = requeueing.preemptions
    return QueueMessage(
        QueueCode.PREEMPTED,
        "; ".join(
            filter(
                None,
                (
                    f"preempted {often} times so far" if often > 1 else "",
                    waits.cause if waits is not None else "",
                ),
            )
        ),
        label=f"Evicted: {evicted.reason}",
        text=evicted.message,
        since=evicted.since,
        taker=job[1] if job is not None else "",
        lacks=waits.lacks if waits is not None else (),
    )


def _of_text(reserved: Condition, evicted: Condition | None, namespace: str) -> QueueMessage | None:
    """Return what `QuotaReserved=False` says; None for text that is only about an eviction of a known reason."""
    if reserved.message.startswith(_NO_QUEUE) or not (
        reserved.message or reserved.reason not in _SILENT
    ):
        return None
    message = (
        _of_queue(reserved, evicted, namespace)
        or flavor_message(reserved.message, _REASONS.get(reserved.reason))
        or _of_others(reserved)
    )
    if message is None:
        # It is also said of an eviction that it was, and stays until the queue looks again.
        is_of_eviction = evicted is not None and evicted.message == reserved.message
        if evicted is not None and is_of_eviction and evicted.reason in _TOLD_OTHERWISE:
            return None
        code = _REASONS.get(reserved.reason, QueueCode.QUEUE_EVALUATING)
        message = QueueMessage(code, f"Kueue says “{quote(reserved.message or reserved.reason)}”")
    return replace(
        message,
        label=f"QuotaReserved: {reserved.reason}",
        text=reserved.message,
        since=reserved.since,
    )


def _of_queue(
    reserved: Condition, evicted: Condition | None, namespace: str
) -> QueueMessage | None:
    """Return what is wrong with the queue itself."""
    text = reserved.message
    if (missing := _MISSING.match(text)) is not None:
        kind, name = missing.groups()
        place = " in this namespace" if kind == "LocalQueue" else ""
        return QueueMessage(
            QueueCode.QUEUE_MISSING,
            f"{kind} {name} does not exist{place}",
            f"Create {kind} {name}{place}, or let it use another queue.",
            about=_queue_name(kind, name, namespace),
            is_out_of_line=True,
        )
    inactive = _INACTIVE.match(text)
    if inactive is not None or reserved.reason == "Suspended":
        queue = " ".join(inactive.groups()) if inactive is not None else "the queue"
        stopped = evicted is not None and _STOPPED.get(evicted.reason) == queue.partition(" ")[0]
        is_stopped = stopped or reserved.reason == "Suspended"
        return QueueMessage(
            QueueCode.QUEUE_STOPPED,
            f"{queue} is {'stopped' if is_stopped else 'inactive'}",
            f"Set spec.stopPolicy of {queue} to None."
            if is_stopped
            else f"Look at condition Active of {queue}: it is stopped, or something that it names is missing.",
            about=_queue_name(inactive[1], inactive[2], namespace)
            if inactive is not None
            else None,
            is_out_of_line=True,
        )
    if text.startswith(_OTHER_NAMESPACE):
        return QueueMessage(
            QueueCode.QUEUE_MISCONFIGURED,
            "the ClusterQueue takes nothing from this namespace",
            "Use a queue for this namespace, or let namespaceSelector of the ClusterQueue match it.",
            is_out_of_line=True,
        )
    return None


def _queue_name(kind: str, name: str, namespace: str) -> QueueName:
    return QueueName(GROUP, kind, namespace if kind == "LocalQueue" else "", name)


def _of_others(reserved: Condition) -> QueueMessage | None:
    """Return what is about neither queue nor flavors."""
    text = reserved.message
    if text.startswith(_OVERTAKEN):
        return QueueMessage(QueueCode.WAITING_FOR_QUOTA, "another one was given the quota first")
    if reserved.reason in _PODS_FIRST and "PodsReady" in text:
        return QueueMessage(
            QueueCode.QUEUE_EVALUATING, "the pods of those it admitted have to be ready first"
        )
    if _PREEMPTION_GATED in text:
        return QueueMessage(
            QueueCode.WAITING_FOR_QUOTA,
            "it would have to preempt others, and a gate keeps it from that",
        )
    if reserved.reason == "OnHold":  # v0.19.2 reads it and sets it nowhere
        return QueueMessage(
            QueueCode.QUEUE_EVALUATING, "its owner keeps it on hold", is_out_of_line=True
        )
    if (gated := _GATED.search(text)) is not None:
        return QueueMessage(
            QueueCode.ADMISSION_GATED,
            f"admission is gated by {quote(gated[1])}",
            is_out_of_line=True,
        )
    if (topology := _TOPOLOGY.search(text)) is not None:
        name, some, wanted, none = topology.groups()
        room = f"only {some} of {wanted}" if some else f"none of {none}"
        return QueueMessage(QueueCode.TOPOLOGY, f"topology {name} has room for {room} pods now")
    return None
