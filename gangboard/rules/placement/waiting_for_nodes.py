"""`waiting-for-nodes`: an autoscaler said that it brings nodes for members that wait.

cluster-autoscaler says `TriggeredScaleUp` of the pods it scales for (eventing_scale_up_processor.go),
Karpenter `Nominated` with the NodeClaim it has made (scheduling/events.go); `Nominated` to a node that
is there brings none. Both give a node 15 minutes to come (`--max-node-provision-time`, registration of
a NodeClaim): after that the word is old. That none is brought is evidence beside the cause.
"""

from __future__ import annotations

import re
from datetime import timedelta

from gangboard.domain.event import Event
from gangboard.domain.facts import Unit
from gangboard.domain.health import Health, Stage
from gangboard.domain.reading.findings import unit_finding
from gangboard.domain.reading.progress import lacks_room
from gangboard.domain.reading.scheduler_text import sayings
from gangboard.domain.reading.wording import out_of, shorten
from gangboard.domain.registry import UnitRule
from gangboard.domain.verdict import Evidence, Finding
from gangboard.placement.sentences.finding import said_evidence

_PROVISIONING = timedelta(minutes=15)
_CLAIM = re.compile(r"^Pod should schedule on: nodeclaim/([^\s,]+)(?:, node/([^\s,]+))?")
_TRIGGERED = re.compile(r"^pod triggered scale-up: \[?(.*?)\]?$")


def find(unit: Unit) -> Finding | None:
    """Return a finding while nodes are said to come for members that are needed."""
    said = sayings(unit, "Unschedulable")
    if not said or not lacks_room(unit):
        return None
    newest = _newest(unit)
    told = {uid: event for uid, event in newest.items() if _brings(unit, event)}
    if not told or any(event.reason == "NotTriggerScaleUp" for event in newest.values()):
        return None
    last = max(told.values(), key=lambda event: (event.last_seen or unit.now, event.meta.ref.name))
    since = last.last_seen or unit.now
    who = "Karpenter" if last.reason == "Nominated" else "cluster-autoscaler"
    pods = out_of(len(told), len(unit.unplaced), "waiting pod")
    return unit_finding(
        RULE,
        unit,
        f"{who} brings nodes for {pods}: {shorten(_what(last))}.",
        evidence=(
            Evidence(f"{who} says", last.note, last.regarding),
            *said_evidence(unit, said),
        ),
        recheck_at=since + _PROVISIONING,
        since=min((event.first_seen or since for event in told.values()), default=None),
    )


def _newest(unit: Unit) -> dict[str, Event]:
    """Return the newest word of an autoscaler about each pod that waits, if it is not too old."""
    waiting = {pod.meta.ref.uid for pod in unit.unplaced}
    found: dict[str, Event] = {}
    for event in unit.events:
        uid, seen = event.regarding.uid, event.last_seen
        if uid not in waiting or seen is None or unit.now - seen >= _PROVISIONING:
            continue
        if event.reason not in ("TriggeredScaleUp", "NotTriggerScaleUp", "Nominated"):
            continue
        before = found.get(uid)
        if before is None or before.last_seen is None or seen > before.last_seen:
            found[uid] = event
    return found


def _brings(unit: Unit, event: Event) -> bool:
    if event.reason == "TriggeredScaleUp":
        return True
    claim = _CLAIM.match(event.note)
    if event.reason != "Nominated" or claim is None:
        return False
    return claim[2] is None or claim[2] not in {node.name for node in unit.facts.room.nodes}


def _what(event: Event) -> str:
    claim = _CLAIM.match(event.note)
    if claim is not None:
        return f"NodeClaim {claim[1]}"
    triggered = _TRIGGERED.match(event.note)
    return triggered[1] if triggered is not None else event.note


RULE = UnitRule(
    "waiting-for-nodes", Stage.PLACEMENT, "Waiting for nodes", 44, find, health=Health.WAITING
)
