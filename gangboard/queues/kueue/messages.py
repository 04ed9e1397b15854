"""Messages about a Workload that Kueue has not admitted: a reason code and a clause.

They come from conditions. With default settings v0.19.2 writes one reason, `Pending`, for nearly everything (observed,
real-control-plane.md §5), so the text decides. With the gate `UnadmittedWorkloadsObservability` the reason decides
(jobset-kueue.md §3.3). All texts were observed on v0.19.2, unless a comment says "not observed".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gangboard.domain.objects import Condition, find_condition
from gangboard.domain.queue import FinalRejection, QueueCode, QueueMessage
from gangboard.domain.quota import QueueName
from gangboard.domain.text import quote
from gangboard.queues.kueue.admission_checks import AdmissionCheck, checks_text, open_checks_message
from gangboard.queues.kueue.evictions import (
    CHECK_RETRIES,
    NODE_FAILURES,
    PODS_LATE,
    PREEMPTED,
    preemptor_uid,
)
from gangboard.queues.kueue.flavor_assignment import flavor_message
from gangboard.queues.kueue.queues import GROUP, NOT_STOPPED, STOP_FIELD, start_command

_PODS_LATE_TEXT = "the pods were not ready in time"
_EVICTIONS = {
    PODS_LATE: _PODS_LATE_TEXT,
    CHECK_RETRIES: "an admission check requests a retry",
    NODE_FAILURES: "a node failed",  # not observed
}
"""Reason of `Evicted` → cause, for evictions after which Kueue tries again by itself."""
_STOPPED = {"ClusterQueueStopped": "ClusterQueue", "LocalQueueStopped": "LocalQueue"}
_UNINFORMATIVE_EVICTIONS = {*_EVICTIONS, *_STOPPED, PREEMPTED, "Deactivated"}
"""Reasons of `Evicted` with an uninformative text. The cause comes from the queue or the next attempt of Kueue."""

# Texts about the queue
_MISSING = re.compile(r"^(LocalQueue|ClusterQueue) (\S+) (?:doesn't exist|not found)")
_INACTIVE = re.compile(r"^(LocalQueue|ClusterQueue) (\S+) is inactive")
_NO_QUEUE = "LocalQueue  "
"""Beginning of the text if the owner names no queue."""
_OTHER_NAMESPACE = "workload namespace doesn't match ClusterQueue selector"
# Other texts
_OVERTAKEN = "Workload no longer fits after processing another workload"
# The second form was not observed (tas_flavor_snapshot.go).
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
"""Reason of `QuotaReserved=False` → code, for reasons that need no text (not observed)."""
_WAITS_FOR_PODS = ("Waiting", "WaitingForPodsReady")
_UNINFORMATIVE_REASONS = {
    "Pending",
    "PendingEvaluation",
    "Inadmissible",
    *_WAITS_FOR_PODS,
    *_REASONS,
}
"""Reasons of `QuotaReserved=False` that are uninformative without a text."""
_NOT_ADMITTED = {
    "NoReservation",
    "NoReservationUnsatisfiedChecks",
    "UnsatisfiedChecks",
    "UnsatisfiedAdmissionChecks",
}
"""Reasons of `Admitted=False` for which `QuotaReserved` and the checks are more precise."""


@dataclass(frozen=True, slots=True)
class Requeueing:
    """The next attempt of Kueue, and its attempts and preemptions so far."""

    next_try_at: datetime | None = None
    tries: int = 0
    preemptions: int = 0
    no_node: bool = False
    """True if the pods were late because they got no node (from v0.20 on, not observed)."""


def message_of(
    conditions: tuple[Condition, ...],
    checks: Sequence[AdmissionCheck],
    requeueing: Requeueing,
    namespace: str,
) -> QueueMessage | None:
    """Return the message about an active Workload. None: it is admitted or has no message.

    A final refusal goes first, then an eviction without a new attempt, then the current wait.
    """
    reserved = find_condition(conditions, "QuotaReserved")
    if reserved is None or is_true(conditions, "Admitted"):
        return None
    if reserved.is_true:
        return open_checks_message(checks, reserved) or _not_admitted_message(conditions)
    evicted = find_condition(conditions, "Evicted")
    if evicted is not None and not evicted.is_true:
        evicted = None
    waits = _quota_message(reserved, evicted, namespace)
    if waits is not None and waits.code.is_final:
        return waits
    if evicted is not None and evicted.reason in _EVICTIONS:
        requeued = find_condition(conditions, "Requeued")
        if requeued is None or not requeued.is_true:
            ready = find_condition(conditions, "PodsReady")
            if ready is not None and ready.is_false and ready.reason == "WaitForScheduling":
                requeueing = replace(requeueing, no_node=True)
            return _requeueing_message(evicted, requeueing)
    if evicted is not None and evicted.reason == PREEMPTED:
        return _preemption_message(evicted, waits, requeueing)
    return waits


def not_requeued_message(over: FinalRejection, conditions: tuple[Condition, ...]) -> QueueMessage:
    """Return the message about a Workload that a user activated again after Kueue gave it up. Kueue ignores it."""
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
    """Return whether the condition exists and is true."""
    condition = find_condition(conditions, kind)
    return condition is not None and condition.is_true


def _not_admitted_message(conditions: tuple[Condition, ...]) -> QueueMessage | None:
    """Return Kueue's message about a Workload that has quota and all checks and is not admitted. None: no message."""
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


def _requeueing_message(evicted: Condition, requeueing: Requeueing) -> QueueMessage:
    next_try = "Kueue retries after a pause"
    if requeueing.next_try_at is not None:
        next_try = f"the next attempt is at {requeueing.next_try_at:%Y-%m-%d %H:%M:%S} UTC"
    times = f" (the {_ordinal(requeueing.tries + 1)})" if requeueing.tries else ""
    checks = checks_text(evicted.message, "requests a retry", "request a retry")
    cause = checks or _EVICTIONS[evicted.reason]
    if evicted.reason == PODS_LATE and requeueing.no_node:
        cause = "its pods were not placed in time"
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


def _preemption_message(
    evicted: Condition, waits: QueueMessage | None, requeueing: Requeueing
) -> QueueMessage:
    preemptions = requeueing.preemptions
    return QueueMessage(
        QueueCode.PREEMPTED,
        "; ".join(
            filter(
                None,
                (
                    f"preempted {preemptions} times so far" if preemptions > 1 else "",
                    waits.cause if waits is not None else "",
                ),
            )
        ),
        label=f"Evicted: {evicted.reason}",
        text=evicted.message,
        since=evicted.since,
        taker=preemptor_uid(evicted.message),
        lacks=waits.lacks if waits is not None else (),
    )


def _quota_message(
    reserved: Condition, evicted: Condition | None, namespace: str
) -> QueueMessage | None:
    """Return the message of `QuotaReserved=False`. None: the text is about an eviction with a known reason."""
    if reserved.message.startswith(_NO_QUEUE) or not (
        reserved.message or reserved.reason not in _UNINFORMATIVE_REASONS
    ):
        return None
    message = (
        _queue_fault_message(reserved, evicted, namespace)
        or flavor_message(reserved.message, _REASONS.get(reserved.reason))
        or _other_message(reserved)
    )
    if message is None:
        # Kueue also writes the text of an eviction here, until the next attempt.
        is_of_eviction = evicted is not None and evicted.message == reserved.message
        if evicted is not None and is_of_eviction and evicted.reason in _UNINFORMATIVE_EVICTIONS:
            return None
        code = _REASONS.get(reserved.reason, QueueCode.QUEUE_EVALUATING)
        message = QueueMessage(code, f"Kueue says “{quote(reserved.message or reserved.reason)}”")
    return replace(
        message,
        label=f"QuotaReserved: {reserved.reason}",
        text=reserved.message,
        since=reserved.since,
    )


def _queue_fault_message(
    reserved: Condition, evicted: Condition | None, namespace: str
) -> QueueMessage | None:
    """Return the message about a fault of the queue. None: there is none."""
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
        about = _queue_name(inactive[1], inactive[2], namespace) if inactive is not None else None
        stopped = evicted is not None and _STOPPED.get(evicted.reason) == queue.partition(" ")[0]
        is_stopped = stopped or reserved.reason == "Suspended"
        return QueueMessage(
            QueueCode.QUEUE_STOPPED,
            f"{queue} is {'stopped' if is_stopped else 'inactive'}",
            f"Set {STOP_FIELD} of {queue} to {NOT_STOPPED}."
            if is_stopped
            else f"Check condition Active of {queue}: it is stopped, or an object that it names is missing.",
            command=start_command(about.kind, about.namespace, about.name)
            if is_stopped and about is not None
            else (),
            about=about,
            is_out_of_line=True,
        )
    if text.startswith(_OTHER_NAMESPACE):
        return QueueMessage(
            QueueCode.QUEUE_MISCONFIGURED,
            "the ClusterQueue does not admit this namespace",
            "Use a queue for this namespace, or let namespaceSelector of the ClusterQueue match it.",
            is_out_of_line=True,
        )
    return None


def _queue_name(kind: str, name: str, namespace: str) -> QueueName:
    return QueueName(GROUP, kind, namespace if kind == "LocalQueue" else "", name)


def _other_message(reserved: Condition) -> QueueMessage | None:
    """Return a message that is not about the queue or its flavors."""
    text = reserved.message
    if text.startswith(_OVERTAKEN):
        return QueueMessage(QueueCode.WAITING_FOR_QUOTA, "another workload got the quota first")
    if reserved.reason in _WAITS_FOR_PODS and "PodsReady" in text:
        return QueueMessage(
            QueueCode.QUEUE_EVALUATING, "pods of workloads admitted earlier must be ready first"
        )
    if _PREEMPTION_GATED in text:
        return QueueMessage(
            QueueCode.WAITING_FOR_QUOTA,
            "it would have to preempt others, and a gate prevents that",
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
        name, fitting, requested, unfitting = topology.groups()
        fit_count = f"only {fitting} of {requested}" if fitting else f"none of {unfitting}"
        return QueueMessage(
            QueueCode.TOPOLOGY, f"topology {name} has room for {fit_count} pods now"
        )
    return None
