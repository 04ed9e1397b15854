"""Reasons of YuniKorn for unplaced members, from events and conditions of pods."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation

from gangboard.domain.event import Event
from gangboard.domain.health import Health, Stage
from gangboard.domain.pod import Pod
from gangboard.domain.resources import scheduler_units
from gangboard.domain.text import count, is_or_are, out_of, sentence
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import unit_finding
from gangboard.facts.scheduler_rules import gang_refusal, no_room, waiting_for_quota
from gangboard.facts.scheduler_text import quote_refusal
from gangboard.facts.unit import Unit
from gangboard.placement.amounts import format_amount, format_quantity
from gangboard.plugins.rule import UnitRule

POD_EVENT, GANG_EVENT = "Informational", "GangScheduling"
"""Reasons of YuniKorn's events."""
SCHEDULER = "YuniKorn"
AMOUNTS = r"map\[([^\]]{0,2000})\]"
"""Pattern of amounts in messages, `map[memory:1024 vcore:500]`. Its group is the text inside the brackets."""
_RESOURCES = {"vcore": "cpu"}
"""YuniKorn's name of a resource → Kubernetes' name. YuniKorn counts CPUs in thousandths (siCommon.CPU)."""

_NO_QUOTA = re.compile(
    r"Request '[^']{1,253}' (?:does not fit in queue '([^']{1,1000})'"
    rf"|exceeds the available user quota) \(requested {AMOUNTS}, available {AMOUNTS}\)"
)
_HAS_QUOTA = re.compile(
    r"Request '[^']{1,253}' (?:has become schedulable in|fits in the available)"
)
_REFUSED = re.compile(r"Unschedulable request '[^']{1,253}': (.*)", re.DOTALL)
_PLUGIN_PREFIX = re.compile(r"failed plugin: '[^']{0,100}'\s*")
"""Prefix of a cause from a plugin of kube-scheduler."""
_GENERIC_MESSAGE = "request is waiting for cluster resources become available"
_RESERVATION_TEXTS = ("creating placeholders", "placeholder has been allocated")
_GIVEN_UP_TEXTS = ("resuming as non-gang application", "fall back to normal scheduling")
_PROGRESS_TEXTS = (*_RESERVATION_TEXTS, *_GIVEN_UP_TEXTS, "all placeholders are allocated")
"""Texts of YuniKorn's events about the progress of the reservation."""
_APPLICATION = re.compile(r"Application (\S{1,253}) ")


# Events


def _events_of_members(unit: Unit, reason: str) -> Iterator[Event]:
    """Yield YuniKorn's events with this reason about members, the newest first."""
    members = {pod.meta.ref.uid for pod in unit.pods}
    return (
        event for event in unit.events if event.reason == reason and event.regarding.uid in members
    )


def _quota_refusals(unit: Unit) -> dict[str, tuple[Event, re.Match[str]]]:
    """Return uid → newest event about quota, for the members that wait for quota."""
    waiting = {pod.meta.ref.uid for pod in unit.unplaced if pod.is_untried}
    newest: dict[str, tuple[Event, re.Match[str]] | None] = {}
    for event in _events_of_members(unit, POD_EVENT):
        uid, match = event.regarding.uid, _NO_QUOTA.match(event.note)
        if uid in waiting and uid not in newest:
            if match is not None:
                newest[uid] = event, match
            elif _HAS_QUOTA.match(event.note):
                newest[uid] = None
    return {uid: refusal for uid, refusal in newest.items() if refusal is not None}


def _quota_text(number: int, refusal: re.Match[str]) -> str:
    """Return the sentence about the exceeded quota, with the first resource that is short."""
    quota_owner = f"Queue {refusal[1]}" if refusal[1] else "The quota of its user"
    text = f"{quota_owner} has too little quota for {count(number, 'pod')}"
    lack = first_shortage(refusal[2], refusal[3])
    if lack is None:
        return f"{text}."
    subject = "it requests" if number == 1 else "each requests"
    return f"{text}: {subject} {lack[0]}, and {lack[1]} is left."


def _gang_event(unit: Unit, *texts: str) -> tuple[Event, str] | None:
    """Return the newest event about the reservation, with the application. None: it has none of these texts.

    Other events with this reason name the task group of a pod. They can also follow after YuniKorn gave up the gang.
    """
    for event in _events_of_members(unit, GANG_EVENT):
        if any(text in event.note for text in _PROGRESS_TEXTS):
            if not any(text in event.note for text in texts):
                return None
            application = _APPLICATION.match(event.note)
            return event, application[1] if application is not None else ""
    return None


def _event_evidence(event: Event) -> Evidence:
    return Evidence(f"{SCHEDULER} says", event.note, event.regarding)


# Amounts


def first_shortage(requested: str, available: str) -> tuple[str, str] | None:
    """Return the requested and the remaining amount of the first resource that is short: `4 CPUs`, `2.5`."""
    return next(_shortages(_amounts(requested), _amounts(available)), None)


def _shortages(
    requested: Mapping[str, Decimal], available: Mapping[str, Decimal]
) -> Iterator[tuple[str, str]]:
    for resource, amount in sorted(requested.items()):
        if resource in available and amount > available[resource]:
            remaining = max(Decimal(0), available[resource])
            yield (
                format_amount(resource, scheduler_units(resource, amount)),
                format_quantity(resource, scheduler_units(resource, remaining)),
            )


def _amounts(text: str) -> Mapping[str, Decimal]:
    """Return a printed Resource (`memory:1024 vcore:500`) with the units and names of Kubernetes."""
    amounts = {}
    for entry in text.split():
        name, _, amount = entry.rpartition(":")
        try:
            size = Decimal(amount)
        except InvalidOperation:
            continue
        resource = _RESOURCES.get(name, name)
        amounts[resource] = size / 1000 if resource == "cpu" else size
    return amounts


# Reasons


def _find_waiting_for_quota(unit: Unit) -> Finding | None:
    refusals = _quota_refusals(unit) if not unit.placed else {}
    if not refusals:
        return None
    event, match = next(iter(refusals.values()))
    return unit_finding(
        WAITING_FOR_QUOTA,
        unit,
        _quota_text(len(refusals), match),
        evidence=(_event_evidence(event),),
        since=event.first_seen,
    )


def _find_given_up(unit: Unit) -> Finding | None:
    """Return a finding if YuniKorn gave up the reservation and places pod by pod."""
    newest = _gang_event(unit, *_GIVEN_UP_TEXTS)
    if newest is None or not unit.placed or not unit.unplaced:
        return None
    event, application = newest
    return unit_finding(
        GIVEN_UP,
        unit,
        f"{SCHEDULER} gave up gang scheduling of application {application} and places pods one by one: "
        f"{out_of(len(unit.placed), unit.wanted, 'pod')} {is_or_are(len(unit.placed))} placed.",
        evidence=(_event_evidence(event),),
        since=event.first_seen,
    )


def _find_partly_placed(unit: Unit) -> Finding | None:
    """Return a finding if some members hold a node and others wait for quota without a condition."""
    refusals = _quota_refusals(unit) if unit.placed else {}
    if not refusals:
        return None
    event, match = next(iter(refusals.values()))
    placed = len(unit.placed)
    quota = _quota_text(len(refusals), match)
    return unit_finding(
        PARTLY_PLACED,
        unit,
        f"{out_of(placed, unit.wanted, 'pod')} {is_or_are(placed)} placed. {quota}",
        evidence=(_event_evidence(event),),
        since=event.first_seen,
    )


def _find_reserved(unit: Unit) -> Finding | None:
    """Return a finding while placeholders reserve nodes for members that the scheduler has not tried."""
    newest = _gang_event(unit, *_RESERVATION_TEXTS)
    untried = [pod for pod in unit.unplaced if pod.is_untried]
    if newest is None or unit.placed or not untried:
        return None
    event, application = newest
    held = [pod for pod in unit.gang.placeholders if unit.gang.failed_scheduling(pod)]
    cause = _refusal(unit, held)
    no_node = f", and {count(len(held), 'placeholder')} cannot be placed" if held else ""
    return unit_finding(
        RESERVED,
        unit,
        sentence(
            f"{SCHEDULER} holds {count(len(untried), 'pod')} back until the placeholders of application "
            f"{application} are placed{no_node}{f': {quote_refusal(cause)}' if cause else ''}"
        ),
        evidence=(_event_evidence(event), *_placeholder_evidence(held)),
        since=event.first_seen,
    )


def _find_no_room(unit: Unit) -> Finding | None:
    refused = unit.refused
    return gang_refusal(NO_ROOM, unit, SCHEDULER, _cause(unit, refused)) if refused else None


def _cause(unit: Unit, refused: tuple[Pod, ...]) -> str:
    """Return why nodes refuse the pods. Empty: YuniKorn only says that they wait."""
    if refusal := _refusal(unit, refused):
        return refusal
    texts = (pod.scheduled.message for pod in refused if pod.scheduled is not None)
    return next((sentence(text).rstrip(".") for text in texts if text != _GENERIC_MESSAGE), "")


def _refusal(unit: Unit, refused: Sequence[Pod]) -> str:
    """Return why these pods have no node, from the newest event. Empty: no event has a cause."""
    waiting = {pod.meta.ref.uid for pod in refused}
    events = (
        item for item in unit.events if item.reason == POD_EVENT and item.regarding.uid in waiting
    )
    for event in events:
        if match := _REFUSED.match(event.note):
            return _PLUGIN_PREFIX.sub("", match[1]).strip().rstrip("; ")
        # For a queue without a limit this is the free capacity of the whole cluster.
        if match := _NO_QUOTA.match(event.note):
            lack = first_shortage(match[2], match[3])
            quota_owner = f"for queue {match[1]}" if match[1] else "for its user"
            return f"{lack[0]} requested, and {lack[1]} was left {quota_owner}" if lack else ""
    return ""


def _placeholder_evidence(held: Sequence[Pod]) -> Iterator[Evidence]:
    """Yield the requests and the condition of the first placeholder."""
    for pod in held[:1]:
        requests = ", ".join(
            format_amount(name, scheduler_units(name, size), with_resource_name=True)
            for name, size in sorted(pod.requests.items())
        )
        yield Evidence("requests of a placeholder", requests or "none", pod.meta.ref)
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
