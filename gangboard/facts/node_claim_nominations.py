"""For which waiting pods Karpenter has made NodeClaims, and how far those are.

Karpenter says `Nominated` of a pod right after it has made the claim (provisioner.go: Create), and
again while it waits, at most every 2 minutes per pod whatever the claim (events/recorder.go). So a
claim that takes the place of a failed one can be there before it is said: nothing else names its pods.
The claim says the rest itself where it can be looked at; elsewhere the event is believed for a while.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum

from gangboard.domain.autoscaling import KARPENTER, NodeClaim
from gangboard.domain.event import Event, last_seen_seconds
from gangboard.domain.objects import Condition, ObjectRef
from gangboard.domain.text import shorten
from gangboard.domain.verdict import Evidence
from gangboard.facts.unit import Unit

PATIENCE = timedelta(minutes=15)
"""How long a step may take: Karpenter waits so long for a node to register (liveness.go)."""
SETTLING = timedelta(seconds=30)
"""How old a nomination must be before a claim that is not there is gone: the claim can come later
than the word of it, over another connection."""
REFUSALS = frozenset({"InsufficientCapacityError", "NodeClassNotReady"})
"""What Karpenter says of a claim before it deletes it (lifecycle/events.go)."""

_NOMINATED = re.compile(r"^Pod should schedule on: nodeclaim/([^\s,]+)(?:, node/([^\s,]+))?")
_REFUSED = re.compile(r"^NodeClaim \S+ event: ")
# Words of conditions that say only that it is not so far (registration.go, operatorpkg/status).
_EMPTY_REASONS = frozenset({"", "AwaitingReconciliation", "NodeNotFound"})


class NodeClaimProgress(IntEnum):
    """How far a claim is, the least first. From FAILING to REGISTERED a node is on its way."""

    GONE = 0
    LATE = 1
    FAILING = 2
    MADE = 3
    LAUNCHED = 4
    REGISTERED = 5
    THERE = 6


@dataclass(frozen=True, slots=True)
class Nomination:
    """A NodeClaim and the waiting pods that Karpenter has made it for."""

    claim: str
    pods: int
    event: Event
    """The newest that names it."""
    progress: NodeClaimProgress
    text: str = ""
    """What stands after its name in a sentence; empty when only the event tells of it."""
    ref: ObjectRef | None = None
    """The object, where it can be seen."""
    until: datetime | None = None
    """When waiting alone changes what is said."""
    node: str = ""
    """The node that `text` names, or empty."""

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What is said of it, with references to all that is named: the claim's does not hide a node."""
        found = [Evidence("Karpenter says", self.event.note, self.event.regarding)]
        if self.text:
            found.append(Evidence(f"NodeClaim {self.claim}", self.text, self.ref))
        named = named_claim(self.event)
        nodes = dict.fromkeys((self.node, named[1] if named is not None else ""))
        found += [
            Evidence(f"node of NodeClaim {self.claim}", node, ObjectRef("", "Node", "", node, ""))
            for node in nodes
            if node
        ]
        return tuple(found)

    @property
    def is_coming(self) -> bool:
        """Whether it still may bring a node."""
        return NodeClaimProgress.FAILING <= self.progress <= NodeClaimProgress.REGISTERED


def named_claim(event: Event) -> tuple[str, str] | None:
    """Return the NodeClaim that a pod is nominated to and its node, if that is named; else None."""
    if event.reason != "Nominated":
        return None
    found = _NOMINATED.match(event.note)
    return (found[1], found[2] or "") if found is not None else None


def is_about_claim(event: Event) -> bool:
    """Whether an event is about a NodeClaim of Karpenter."""
    return (event.regarding.group, event.regarding.kind) == (KARPENTER, "NodeClaim")


def nominations(unit: Unit) -> tuple[Nomination, ...]:
    """Return the claims that Karpenter named last for pods that wait, the least far first."""
    told: dict[str, list[Event]] = defaultdict(list)
    for event in _newest(unit).values():
        named = named_claim(event)
        if named is not None:
            told[named[0]].append(event)
    seen = unit.gang.cluster.autoscaling.claims
    if seen is None:
        found = _by_events(unit, told)
    else:
        found = [_seen(unit, name, events, seen.get(name)) for name, events in told.items()]
    return tuple(sorted(found, key=_rank))


def _rank(one: Nomination) -> tuple[int, str]:
    return one.progress, one.claim


def _newest(unit: Unit) -> dict[str, Event]:
    """Return Karpenter's newest word of each pod that waits: a claim, a node, or that none will do."""
    waiting = {pod.meta.ref.uid for pod in unit.unplaced}
    found: dict[str, Event] = {}
    for event in unit.events:
        uid = event.regarding.uid
        refuses = event.reason == "FailedScheduling" and event.reporter == "karpenter"
        if uid not in waiting or not (refuses or event.reason == "Nominated"):
            continue
        if uid not in found or last_seen_seconds(event) > last_seen_seconds(found[uid]):
            found[uid] = event
    return found


def _by_events(unit: Unit, told: Mapping[str, list[Event]]) -> list[Nomination]:
    """Return what the events alone tell: believed for a while, unless the node is there."""
    if not told:
        return []
    nodes = {node.name for node in unit.gang.cluster.room.nodes}
    found = []
    for name, events in told.items():
        last = max(events, key=last_seen_seconds)
        is_there = any((named_claim(event) or ("", ""))[1] in nodes for event in events)
        if last.last_seen is not None and unit.now - last.last_seen < PATIENCE and not is_there:
            until = last.last_seen + PATIENCE
            found.append(Nomination(name, len(events), last, NodeClaimProgress.MADE, until=until))
    return found


def _seen(unit: Unit, name: str, events: list[Event], claim: NodeClaim | None) -> Nomination:
    last = max(events, key=last_seen_seconds)
    if claim is not None:
        progress, text, until = _state(unit, claim)
        return Nomination(
            name, len(events), last, progress, text, claim.meta.ref, until, claim.node
        )
    if last.last_seen is not None and unit.now - last.last_seen < SETTLING:
        return Nomination(
            name, len(events), last, NodeClaimProgress.MADE, until=last.last_seen + SETTLING
        )
    refusal = _refusal(unit, name)
    text = "is gone: Karpenter does not bring its node any more"
    return Nomination(name, len(events), last, NodeClaimProgress.GONE, f"{text}{refusal}")


def _state(unit: Unit, claim: NodeClaim) -> tuple[NodeClaimProgress, str, datetime | None]:
    """Return how far a claim is, in words, and until when that is believed."""
    if claim.meta.deleting_since is not None:
        text = "is being deleted: Karpenter does not bring its node any more"
        return NodeClaimProgress.GONE, f"{text}{_refusal(unit, claim.meta.ref.name)}", None
    progress, text, since = _step(claim)
    since = since or claim.meta.created_at
    if progress is NodeClaimProgress.THERE or since is None:
        return progress, text, None
    if unit.now - since >= PATIENCE:
        return NodeClaimProgress.LATE, f"{text} (for more than 15 minutes now)", None
    return progress, text, since + PATIENCE


def _step(claim: NodeClaim) -> tuple[NodeClaimProgress, str, datetime | None]:
    """Return which step a claim has come to, in words, and when."""
    launched, registered, initialized = claim.launched, claim.registered, claim.initialized
    if initialized is not None and initialized.is_true:
        return NodeClaimProgress.THERE, f"has brought {_node(claim)}", initialized.since
    if registered is not None and registered.is_true:
        text = f"has brought {_node(claim)}, which is not initialized yet{_why(initialized)}"
        return NodeClaimProgress.REGISTERED, text, registered.since
    if launched is not None and launched.is_true:
        text = f"was launched{_at(launched)}, its node has not registered yet{_why(registered)}"
        return NodeClaimProgress.LAUNCHED, text, launched.since
    why = _why(launched)
    if why:
        return NodeClaimProgress.FAILING, f"could not be launched{why}", None
    return NodeClaimProgress.MADE, "is not launched yet", None


def _node(claim: NodeClaim) -> str:
    return f"node {claim.node}" if claim.node else "its node"


def _why(condition: Condition | None) -> str:
    """Return what a condition says besides that it is not so far, after a colon."""
    if condition is None or condition.reason in _EMPTY_REASONS:
        return ""
    return f": {shorten(condition.message or condition.reason)}"


def _at(condition: Condition) -> str:
    if condition.since is None:
        return ""
    return f" at {condition.since.astimezone(UTC):%H:%M} UTC"


def _refusal(unit: Unit, name: str) -> str:
    """Return what Karpenter said of a claim before it deleted it."""
    said = [
        event
        for event in unit.events
        if event.reason in REFUSALS and is_about_claim(event) and event.regarding.name == name
    ]
    if not said:
        return ""
    last = max(said, key=last_seen_seconds)
    return f" ({last.reason}: {shorten(_REFUSED.sub('', last.note))})"
