"""Why YuniKorn has not placed members of a gang, by its events and the conditions of pods."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gangboard.domain.event import Event
from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Pod
from gangboard.domain.resource_units import units
from gangboard.domain.text import count, is_or_are, out_of, quote, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.gang_refusal import gang_refusal
from gangboard.facts.scheduler_rules import no_room, waiting_for_quota
from gangboard.facts.unit import Unit
from gangboard.groups.yunikorn.resource_maps import AMOUNTS, too_little
from gangboard.placement.amount_words import amount_of
from gangboard.plugins.rule import UnitRule

TOLD, OF_GANG = "Informational", "GangScheduling"
"""Reasons of its events."""
WHO = "YuniKorn"

_NO_QUOTA = re.compile(
    r"Request '[^']{1,253}' (?:does not fit in queue '([^']{1,1000})'"
    rf"|exceeds the available user quota) \(requested {AMOUNTS}, available {AMOUNTS}\)"
)
_HAS_QUOTA = re.compile(
    r"Request '[^']{1,253}' (?:has become schedulable in|fits in the available)"
)
_REFUSED = re.compile(r"Unschedulable request '[^']{1,253}': (.*)", re.DOTALL)
_PLUGIN = re.compile(r"failed plugin: '[^']{0,100}'\s*")
"""What goes before the cause that a plugin of Kubernetes' scheduler tells."""
_ONE_TEXT = "request is waiting for cluster resources become available"
_RESERVES = ("creating placeholders", "placeholder has been allocated")
_GAVE_UP = ("resuming as non-gang application", "fall back to normal scheduling")
_STEPS = (*_RESERVES, *_GAVE_UP, "all placeholders are allocated")
"""All that its events say of how far the reservation is."""
_APPLICATION = re.compile(r"Application (\S{1,253}) ")


# What its events say


def _told(unit: Unit, reason: str) -> Iterator[Event]:
    """Yield what it says of the members, the newest first."""
    members = {pod.meta.ref.uid for pod in unit.pods}
    return (one for one in unit.events if one.reason == reason and one.regarding.uid in members)


def _without_quota(unit: Unit) -> dict[str, tuple[Event, re.Match[str]]]:
    """Return the members that wait for quota: uid → what was said last of that."""
    waiting = {pod.meta.ref.uid for pod in unit.unplaced if pod.is_untried}
    found: dict[str, tuple[Event, re.Match[str]] | None] = {}
    for event in _told(unit, TOLD):
        uid, lacks = event.regarding.uid, _NO_QUOTA.match(event.note)
        if uid in waiting and uid not in found:
            if lacks is not None:
                found[uid] = event, lacks
            elif _HAS_QUOTA.match(event.note):
                found[uid] = None
    return {uid: said for uid, said in found.items() if said is not None}


def _quota_text(number: int, said: re.Match[str]) -> str:
    """Return whose quota has no room, and of what: the first resource of which too little is left."""
    whose = f"Queue {said[1]}" if said[1] else "The quota of its user"
    text = f"{whose} has no room for {count(number, 'pod')}"
    lack = too_little(said[2], said[3])
    if lack is None:
        return f"{text}."
    asks = "it asks" if number == 1 else "each asks"
    return f"{text}: {asks} for {lack[0]}, and {lack[1]} is left."


def _gang_event(unit: Unit, *texts: str) -> tuple[Event, str] | None:
    """Return the newest event about the reservation, and the application, where it has one of these texts.

    Others of the same reason say which task group a pod belongs to, and follow when the gang was given up.
    """
    for event in _told(unit, OF_GANG):
        if any(text in event.note for text in _STEPS):
            if not any(text in event.note for text in texts):
                return None
            named = _APPLICATION.match(event.note)
            return event, named[1] if named is not None else ""
    return None


def _says(event: Event) -> Evidence:
    return Evidence(f"{WHO} says", event.note, event.regarding)


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
        f"{WHO} gave up the gang of application {application} and runs it pod by pod: "
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
    held = [pod for pod in unit.gang.placeholders if unit.gang.failed_scheduling(pod)]
    why = _refusal(unit, held)
    end = f", and finds no node for {count(len(held), 'placeholder')}" if held else ""
    return unit_finding(
        RESERVED,
        unit,
        sentence(
            f"{WHO} holds {count(len(untried), 'pod')} back until the placeholders of application "
            f"{application} all have a node{end}{f': {quote(why)}' if why else ''}"
        ),
        evidence=(_says(event), *_asked_by(held)),
        since=event.first_seen,
    )


def _find_no_room(unit: Unit) -> Finding | None:
    refused = unit.refused
    return gang_refusal(NO_ROOM, unit, WHO, _cause(unit, refused)) if refused else None


def _cause(unit: Unit, refused: tuple[Pod, ...]) -> str:
    """Return why nodes refuse its pods, empty where it says only that it waits for room."""
    if said := _refusal(unit, refused):
        return said
    texts = (pod.scheduled.message for pod in refused if pod.scheduled is not None)
    return next((sentence(text).rstrip(".") for text in texts if text != _ONE_TEXT), "")


def _refusal(unit: Unit, refused: Sequence[Pod]) -> str:
    """Return what its newest event says of why these pods, tried in vain, have no node; empty for nothing."""
    waiting = {pod.meta.ref.uid for pod in refused}
    told = (one for one in unit.events if one.reason == TOLD and one.regarding.uid in waiting)
    for event in told:
        if found := _REFUSED.match(event.note):
            return _PLUGIN.sub("", found[1]).strip().rstrip("; ")
        # Of a queue without a limit this says how much room the whole cluster has left.
        if found := _NO_QUOTA.match(event.note):
            lack = too_little(found[2], found[3])
            whose = f"for queue {found[1]}" if found[1] else "for its user"
            return f"{lack[0]} asked for, and {lack[1]} was left {whose}" if lack else ""
    return ""


def _asked_by(held: Sequence[Pod]) -> Iterator[Evidence]:
    """Yield what the first of these placeholders says of itself."""
    for pod in held[:1]:
        asked = ", ".join(
            amount_of(name, units(name, size), named=True)
            for name, size in sorted(pod.requests.items())
        )
        yield Evidence("requests of a placeholder", asked or "none", pod.meta.ref)
        if pod.scheduled is not None:
            yield Evidence("scheduler says", pod.scheduled.message, pod.meta.ref)


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
RULES = WAITING_FOR_QUOTA, GIVEN_UP, PARTLY_PLACED, RESERVED, NO_ROOM
