"""`deactivated`: the owner or a child Job is suspended because its entry in a queue is inactive.

A person deactivates an entry to stop the owner for good. The admission system does so when it gives up (too many
requeues, time limit, a rejected check). Its conditions then are as for any that waits (Kueue v0.19.2), so the field
decides, not a condition.

The sentence says who deactivated the entry, when and why. A person did it on purpose, so it has no next step then.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from gangboard.domain.advice import AdvisedStep
from gangboard.domain.health import Health, Stage
from gangboard.domain.objects import Condition, find_condition
from gangboard.domain.queue import QueueEntry
from gangboard.domain.queue_status import QueueStanding
from gangboard.domain.text import names, remaining_pods_text, sentence
from gangboard.domain.traits import NO_QUEUE_TRAITS, QueueTraits
from gangboard.domain.verdict import Evidence, Finding
from gangboard.facts.findings import gang_finding, unit_finding
from gangboard.facts.gang import Gang
from gangboard.facts.queue_sentences import jobs_suspended_by_queue
from gangboard.facts.suspensions import authors_text, deactivation_of
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import GangRule, UnitRule

_CODE, _TITLE = "deactivated", "Deactivated"


def find(gang: Gang) -> Finding | None:
    """Return a finding when every entry that the suspended owner has in a queue is inactive."""
    owner, state = gang.owner, gang.queue
    if not owner.suspended or owner.finish is not None:
        return None
    if state.standing is not QueueStanding.DEACTIVATED:
        return None
    left = sentence(remaining_pods_text(gang.pods))
    return gang_finding(
        RULE,
        Health.SUSPENDED,
        " ".join(filter(None, (*_sentences(gang, state.entries, state.queue, "it"), left))),
        advice=_advice(gang, state.entries),
        evidence=_evidence(gang, state.entries),
        since=_since(gang, state.entries),
    )


def find_in_unit(unit: Unit) -> Finding | None:
    """Return a finding when Jobs of the unit have inactive entries of their own in a queue."""
    queue_statuses = unit.gang.queue_statuses
    found = [
        (job, queue_statuses[job.meta.ref.uid])
        for job in jobs_suspended_by_queue(unit.gang, unit.jobs)
        if queue_statuses[job.meta.ref.uid].standing is QueueStanding.DEACTIVATED
    ]
    if not found:
        return None
    entries = tuple(entry for _, state in found for entry in state.entries)
    queue = next((state.queue for _, state in found if state.queue), "")
    jobs = names(job.meta.ref.name for job, _ in found)
    what = f"Job{'' if len(found) == 1 else 's'} {jobs}"
    return unit_finding(
        _OF_UNIT,
        unit,
        " ".join(filter(None, _sentences(unit.gang, entries, queue, what))),
        advice=_advice(unit.gang, entries),
        evidence=_evidence(unit.gang, entries),
        since=_since(unit.gang, entries),
    )


def _sentences(gang: Gang, entries: Sequence[QueueEntry], queue: str, what: str) -> tuple[str, ...]:
    by = _cause(gang, entries)
    if by:
        return (by,)
    authors = authors_text(deactivation_of(gang, entry) for entry in entries)
    be = "is" if len(entries) == 1 else "are"
    where = f"so queue {queue} does not admit {what}" if queue else f"so no queue admits {what}"
    state = f"{_named(entries)} {be} deactivated, {where}."
    return (sentence(f"Deactivated {authors}"), state) if authors else (state,)


def _named(entries: Sequence[QueueEntry]) -> str:
    listed = names(entry.meta.ref.name for entry in entries)
    return f"{entries[0].meta.ref.kind}{'' if len(entries) == 1 else 's'} {listed}"


def _advice(gang: Gang, entries: Sequence[QueueEntry]) -> tuple[AdvisedStep | str, ...]:
    """Return the step that queues each entry again, without entries that a person deactivated.

    Activating an entry that was given up has no effect.
    """
    given_up = [entry.given_up for entry in entries if entry.given_up is not None]
    stopped = [entry for entry in entries if entry.given_up is None and not _is_meant(gang, entry)]
    it = "it" if len(stopped) == 1 else "them"
    steps = tuple(dict.fromkeys(AdvisedStep(one.advice, command=one.command) for one in given_up))
    if not stopped:
        return steps
    field = _traits(gang, stopped[0]).active_field
    return (*steps, f"Set {field} of {_named(stopped)} to true to queue {it} again.")


def _traits(gang: Gang, entry: QueueEntry) -> QueueTraits:
    return gang.admission.get(entry.meta.ref.group, NO_QUEUE_TRAITS)


def _is_meant(gang: Gang, entry: QueueEntry) -> bool:
    author = deactivation_of(gang, entry)
    return author is not None and author.by_person


def _evidence(gang: Gang, entries: Sequence[QueueEntry]) -> tuple[Evidence, ...]:
    return (
        *(
            Evidence(_traits(gang, entry).active_field, "false", entry.meta.ref)
            for entry in entries
        ),
        *(
            Evidence(f"{eviction.type}: {eviction.reason}", eviction.message)
            for eviction in _evictions(gang, entries)
            if eviction.message
        ),
    )


def _since(gang: Gang, entries: Sequence[QueueEntry]) -> datetime | None:
    times = [eviction.since for eviction in _evictions(gang, entries) if eviction.since is not None]
    return max(times, default=None)


def _evictions(gang: Gang, entries: Sequence[QueueEntry]) -> list[Condition]:
    return [eviction for entry in entries if (eviction := _eviction(gang, entry)) is not None]


def _eviction(gang: Gang, entry: QueueEntry) -> Condition | None:
    """Return the condition by which the admission system says that it deactivated the entry, if it does."""
    traits = _traits(gang, entry)
    evicted = find_condition(entry.conditions, traits.eviction)
    if evicted is None or not evicted.is_true or not evicted.reason.startswith(traits.deactivation):
        return None
    return evicted


def _cause(gang: Gang, entries: Sequence[QueueEntry]) -> str:
    """Return the sentence in the system's own words when it was the system that gave up."""
    for entry in entries:
        if entry.given_up is not None:
            system = gang.admission.get(entry.meta.ref.group, QueueTraits(label="The queue"))
            return f"{system.label} deactivated {_named(entries)}: {entry.given_up.cause}."
    return ""


_OF_UNIT = UnitRule(_CODE, Stage.ADMISSION, _TITLE, 26, find_in_unit, health=Health.SUSPENDED)
RULE = GangRule(_CODE, Stage.ADMISSION, _TITLE, 35, find, _OF_UNIT)
