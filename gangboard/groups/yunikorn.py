"""Applications of Apache YuniKorn: pods name theirs by a label or an annotation, and there is no object of it.

So nothing is listed, and nothing can be acted on but what owns the pods. Pods that nobody owns are a gang each. Task
groups with their minima are not read: only the body of an annotation has them.

What YuniKorn says stands on the pods, and most of it in events alone (k8shim and core v1.9.0, read and not run):

- that a queue, or the quota of a user, has no room for a pod: an event `Informational`, once, until it has room again
  (ask_events.go). The pod gets no condition;
- that no node has room: `PodScheduled` False, with one text for all causes (scheduler.go). Which nodes refuse it
  stands in an event `Informational`, where that is another cause than too few resources;
- how a gang is reserved: events `GangScheduling` on the pod that came first (application.go). YuniKorn makes placeholder
  pods of a task group's size; members are not tried before all of these have a node.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation

from gangboard.domain.event import Event
from gangboard.domain.facts import Unit
from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Pod
from gangboard.domain.reading.findings import unit_finding
from gangboard.domain.reading.gang_refusal import gang_refusal
from gangboard.domain.reading.scheduler_rules import no_room, waiting_for_quota
from gangboard.domain.reading.wording import count, is_or_are, out_of, sentence
from gangboard.domain.registry import GroupingAPI, GroupingNotes, UnitRule
from gangboard.domain.resource_units import units
from gangboard.domain.verdict import Evidence, Finding
from gangboard.placement.amount_words import amount_of, bare

_TOLD, _OF_GANG = "Informational", "GangScheduling"
_WHO = "YuniKorn"

_AMOUNTS = r"\(requested map\[([^\]]{0,2000})\], available map\[([^\]]{0,2000})\]\)"
_NO_QUOTA = re.compile(
    rf"Request '[^']{{1,253}}' (?:does not fit in queue '([^']{{1,1000}})'"
    rf"|exceeds the available user quota) {_AMOUNTS}"
)
_HAS_QUOTA = re.compile(
    r"Request '[^']{1,253}' (?:has become schedulable in|fits in the available)"
)
_REFUSED = re.compile(r"Unschedulable request '[^']{1,253}': (.*)")
_ONE_TEXT = "request is waiting for cluster resources become available"
_RESERVES = ("creating placeholders", "placeholder has been allocated")
_GAVE_UP = ("resuming as non-gang application", "fall back to normal scheduling")
_APPLICATION = re.compile(r"Application (\S{1,253}) ")
_RESOURCES = {"vcore": "cpu"}
"""What YuniKorn calls otherwise than Kubernetes (siCommon.CPU); it counts that in thousandths."""


# What its events say


def _told(unit: Unit, reason: str) -> Iterator[Event]:
    """Yield what it says of the members, the newest first."""
    members = {pod.meta.ref.uid for pod in unit.pods}
    return (one for one in unit.events if one.reason == reason and one.regarding.uid in members)


def _without_quota(unit: Unit) -> dict[str, tuple[Event, re.Match[str]]]:
    """Return the members that wait for quota: uid → what was said last of that."""
    waiting = {pod.meta.ref.uid for pod in unit.unplaced if pod.is_untried}
    found: dict[str, tuple[Event, re.Match[str]] | None] = {}
    for event in _told(unit, _TOLD):
        uid, lacks = event.regarding.uid, _NO_QUOTA.match(event.note)
        if uid in waiting and uid not in found:
            if lacks is not None:
                found[uid] = event, lacks
            elif _HAS_QUOTA.match(event.note):
                found[uid] = None
    return {uid: said for uid, said in found.items() if said is not None}


def _quota_text(number: int, said: re.Match[str]) -> str:
    """Return whose quota has no room, and of what: the first resource of which too little is left."""
    queue, asked, left = said[1], _amounts(said[2]), _amounts(said[3])
    whose = f"Queue {queue}" if queue else "The quota of its user"
    text = f"{whose} has no room for {count(number, 'pod')}"
    for resource, amount in sorted(asked.items()):
        if resource in left and amount > left[resource]:
            much = amount_of(resource, units(resource, amount))
            rest = bare(resource, units(resource, max(Decimal(0), left[resource])))
            return f"{text}: {'it asks' if number == 1 else 'each asks'} for {much}, and {rest} is left."
    return f"{text}."


def _amounts(text: str) -> Mapping[str, Decimal]:
    """Return a Resource as it is printed (`memory:1024 vcore:500`), in the units and words of Kubernetes."""
    found = {}
    for part in text.split():
        name, _, amount = part.rpartition(":")
        try:
            size = Decimal(amount)
        except InvalidOperation:
            continue
        resource = _RESOURCES.get(name, name)
        found[resource] = size / 1000 if resource == "cpu" else size
    return found


def _gang_event(unit: Unit, *texts: str) -> tuple[Event, str] | None:
    """Return the newest event about the reservation and the application, where it has one of these texts."""
    event = next(_told(unit, _OF_GANG), None)
    if event is None or not any(text in event.note for text in texts):
        return None
    named = _APPLICATION.match(event.note)
    return event, named[1] if named is not None else ""


def _says(event: Event) -> Evidence:
    return Evidence(f"{_WHO} says", event.note, event.regarding)


# Reasons


def _find_waiting_for_quota(unit: Unit) -> Finding | None:
    said = _without_quota(unit) if not unit.placed else {}
    if not said:
        return None
    event, lacks = next(iter(said.values()))
    return unit_finding(
        WAITING_FOR_QUOTA,
        unit,
        _quota_text(len(said), lacks),
        evidence=(_says(event),),
        since=event.first_seen,
    )


def _find_given_up(unit: Unit) -> Finding | None:
    """Return a finding where it places one by one what it could not reserve together."""
    found = _gang_event(unit, *_GAVE_UP)
    if found is None or not unit.placed or not unit.unplaced:
        return None
    event, application = found
    return unit_finding(
        GIVEN_UP,
        unit,
        f"{_WHO} gave up the gang of application {application} and places its pods one by one: "
        f"{out_of(len(unit.placed), unit.wanted, 'pod')} {is_or_are(len(unit.placed))} placed.",
        evidence=(_says(event),),
        since=event.first_seen,
    )


def _find_partly_placed(unit: Unit) -> Finding | None:
    """Return a finding where some hold a node, and others wait for quota: their pods have no condition."""
    said = _without_quota(unit) if unit.placed else {}
    if not said:
        return None
    event, lacks = next(iter(said.values()))
    placed = len(unit.placed)
    why = _quota_text(len(said), lacks)
    hold = "holds" if placed == 1 else "hold"
    return unit_finding(
        PARTLY_PLACED,
        unit,
        f"{out_of(placed, unit.wanted, 'pod')} {hold} a node. {why}",
        evidence=(_says(event),),
        since=event.first_seen,
    )


def _find_reserved(unit: Unit) -> Finding | None:
    """Return a finding while placeholders hold the place of members that nobody has tried."""
    found = _gang_event(unit, *_RESERVES)
    untried = [pod for pod in unit.unplaced if pod.is_untried]
    if found is None or unit.placed or not untried:
        return None
    event, application = found
    return unit_finding(
        RESERVED,
        unit,
        f"{_WHO} holds {count(len(untried), 'pod')} back until the placeholders of application "
        f"{application} all have a node.",
        evidence=(_says(event),),
        since=event.first_seen,
    )


def _find_no_room(unit: Unit) -> Finding | None:
    refused = unit.refused
    return gang_refusal(NO_ROOM, unit, _WHO, _cause(unit, refused)) if refused else None


def _cause(unit: Unit, refused: tuple[Pod, ...]) -> str:
    """Return why nodes refuse its pods, empty where it says only that it waits for room."""
    waiting = {pod.meta.ref.uid for pod in refused}
    for event in _told(unit, _TOLD):
        found = _REFUSED.match(event.note) if event.regarding.uid in waiting else None
        if found is not None:
            return found[1].rstrip("; ")
    texts = (pod.scheduled.message for pod in refused if pod.scheduled is not None)
    return next((sentence(text).rstrip(".") for text in texts if text != _ONE_TEXT), "")


WAITING_FOR_QUOTA = waiting_for_quota(_find_waiting_for_quota)
GIVEN_UP = UnitRule(
    "not-ganged",
    Stage.FORMATION,
    "Not scheduled as a gang",
    89,
    _find_given_up,
    health=Health.DEGRADED,
)
PARTLY_PLACED = UnitRule(
    "partly-placed",
    Stage.PLACEMENT,
    "Partly placed",
    49,
    _find_partly_placed,
    health=Health.DEGRADED,
)
RESERVED = no_room(_find_reserved, order=79)
NO_ROOM = no_room(_find_no_room)

GROUPING = GroupingAPI(
    label=_WHO,
    group="yunikorn.apache.org",
    resources=(),
    labels={
        "yunikorn.apache.org/app-id": "Application",
        "applicationId": "Application",
    },
    annotations={"yunikorn.apache.org/app-id": "Application"},
    # The second one is what older releases wrote; v1.8 still reads it (constants.go).
    placeholders=("internal.yunikorn.apache.org/placeholder", "yunikorn.apache.org/placeholder"),
    schedulers=("yunikorn",),
    rules=(WAITING_FOR_QUOTA, GIVEN_UP, PARTLY_PLACED, RESERVED, NO_ROOM),
    event_reasons=frozenset({_TOLD, _OF_GANG}),
    notes=GroupingNotes(
        members=(
            "the label or annotation `yunikorn.apache.org/app-id` (older: the label `applicationId`); read by "
            "`yunikorn` only"
        ),
        limits=(
            "it has no object: minima of task groups are not read, pods that nobody owns are a gang each, "
            "placeholders are in none. That a queue has no room stands in an event alone"
        ),
        tested="its labels and texts as read in k8shim and core 1.9, pods placed by the scheduler of 1.37",
    ),
)
