"""Why the members that a unit lacks are not there yet: one sentence beside its own finding."""

from __future__ import annotations

from gangboard.domain.facts import Unit
from gangboard.domain.reading.progress import missing
from gangboard.domain.reading.refusal import newest_refusal, remedy
from gangboard.domain.reading.scheduler_text import best_saying, sayings
from gangboard.domain.reading.wording import count, is_or_are, names, plural, sentence, shorten
from gangboard.domain.verdict import Evidence


def hindrance(unit: Unit, reason: str = "") -> str:
    """Return what keeps lacking members away, or what they are doing; empty when unknown.

    `reason` is a sentence by arithmetic why members have no node; it goes before the scheduler's.
    """
    if missing(unit):
        refusal = newest_refusal(unit)
        if refusal is not None:
            return refusal.about("the rest")
    if unit.unplaced:
        return _unplaced(unit, reason)
    if missing(unit):
        number = missing(unit)
        return f"{count(number, 'pod')} {is_or_are(number)} not made yet."
    starting = [pod for pod in unit.placed if not pod.is_ready]
    if not starting:
        return ""
    return f"{count(len(starting), 'pod')} {is_or_are(len(starting))} not ready."


def _unplaced(unit: Unit, reason: str) -> str:
    waiting = count(len(unit.unplaced), "pod")
    gates = sorted({gate for pod in unit.unplaced for gate in pod.gates})
    if gates:
        return f"{waiting} {plural(len(unit.unplaced), 'wait')} for scheduling gate {names(gates)}."
    said = best_saying(sayings(unit, "Unschedulable"))
    if said is not None and reason:
        return reason
    if said is not None:
        return sentence(f"The scheduler finds no room for {waiting}: {shorten(said.text)}")
    failed = best_saying(sayings(unit, "SchedulerError"))
    if failed is not None:
        return sentence(f"The scheduler reports an error: {shorten(failed.text)}")
    return f"{waiting} {plural(len(unit.unplaced), 'wait')} for the scheduler."


def hindrance_advice(unit: Unit) -> tuple[str, ...]:
    """Return what lets the members come that are refused when they are made; nothing for others."""
    refusal = newest_refusal(unit) if missing(unit) else None
    return remedy(unit, refusal) if refusal is not None else ()


def hindrance_evidence(unit: Unit) -> tuple[Evidence, ...]:
    """Return the texts that the sentence of `hindrance` is drawn from, as they were said."""
    found = []
    refusal = newest_refusal(unit) if missing(unit) else None
    if refusal is not None:
        found.append(Evidence("refused", refusal.event.note, refusal.event.regarding))
    said = best_saying(sayings(unit, "Unschedulable"))
    if said is not None:
        found.append(Evidence("scheduler says", said.raw, said.source))
    return tuple(found)
