"""Nodes being provisioned for waiting pods, by NodeClaims of Karpenter and by ProvisioningRequests.

Karpenter sends `Nominated` for a pod right after it created the claim (provisioner.go: Create). It repeats the event
while the pod waits, at most every 2 minutes per pod (events/recorder.go). A claim that replaces a failed one can exist
before its event, and the event alone names its pods. Readable claims show their progress. Without them the event
counts for a while.

cluster-autoscaler adds nodes for a request and ignores its consumers (pods_filter.go), so no event names them. After it
accepted a request, it sets `Provisioned` (besteffortatomic/provisioning_class.go). The condition is false while no
scale-up is possible, and true once it requested the nodes or if capacity exists. It gives up after 7 days (`Failed`,
processor.go). The class `check-capacity` adds no nodes. Other classes belong to clouds, such as GKE's, which waits
until it has all machines.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum

from gangboard.domain.autoscaling import CHECK_CAPACITY, KARPENTER, NodeClaim, ProvisioningRequest
from gangboard.domain.event import Event, last_seen_seconds
from gangboard.domain.objects import Condition, ObjectRef
from gangboard.domain.text import shorten
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit

PATIENCE = timedelta(minutes=15)
"""Longest time for a step. Karpenter waits so long for a node to register (liveness.go)."""
SETTLING = timedelta(seconds=30)
"""Age of a nomination from which a missing claim counts as deleted.

The claim can arrive later than its event, because they use different connections."""
REFUSALS = frozenset({"InsufficientCapacityError", "NodeClassNotReady"})
"""Event reasons with which Karpenter reports a failed claim before deleting it (lifecycle/events.go)."""

_NOMINATED = re.compile(r"^Pod should schedule on: nodeclaim/([^\s,]+)(?:, node/([^\s,]+))?")
_REFUSED = re.compile(r"^NodeClaim \S+ event: ")
# Reasons of conditions that only say that the step is not done yet (registration.go, operatorpkg/status).
_EMPTY_REASONS = frozenset({"", "AwaitingReconciliation", "NodeNotFound"})


class NodeClaimProgress(IntEnum):
    """Progress of a claim, the least first. From FAILING to REGISTERED a node is being provisioned."""

    DELETED = 0
    OVERDUE = 1
    FAILING = 2
    CREATED = 3
    LAUNCHED = 4
    REGISTERED = 5
    INITIALIZED = 6


@dataclass(frozen=True, slots=True)
class Nomination:
    """A NodeClaim of Karpenter and the waiting pods that it is for."""

    claim: str
    pods: int
    event: Event
    """Newest event that names it."""
    progress: NodeClaimProgress
    text: str = ""
    """Text after its name in a sentence. Empty if the claim is known by its event only."""
    ref: ObjectRef | None = None
    """Reference to the claim, if it can be read."""
    until: datetime | None = None
    """Time at which the progress changes without an event."""
    node: str = ""
    """Node that `text` names, or empty."""

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Facts about the claim. A node has an entry of its own, because a reference redacts only its own object."""
        evidence = [Evidence("Karpenter says", self.event.note, self.event.regarding)]
        if self.text:
            evidence.append(Evidence(f"NodeClaim {self.claim}", self.text, self.ref))
        named = named_claim(self.event)
        nodes = dict.fromkeys((self.node, named[1] if named is not None else ""))
        evidence += [
            Evidence(f"node of NodeClaim {self.claim}", node, ObjectRef("", "Node", "", node, ""))
            for node in nodes
            if node
        ]
        return tuple(evidence)

    @property
    def is_coming(self) -> bool:
        """Whether it can still provide a node."""
        return NodeClaimProgress.FAILING <= self.progress <= NodeClaimProgress.REGISTERED


def named_claim(event: Event) -> tuple[str, str] | None:
    """Return the NodeClaim that a pod is nominated to, with its node or an empty text. None for other events."""
    if event.reason != "Nominated":
        return None
    match = _NOMINATED.match(event.note)
    return (match[1], match[2] or "") if match is not None else None


def is_about_claim(event: Event) -> bool:
    """Return whether an event is about a NodeClaim of Karpenter."""
    return (event.regarding.group, event.regarding.kind) == (KARPENTER, "NodeClaim")


def nominations(unit: Unit) -> tuple[Nomination, ...]:
    """Return the claims that Karpenter last named for waiting pods, those with the least progress first."""
    by_claim: dict[str, list[Event]] = defaultdict(list)
    for event in _newest(unit).values():
        named = named_claim(event)
        if named is not None:
            by_claim[named[0]].append(event)
    claims = unit.gang.cluster.autoscaling.claims
    if claims is None:
        nominations = _by_events(unit, by_claim)
    else:
        nominations = [
            _by_claim(unit, name, events, claims.get(name)) for name, events in by_claim.items()
        ]
    return tuple(sorted(nominations, key=_rank))


def _rank(nomination: Nomination) -> tuple[int, str]:
    return nomination.progress, nomination.claim


def _newest(unit: Unit) -> dict[str, Event]:
    """Return Karpenter's newest event about each waiting pod: a nomination or a refusal."""
    waiting = {pod.meta.ref.uid for pod in unit.unplaced}
    newest: dict[str, Event] = {}
    for event in unit.events:
        uid = event.regarding.uid
        refuses = event.reason == "FailedScheduling" and event.reporter == "karpenter"
        if uid not in waiting or not (refuses or event.reason == "Nominated"):
            continue
        if uid not in newest or last_seen_seconds(event) > last_seen_seconds(newest[uid]):
            newest[uid] = event
    return newest


def _by_events(unit: Unit, by_claim: Mapping[str, list[Event]]) -> list[Nomination]:
    """Return the nominations by events alone. They count for a while, unless the node exists."""
    if not by_claim:
        return []
    nodes = {node.name for node in unit.gang.cluster.room.nodes}
    nominations = []
    for name, events in by_claim.items():
        last = max(events, key=last_seen_seconds)
        exists = any((named_claim(event) or ("", ""))[1] in nodes for event in events)
        if last.last_seen is not None and unit.now - last.last_seen < PATIENCE and not exists:
            until = last.last_seen + PATIENCE
            nominations.append(
                Nomination(name, len(events), last, NodeClaimProgress.CREATED, until=until)
            )
    return nominations


def _by_claim(unit: Unit, name: str, events: list[Event], claim: NodeClaim | None) -> Nomination:
    last = max(events, key=last_seen_seconds)
    if claim is not None:
        progress, text, until = _state(unit, claim)
        return Nomination(
            name, len(events), last, progress, text, claim.meta.ref, until, claim.node
        )
    if last.last_seen is not None and unit.now - last.last_seen < SETTLING:
        return Nomination(
            name, len(events), last, NodeClaimProgress.CREATED, until=last.last_seen + SETTLING
        )
    refusal = _refusal(unit, name)
    text = "is gone: Karpenter no longer adds its node"
    return Nomination(name, len(events), last, NodeClaimProgress.DELETED, f"{text}{refusal}")


def _state(unit: Unit, claim: NodeClaim) -> tuple[NodeClaimProgress, str, datetime | None]:
    """Return the progress of a claim, its text, and until when they are valid."""
    if claim.meta.deleting_since is not None:
        text = "is being deleted: Karpenter no longer adds its node"
        return NodeClaimProgress.DELETED, f"{text}{_refusal(unit, claim.meta.ref.name)}", None
    progress, text, since = _step(claim)
    since = since or claim.meta.created_at
    if progress is NodeClaimProgress.INITIALIZED or since is None:
        return progress, text, None
    if unit.now - since >= PATIENCE:
        return NodeClaimProgress.OVERDUE, f"{text} (for more than 15 minutes now)", None
    return progress, text, since + PATIENCE


def _step(claim: NodeClaim) -> tuple[NodeClaimProgress, str, datetime | None]:
    """Return the last step of a claim, its text, and its time."""
    launched, registered, initialized = claim.launched, claim.registered, claim.initialized
    if initialized is not None and initialized.is_true:
        return NodeClaimProgress.INITIALIZED, f"added {_node(claim)}", initialized.since
    if registered is not None and registered.is_true:
        text = f"added {_node(claim)}, which is not initialized yet{_why(initialized)}"
        return NodeClaimProgress.REGISTERED, text, registered.since
    if launched is not None and launched.is_true:
        text = f"was launched{_time_text(launched)}, and its node has not registered yet{_why(registered)}"
        return NodeClaimProgress.LAUNCHED, text, launched.since
    why = _why(launched)
    if why:
        return NodeClaimProgress.FAILING, f"could not be launched{why}", None
    return NodeClaimProgress.CREATED, "is not launched yet", None


def _node(claim: NodeClaim) -> str:
    return f"node {claim.node}" if claim.node else "its node"


def _why(condition: Condition | None) -> str:
    """Return the message of a condition after a colon. Empty if it only reports that the step is not done."""
    if condition is None or condition.reason in _EMPTY_REASONS:
        return ""
    return f": {shorten(condition.message or condition.reason)}"


def _time_text(condition: Condition) -> str:
    if condition.since is None:
        return ""
    return f" at {condition.since.astimezone(UTC):%H:%M} UTC"


def _refusal(unit: Unit, name: str) -> str:
    """Return what Karpenter reported about a claim before it deleted the claim."""
    messages = [
        event
        for event in unit.events
        if event.reason in REFUSALS and is_about_claim(event) and event.regarding.name == name
    ]
    if not messages:
        return ""
    last = max(messages, key=last_seen_seconds)
    return f" ({last.reason}: {shorten(_REFUSED.sub('', last.note))})"


_REQUESTED = "CapacityIsProvisioned"
"""Reason of `Provisioned` for a requested scale-up, whose nodes do not exist yet."""


@dataclass(frozen=True, slots=True)
class ConsumedRequest:
    """A ProvisioningRequest and the waiting pods that consume it."""

    request: str
    pods: int
    text: str
    """Text after its name in a sentence."""
    coming: bool = False
    """Nodes are being provisioned, or the autoscaler still tries."""
    trying: bool = False
    """The autoscaler has found no nodes yet."""
    ref: ObjectRef | None = None
    """Reference to the request, if it exists."""
    since: datetime | None = None
    until: datetime | None = None
    """Time at which the state changes without an event."""


def consumed_requests(unit: Unit) -> tuple[ConsumedRequest, ...]:
    """Return the requests that waiting pods consume, by name. Empty if requests cannot be read."""
    requests = unit.gang.cluster.autoscaling.requests
    if requests is None:
        return ()
    consumers = Counter(
        (pod.meta.ref.namespace, pod.provisioning_request)
        for pod in unit.unplaced
        if pod.provisioning_request
    )
    return tuple(
        _consumed_request(unit, key[1], consumers[key], requests.get(key))
        for key in sorted(consumers)
    )


def _consumed_request(
    unit: Unit, name: str, pods: int, request: ProvisioningRequest | None
) -> ConsumedRequest:
    if request is None:
        return ConsumedRequest(
            name, pods, "does not exist, so no nodes are added for pods that consume it"
        )
    ref, failed, revoked = request.meta.ref, request.failed, request.revoked
    if failed is not None and failed.is_true:
        return ConsumedRequest(name, pods, f"has failed{_message_of(failed)}", ref=ref)
    if revoked is not None and revoked.is_true:
        return ConsumedRequest(name, pods, f"has lost its capacity{_message_of(revoked)}", ref=ref)
    if request.provisioned is not None and request.provisioned.is_true:
        return _provisioned(unit, request, pods, request.provisioned)
    if request.accepted is None or not request.accepted.is_true:
        return ConsumedRequest(name, pods, "is not accepted yet", ref=ref)
    why = _message_of(request.provisioned)
    if request.class_name == CHECK_CAPACITY:
        text = f"only checks for capacity, and adds no nodes{why}"
        return ConsumedRequest(name, pods, text, ref=ref)
    return ConsumedRequest(
        name,
        pods,
        f"is accepted, not provisioned yet{why}",
        coming=True,
        trying=bool(why),
        ref=ref,
        since=request.accepted.since,
    )


def _provisioned(
    unit: Unit, request: ProvisioningRequest, pods: int, condition: Condition
) -> ConsumedRequest:
    """Return the state of a provisioned request, whose nodes may still be starting."""
    name, ref = request.meta.ref.name, request.meta.ref
    since = condition.since.astimezone(UTC) if condition.since is not None else None
    when = f" at {since:%Y-%m-%d %H:%M} UTC" if since is not None else ""
    is_requested = condition.reason == _REQUESTED and request.class_name != CHECK_CAPACITY
    if is_requested and condition.since is not None and unit.now - condition.since < PATIENCE:
        text = f"was provisioned at {since:%H:%M} UTC, its nodes may still be starting"
        until = condition.since + PATIENCE
        return ConsumedRequest(
            name, pods, text, coming=True, ref=ref, since=condition.since, until=until
        )
    return ConsumedRequest(name, pods, f"was provisioned{when}{_message_of(condition)}", ref=ref)


def _message_of(condition: Condition | None) -> str:
    message = "" if condition is None else condition.message or condition.reason
    return f": {shorten(message)}" if message else ""
