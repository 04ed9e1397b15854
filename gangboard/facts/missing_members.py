"""Why the members that a unit lacks are not there yet: one sentence beside its own finding."""

from __future__ import annotations

from gangboard.domain.owner import Owner
from gangboard.domain.text import (
    count,
    is_or_are,
    label,
    names,
    plural,
    quote,
    sentence,
    shorten,
)
from gangboard.domain.verdict import Evidence
from gangboard.facts.creation_refusal import newest_creation_refusal, remedy
from gangboard.facts.scheduler_text import (
    best_scheduler_message,
    scheduler_errors,
    scheduler_messages,
)
from gangboard.facts.unit import Unit


def missing_reason(unit: Unit, reason: str = "") -> str:
    """Return what keeps lacking members away, or what they are doing; empty when unknown.

    `reason` is a sentence by arithmetic why members have no node; it goes before the scheduler's.
    """
    return " ".join(filter(None, (_given_up(unit), _others(unit, reason))))


def _given_up(unit: Unit) -> str:
    """Return which indexes failed for good, and what that means for their Job."""
    jobs = _without_indexes(unit)
    if not jobs:
        return ""
    several = sum(job.failed_index_count for job in jobs) > 1
    noun, verb = ("Indexes", "are") if several else ("Index", "is")
    listed = ", ".join(_indexes_of(unit, job) for job in jobs)
    end = (
        ""
        if any(job.has_success_policy for job in jobs)
        else "; "
        + ("the Job fails when the others end" if len(jobs) == 1 else "the Jobs fail in the end")
    )
    return f"{noun} {listed} failed and {verb} not retried{end}."


def _without_indexes(unit: Unit) -> list[Owner]:
    return [job for job in unit.active_jobs if job.failed_index_count] if unit.given_up else []


def _indexes_of(unit: Unit, job: Owner) -> str:
    """Return `3`, and where a gang has several Jobs `3 of Job run-workers-0`."""
    several = len(unit.gang.jobs) > 1
    return f"{job.failed_indexes} of {label(job.meta.ref)}" if several else job.failed_indexes


def _others(unit: Unit, reason: str) -> str:
    """Return the same of the members that can still come."""
    if unit.missing:
        refusal = newest_creation_refusal(unit)
        if refusal is not None:
            return refusal.about("the rest")
    if unit.unplaced:
        return _unplaced(unit, reason)
    if unit.missing:
        return _not_made(unit)
    starting = [pod for pod in unit.placed if not pod.is_ready]
    if not starting:
        return ""
    return f"{count(len(starting), 'pod')} {is_or_are(len(starting))} not ready."


def _not_made(unit: Unit) -> str:
    """Return how many pods are not made; of those whose predecessor is still there, that it is."""
    number = unit.missing
    leaving = min(number, sum(pod.is_live and pod.is_terminating for pod in unit.pods))
    texts = []
    if leaving:
        texts.append(f"{count(leaving, 'pod')} {is_or_are(leaving)} still being deleted.")
    if number > leaving:
        left = number - leaving
        texts.append(f"{count(left, 'pod')} {is_or_are(left)} not made yet.")
    return " ".join(texts)


def _unplaced(unit: Unit, reason: str) -> str:
    gated = [pod for pod in unit.unplaced if pod.gates]
    others = len(unit.unplaced) - len(gated)
    if not gated:
        return _tried(unit, others, reason)
    gates = sorted({gate for pod in gated for gate in pod.gates})
    noun = "scheduling gate" if len(gates) == 1 else "scheduling gates"
    text = f"{_wait(len(gated))} for {noun} {names(gates)}."
    return f"{text} {_tried(unit, others, reason)}" if others else text


def _tried(unit: Unit, waiting: int, reason: str) -> str:
    """Return what the scheduler says of so many members that it can try."""
    said = best_scheduler_message(scheduler_messages(unit, "Unschedulable"))
    if said is not None and reason:
        return reason
    if said is not None:
        # Members of a gang are tried as one; without a quorum each is told of itself.
        tried = waiting - sum(pod.is_innocent and not pod.gates for pod in unit.unplaced)
        refused = tried if unit.quorum is not None else len(unit.refused) or tried
        if not refused:
            return sentence(f"{_wait(waiting)} for the rest of the group: {quote(said.reasons)}")
        what = f"{count(refused, 'pod')} {plural(refused, 'find')} no room"
        text = sentence(f"{what}: {quote(said.reasons)}")
        rest = waiting - refused
        return f"{text} {_wait(rest)} for the scheduler." if rest else text
    failed = best_scheduler_message(scheduler_errors(unit))
    if failed is not None:
        return sentence(f"The scheduler reports an error: {shorten(failed.text)}")
    return f"{_wait(waiting)} for the scheduler."


def _wait(number: int) -> str:
    return f"{count(number, 'pod')} {plural(number, 'wait')}"


def missing_advice(unit: Unit) -> tuple[str, ...]:
    """Return what lets the members come that are refused when they are made; nothing for others."""
    refusal = newest_creation_refusal(unit) if unit.missing else None
    return remedy(unit, refusal) if refusal is not None else ()


def missing_evidence(unit: Unit) -> tuple[Evidence, ...]:
    """Return the texts that the sentence of `missing_reason` is drawn from, as they were said."""
    found = [
        Evidence("status.failedIndexes", job.failed_indexes, job.meta.ref)
        for job in _without_indexes(unit)
    ]
    refusal = newest_creation_refusal(unit) if unit.missing else None
    if refusal is not None:
        found.append(Evidence("refused", refusal.event.note, refusal.event.regarding))
    said = best_scheduler_message(scheduler_messages(unit, "Unschedulable"))
    if said is not None:
        found.append(Evidence("scheduler says", said.raw, said.source))
    return tuple(found)
