"""`waiting-for-nodes`: an autoscaler said that it brings nodes for members that wait.

Karpenter says `Nominated` with the NodeClaim it has made (scheduling/events.go); how far that is the
claim says itself, and where claims cannot be looked at the event is believed for 15 minutes.
For pods that consume a ProvisioningRequest that object speaks.
cluster-autoscaler says `TriggeredScaleUp` of the pods it scales for (eventing_scale_up_processor.go)
and gives a node 15 minutes to come (`--max-node-provision-time`): after that the word is old.
That none is brought is evidence beside the cause.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from gangboard.domain.event import Event
from gangboard.domain.health import Health, Stage
from gangboard.domain.text import out_of, quote, sentence
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
from gangboard.placement.sentences.finding import said_evidence
from gangboard.plugins.rule import UnitRule

_PROVISIONING = timedelta(minutes=15)
_TRIGGERED = re.compile(r"^pod triggered scale-up: \[?(.*?)\]?$")


def find(unit: Unit) -> Finding | None:
    """Return a finding while nodes are said to come for members that are needed."""
    if not has_scheduler_messages(unit, "Unschedulable") or not lacks_nodes(unit):
        return None
    coming = [one for one in nominations(unit) if one.is_coming]
    if coming:
        return _by_karpenter(unit, _said(unit), coming)
    provided = [one for one in consumed_requests(unit) if one.coming]
    if provided:
        return _by_request(unit, _said(unit), provided)
    told = _scale_ups(unit)
    return _by_cluster_autoscaler(unit, _said(unit), told) if told else None


def _said(unit: Unit) -> tuple[SchedulerMessage, ...]:
    return scheduler_messages(unit, "Unschedulable")


def _by_karpenter(
    unit: Unit, said: tuple[SchedulerMessage, ...], coming: Sequence[Nomination]
) -> Finding:
    """Return the finding; of several claims the one that is least far, for which all wait."""
    last = coming[0]
    claims = f"NodeClaim {last.claim}"
    if len(coming) > 1:
        claims = f"{len(coming)} NodeClaims, the one least far along is {last.claim}"
    # `NodeClaim a is not launched yet`;
    # `2 NodeClaims, the one least far along is a: it is not launched yet`
    then = f": it {last.text}" if len(coming) > 1 else f" {last.text}"
    pods = out_of(sum(one.pods for one in coming), len(unit.unplaced), "pod")
    verb = "tries to bring" if last.progress is NodeClaimProgress.FAILING else "brings"
    return unit_finding(
        RULE,
        unit,
        sentence(f"Karpenter {verb} nodes for {pods}: {claims}{then if last.text else ''}"),
        # Among many claims it is not always one of those that evidence has of each cause.
        evidence=tuple(dict.fromkeys((*said_evidence(unit, said), *last.evidence))),
        recheck_at=min((one.until for one in coming if one.until), default=None),
        since=min((one.event.first_seen for one in coming if one.event.first_seen), default=None),
    )


def _by_request(
    unit: Unit, said: tuple[SchedulerMessage, ...], provided: Sequence[ConsumedRequest]
) -> Finding:
    first = provided[0]
    pods = out_of(sum(one.pods for one in provided), len(unit.unplaced), "pod")
    verb = "tries to bring" if first.trying else "brings"
    what = f"ProvisioningRequest {first.request} {first.text}"
    return unit_finding(
        RULE,
        unit,
        sentence(f"cluster-autoscaler {verb} nodes for {pods}: {what}"),
        evidence=said_evidence(unit, said),
        recheck_at=min((one.until for one in provided if one.until), default=None),
        since=min((one.since for one in provided if one.since), default=None),
    )


def _by_cluster_autoscaler(
    unit: Unit, said: tuple[SchedulerMessage, ...], told: Sequence[Event]
) -> Finding:
    last = max(told, key=lambda event: (_seen(unit, event), event.meta.ref.name))
    pods = out_of(len(told), len(unit.unplaced), "pod")
    triggered = _TRIGGERED.match(last.note)
    what = triggered[1] if triggered is not None else last.note
    return unit_finding(
        RULE,
        unit,
        f"cluster-autoscaler brings nodes for {pods}: {quote(what)}.",
        evidence=(
            Evidence("cluster-autoscaler says", last.note, last.regarding),
            *said_evidence(unit, said),
        ),
        recheck_at=_seen(unit, last) + _PROVISIONING,
        since=min((event.first_seen or _seen(unit, event) for event in told), default=None),
    )


def _scale_ups(unit: Unit) -> tuple[Event, ...]:
    """Return cluster-autoscaler's word for each pod that it scales for; none while it refuses one."""
    waiting = {pod.meta.ref.uid for pod in unit.unplaced}
    newest: dict[str, Event] = {}
    for event in unit.events:
        uid, seen = event.regarding.uid, event.last_seen
        if uid not in waiting or seen is None or unit.now - seen >= _PROVISIONING:
            continue
        if event.reason not in ("TriggeredScaleUp", "NotTriggerScaleUp"):
            continue
        if uid not in newest or seen > _seen(unit, newest[uid]):
            newest[uid] = event
    if any(event.reason == "NotTriggerScaleUp" for event in newest.values()):
        return ()
    return tuple(newest.values())


def _seen(unit: Unit, event: Event) -> datetime:
    return event.last_seen or unit.now


RULE = UnitRule(
    "waiting-for-nodes",
    Stage.PLACEMENT,
    "Waiting for nodes",
    44,
    find,
    health=Health.WAITING,
    of_waiting=True,
)
