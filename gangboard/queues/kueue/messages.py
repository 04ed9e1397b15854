"""What Kueue says of a Workload that it has not admitted, as a reason code and half a sentence.

Kueue tells it in conditions. With default settings v0.19.2 writes one reason, `Pending`, for nearly
everything (observed, real-control-plane.md §5), so the text decides; where the gate
`UnadmittedWorkloadsObservability` writes a reason of its own, that does (jobset-kueue.md §3.3). Texts
are those of v0.19.2, all brought about on the real one but for what is marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gangboard.decode.quantities import parse_amount
from gangboard.domain.objects import Condition, find_condition
from gangboard.domain.queue import GivenUp, QueueCode, QueueMessage
from gangboard.domain.quota import FlavorAmount, QueueName
from gangboard.domain.reading.wording import count, is_or_are, listed, names, quote, quote_ends
from gangboard.domain.registry import DecodeError
from gangboard.queues.kueue.deactivations import check_text
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

# Of one flavor, or of a resource that no flavor of the queue has.
_SHORT = re.compile(
    r"insufficient unused quota for ([^\s,]+) in flavor ([^\s,]+), ([^\s,]+) more needed"
)
_TOO_LARGE = re.compile(
    r"insufficient quota for ([^\s,]+) in flavor ([^\s,]+), previously considered podsets requests "
    r"\(([^)\s]*)\) \+ current podset request \(([^)\s]*)\) > maximum capacity \(([^)\s]*)\)"
)
_NOT_COVERED = re.compile(r"resource ([^\s,]+) unavailable in ClusterQueue")
_OTHER_NODES = re.compile(r"flavor ([^\s,]+) doesn't match node affinity")
_TAINTED = re.compile(r"untolerated taint \{([^{}]*)\} in flavor ([^\s,;]+)")
_NO_FLAVOR = re.compile(r"flavor ([^\s,]+) not found")  # not brought about
_POD_SET = "couldn't assign flavors to pod set "
# Of the queue.
_MISSING = re.compile(r"^(LocalQueue|ClusterQueue) (\S+) (?:doesn't exist|not found)")
_INACTIVE = re.compile(r"^(LocalQueue|ClusterQueue) (\S+) is inactive")
_NO_QUEUE = "LocalQueue  "
"""It names no queue, and neither does Kueue."""
_OTHER_NAMESPACE = "workload namespace doesn't match ClusterQueue selector"
# Of those before it.
_PREEMPTING = re.compile(r"Pending the preemption of (\d{1,6}) workload")
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


@dataclass(frozen=True, slots=True)
class AdmissionCheck:
    """One of `status.admissionChecks` of a Workload."""

    name: str
    state: str
    message: str = ""


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
        return _of_checks(checks, reserved)
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
    found = find_condition(conditions, kind)
    return found is not None and found.is_true


def _of_checks(checks: Sequence[AdmissionCheck], reserved: Condition) -> QueueMessage | None:
    """Return what keeps a Workload that has its quota: checks that are not ready, by name."""
    left = [check for check in checks if check.state != "Ready"]
    if not left:
        return None
    said = next((check.message for check in left if check.message), "")
    noun, have = ("check", "has") if len(left) == 1 else ("checks", "have")
    rejected = any(check.state == "Rejected" for check in left)
    told = f": “{quote_ends(said)}”" if said else ""
    verb = f"{have} refused" if rejected else f"{have} not passed yet"
    return QueueMessage(
        QueueCode.ADMISSION_CHECK,
        f"admission {noun} {names(check.name for check in left)} {verb}{told}",
        label="admission checks",
        text=", ".join(f"{check.name}: {check.state}" for check in left),
        since=reserved.since,
    )


def _of_requeueing(evicted: Condition, requeueing: Requeueing) -> QueueMessage:
    again = "the next try comes after a pause"
    if requeueing.at is not None:
        again = f"the next try is at {requeueing.at:%Y-%m-%d %H:%M:%S} UTC"
    times = f" (the {_ordinal(requeueing.tries + 1)})" if requeueing.tries else ""
    why = check_text(evicted.message, "asks for another try") or _EVICTIONS[evicted.reason]
    if evicted.reason == PODS_LATE and requeueing.no_node:
        why = "its pods found no node in time"
    return QueueMessage(
        QueueCode.REQUEUED,
        f"{why}; {again}{times}",
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
    found = _FOR_JOB.search(evicted.message)
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
        taker=found[1] if found is not None else "",
        lacks=waits.lacks if waits is not None else (),
    )


def _of_text(reserved: Condition, evicted: Condition | None, namespace: str) -> QueueMessage | None:
    """Return what `QuotaReserved=False` says; None for text that is only about an eviction."""
    if not reserved.message or reserved.message.startswith(_NO_QUEUE):
        return None
    found = _of_queue(reserved, evicted, namespace) or _of_flavors(reserved) or _of_others(reserved)
    if found is None:
        # It is also said of an eviction that it was, and stays until the queue looks again.
        if evicted is not None and evicted.message == reserved.message:
            return None
        code = _REASONS.get(reserved.reason, QueueCode.QUEUE_EVALUATING)
        found = QueueMessage(code, f"Kueue says “{quote(reserved.message)}”")
    return replace(
        found,
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
        where = " in this namespace" if kind == "LocalQueue" else ""
        return QueueMessage(
            QueueCode.QUEUE_MISSING,
            f"{kind} {name} does not exist{where}",
            f"Create {kind} {name}{where}, or let it use another queue.",
            about=_queue_name(kind, name, namespace),
            is_out_of_line=True,
        )
    inactive = _INACTIVE.match(text)
    if inactive is not None or reserved.reason == "Suspended":
        what = " ".join(inactive.groups()) if inactive is not None else "the queue"
        stopped = evicted is not None and _STOPPED.get(evicted.reason) == what.partition(" ")[0]
        is_stopped = stopped or reserved.reason == "Suspended"
        return QueueMessage(
            QueueCode.QUEUE_STOPPED,
            f"{what} is {'stopped' if is_stopped else 'inactive'}",
            f"Set spec.stopPolicy of {what} to None."
            if is_stopped
            else f"Look at condition Active of {what}: it is stopped, or something that it names is missing.",
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


@dataclass(frozen=True, slots=True)
class _Obstacle:
    """What one flavor lacks, or the queue has in none."""

    code: QueueCode
    resource: str
    """Empty where the flavor as a whole does not suit."""
    cause: str
    advice: str = ""
    lacks: FlavorAmount | None = None


def _of_flavors(reserved: Condition) -> QueueMessage | None:
    """Return why no flavors can be assigned: the worst of its pod sets, told by what comes nearest.

    Flavors are alternatives, resources are not: of a resource the flavor counts that lacks least. A
    flavor that does not suit at all says nothing of a resource, so it decides where none other is.
    """
    found = [_of_pod_set(part) for part in reserved.message.split(_POD_SET)[1:]]
    obstacles = [obstacle for part in found for obstacle in part]
    if not obstacles:
        return None
    code = min((one.code for one in obstacles), key=QueueCode.position)
    named = _REASONS.get(reserved.reason)
    if named is not None and any(one.code is named for one in obstacles):
        code = named
    told = {one.cause: one for one in _without_parts([o for o in obstacles if o.code is code])}
    causes = list(told)
    cause = (
        listed(causes) if len(causes) < 3 else f"{causes[0]}, and {len(causes) - 1} more reasons"
    )
    pending = _PREEMPTING.search(reserved.message)
    if code is QueueCode.WAITING_FOR_QUOTA and pending is not None:
        number = int(pending[1])
        cause = f"{cause}; {count(number, 'gang')} {is_or_are(number)} being preempted"
    lacks = tuple(one.lacks for one in told.values() if one.lacks is not None)
    return QueueMessage(code, cause, next(iter(told.values())).advice, lacks=lacks)


def _without_parts(obstacles: list[_Obstacle]) -> list[_Obstacle]:
    """Return the obstacles without those that a later pod set counts in, too.

    Pod sets are given quota one after the other: what one lacks of a flavor has in it what those before it lack.
    """
    most: dict[tuple[str, str], FlavorAmount] = {}
    for one in obstacles:
        if one.lacks is not None:
            at = one.lacks.flavor, one.lacks.resource
            most[at] = max(one.lacks, most.get(at, one.lacks), key=lambda lacks: lacks.amount)
    return [
        one
        for one in obstacles
        if one.lacks is None or one.lacks == most[one.lacks.flavor, one.lacks.resource]
    ]


def _of_pod_set(text: str) -> list[_Obstacle]:
    """Return what decides about one pod set: of each resource the flavor that lacks least."""
    by_resource: dict[str, list[_Obstacle]] = {}
    whole: list[_Obstacle] = []
    for one in _obstacles(text):
        (by_resource.setdefault(one.resource, []) if one.resource else whole).append(one)
    nearest = [
        max(several, key=lambda one: one.code.position()) for several in by_resource.values()
    ]
    return nearest or whole


def _obstacles(text: str) -> Iterator[_Obstacle]:
    for resource, flavor, lacks in _SHORT.findall(text):
        cause = f"{lacks} more {resource} of flavor {flavor} must become free"
        yield _Obstacle(
            QueueCode.WAITING_FOR_QUOTA, resource, cause, lacks=_lacks(flavor, resource, lacks)
        )
    for resource, flavor, before, own, limit in _TOO_LARGE.findall(text):
        asked = own if before in ("", "0") else f"{before} + {own}"
        yield _Obstacle(
            QueueCode.EXCEEDS_QUOTA,
            resource,
            f"{asked} {resource} of flavor {flavor} are asked for, and at most {limit} can be had",
            f"Ask for less, or raise the quota for {resource} of flavor {flavor}.",
        )
    for resource in _NOT_COVERED.findall(text):
        yield _Obstacle(
            QueueCode.NO_MATCHING_FLAVOR,
            resource,
            f"no flavor of the queue has {resource}",
            f"Use a queue that has {resource}, or add {resource} to the ClusterQueue.",
        )
    for flavor in _OTHER_NODES.findall(text):
        yield _Obstacle(
            QueueCode.NO_MATCHING_FLAVOR,
            "",
            f"flavor {flavor} is for other nodes than node selector and affinity ask for",
            "Change node selector or affinity, or use a queue with a flavor for such nodes.",
        )
    for taint, flavor in _TAINTED.findall(text):
        yield _Obstacle(
            QueueCode.NO_MATCHING_FLAVOR,
            "",
            f"taint {_taint(taint)} of flavor {flavor} is not tolerated",
            f"Let the pods tolerate {_taint(taint)}, or use a queue with another flavor.",
        )
    for flavor in _NO_FLAVOR.findall(text):
        yield _Obstacle(
            QueueCode.NO_MATCHING_FLAVOR,
            "",
            f"flavor {flavor} does not exist",
            f"Create ResourceFlavor {flavor}.",
        )


def _lacks(flavor: str, resource: str, text: str) -> FlavorAmount | None:
    try:
        return FlavorAmount(flavor, resource, parse_amount(resource, text))
    except DecodeError:
        return None


def _taint(printed: str) -> str:
    """Return `team=x:NoSchedule` for what Go prints: `team x NoSchedule <nil>`."""
    key, value, effect, *_ = [*printed.split(" "), "", "", ""]
    return f"{key}={value}:{effect}" if value else f"{key}:{effect}"
