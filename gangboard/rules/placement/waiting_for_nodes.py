"""`waiting-for-nodes`: an autoscaler reports that it brings nodes for waiting members.

- Karpenter writes `Nominated` with the name of the NodeClaim (scheduling/events.go). The claim reports its own
  progress. If claims cannot be read, the event counts for 15 minutes.
- A ProvisioningRequest reports the state for the pods that consume it.
- cluster-autoscaler writes `TriggeredScaleUp` for the pods that it scales for (eventing_scale_up_processor.go).
  A node may take 15 minutes (`--max-node-provision-time`). After that the event is stale.

If an autoscaler refuses to bring nodes, other rules show that as evidence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from gangboard.domain.event import Event
from gangboard.domain.health import Health, Stage
from gangboard.domain.text import out_of, quote_list, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.provisioning import (
    ConsumedRequest,
    NodeClaimProgress,
    Nomination,
    consumed_requests,
    nominations,
)
from gangboard.facts.scheduler_text import (
    SchedulerMessage,
    has_scheduler_messages,
    scheduler_messages,
)
from gangboard.facts.unit import Unit, lacks_nodes
from gangboard.placement.sentences.finding import message_evidence_of
from gangboard.plugins.rule import UnitRule

_PROVISIONING = timedelta(minutes=15)
"""The time after which a reported scale-up is stale."""
_TRIGGERED = re.compile(r"^pod triggered scale-up: \[?(.*?)\]?$")


def find(unit: Unit) -> Finding | None:
    """Return a finding while an autoscaler brings nodes for needed members."""
    if not has_scheduler_messages(unit, "Unschedulable") or not lacks_nodes(unit):
        return None
    coming = [nomination for nomination in nominations(unit) if nomination.is_coming]
    if coming:
        return _by_karpenter(unit, _messages(unit), coming)
    provided = [provision for provision in consumed_requests(unit) if provision.coming]
    if provided:
        return _by_request(unit, _messages(unit), provided)
    scale_ups = _scale_ups(unit)
    return _by_cluster_autoscaler(unit, _messages(unit), scale_ups) if scale_ups else None


def _messages(unit: Unit) -> tuple[SchedulerMessage, ...]:
    return scheduler_messages(unit, "Unschedulable")


def _by_karpenter(
    unit: Unit, messages: tuple[SchedulerMessage, ...], coming: Sequence[Nomination]
) -> Finding:
    """Return the finding about NodeClaims. It names the claim with the least progress, because all must be ready."""
    slowest = coming[0]
    claims = f"NodeClaim {slowest.claim}"
    if len(coming) > 1:
        claims = f"{len(coming)} NodeClaims, the slowest is {slowest.claim}"
    # Examples: `NodeClaim a is not launched yet`, and for several `2 NodeClaims, the slowest is
    # a: it is not launched yet`.
    progress = f": it {slowest.text}" if len(coming) > 1 else f" {slowest.text}"
    pods = out_of(sum(claim.pods for claim in coming), len(unit.unplaced), "pod")
    verb = "is trying to add" if slowest.progress is NodeClaimProgress.FAILING else "is adding"
    return unit_finding(
        RULE,
        unit,
        sentence(f"Karpenter {verb} nodes for {pods}: {claims}{progress if slowest.text else ''}"),
        # With many claims, the general evidence may lack this one.
        evidence=tuple(dict.fromkeys((*message_evidence_of(unit, messages), *slowest.evidence))),
        recheck_at=min((claim.until for claim in coming if claim.until), default=None),
        since=min(
            (claim.event.first_seen for claim in coming if claim.event.first_seen), default=None
        ),
    )


def _by_request(
    unit: Unit, messages: tuple[SchedulerMessage, ...], provided: Sequence[ConsumedRequest]
) -> Finding:
    first = provided[0]
    pods = out_of(sum(provision.pods for provision in provided), len(unit.unplaced), "pod")
    verb = "is trying to add" if first.trying else "is adding"
    request = f"ProvisioningRequest {first.request} {first.text}"
    return unit_finding(
        RULE,
        unit,
        sentence(f"cluster-autoscaler {verb} nodes for {pods}: {request}"),
        evidence=message_evidence_of(unit, messages),
        recheck_at=min(
            (provision.until for provision in provided if provision.until), default=None
        ),
        since=min((provision.since for provision in provided if provision.since), default=None),
    )


def _by_cluster_autoscaler(
    unit: Unit, messages: tuple[SchedulerMessage, ...], scale_ups: Sequence[Event]
) -> Finding:
    newest = max(scale_ups, key=lambda event: (_last_seen(unit, event), event.meta.ref.name))
    pods = out_of(len(scale_ups), len(unit.unplaced), "pod")
    triggered = _TRIGGERED.match(newest.note)
    node_groups = triggered[1] if triggered is not None else newest.note
    return unit_finding(
        RULE,
        unit,
        f"cluster-autoscaler is adding nodes for {pods}: {quote_list(node_groups)}.",
        evidence=(
            Evidence("cluster-autoscaler says", newest.note, newest.regarding),
            *message_evidence_of(unit, messages),
        ),
        recheck_at=_last_seen(unit, newest) + _PROVISIONING,
        since=min(
            (event.first_seen or _last_seen(unit, event) for event in scale_ups), default=None
        ),
    )


def _scale_ups(unit: Unit) -> tuple[Event, ...]:
    """Return the newest scale-up event of each waiting pod. Empty while the autoscaler refuses one of them."""
    waiting = {pod.meta.ref.uid for pod in unit.unplaced}
    newest: dict[str, Event] = {}
    for event in unit.events:
        uid, last_seen = event.regarding.uid, event.last_seen
        if uid not in waiting or last_seen is None or unit.now - last_seen >= _PROVISIONING:
            continue
        if event.reason not in ("TriggeredScaleUp", "NotTriggerScaleUp"):
            continue
        if uid not in newest or last_seen > _last_seen(unit, newest[uid]):
            newest[uid] = event
    if any(event.reason == "NotTriggerScaleUp" for event in newest.values()):
        return ()
    return tuple(newest.values())


def _last_seen(unit: Unit, event: Event) -> datetime:
    return event.last_seen or unit.now


RULE = UnitRule(
    "waiting-for-nodes",
    Stage.PLACEMENT,
    "Waiting for nodes",
    44,
    find,
    health=Health.WAITING,
    for_waiting_units=True,
)
