"""`deactivated`: the owner or a child Job is suspended because its queue entry is inactive.

A person deactivates an entry to stop the owner for good. The admission system does so when it gives up (too
many requeues, time limit, a rejected check). The conditions of such an entry are those of any waiting one
(Kueue v0.19.2), so the rule reads the field.

The sentence says who deactivated the entry, when and why. A deactivation by a person has no next step.
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
from gangboard.facts.copied_commands import merge_patch
from gangboard.facts.findings import gang_finding, unit_finding
from gangboard.facts.gang import Gang
from gangboard.facts.queue_sentences import jobs_suspended_by_queue
from gangboard.facts.suspensions import authors_text, deactivation_of
from gangboard.facts.unit import Unit
from gangboard.plugins.rule import GangRule, UnitRule

_CODE, _TITLE = "deactivated", "Deactivated"


def find(gang: Gang) -> Finding | None:
    """Return a finding if all queue entries of a suspended owner are inactive."""
    owner, status = gang.owner, gang.queue
    if not owner.suspended or owner.finish is not None:
        return None
    if status.standing is not QueueStanding.DEACTIVATED:
        return None
    terminating = sentence(remaining_pods_text(gang.pods))
    return gang_finding(
        RULE,
        Health.SUSPENDED,
        " ".join(
            filter(None, (*_sentences(gang, status.entries, status.queue, "it"), terminating))
        ),
        advice=_advice(gang, status.entries),
        evidence=_evidence(gang, status.entries),
        since=_since(gang, status.entries),
    )


def find_in_unit(unit: Unit) -> Finding | None:
    """Return a finding if Jobs of the unit have inactive queue entries of their own.

    The rule is silent while the unit lacks another member, because that is more important.
    """
    if not unit.is_full or unit.missing:
        return None
    queue_statuses = unit.gang.queue_statuses
    deactivated = [
        (job, queue_statuses[job.meta.ref.uid])
        for job in jobs_suspended_by_queue(unit.gang, unit.jobs)
        if queue_statuses[job.meta.ref.uid].standing is QueueStanding.DEACTIVATED
    ]
    if not deactivated:
        return None
    entries = tuple(entry for _, status in deactivated for entry in status.entries)
    queue = next((status.queue for _, status in deactivated if status.queue), "")
    jobs = names(job.meta.ref.name for job, _ in deactivated)
    subject = f"Job{'' if len(deactivated) == 1 else 's'} {jobs}"
    return unit_finding(
        _UNIT_RULE,
        unit,
        " ".join(filter(None, _sentences(unit.gang, entries, queue, subject))),
        advice=_advice(unit.gang, entries),
        evidence=_evidence(unit.gang, entries),
        since=_since(unit.gang, entries),
    )


def _sentences(
    gang: Gang, entries: Sequence[QueueEntry], queue: str, subject: str
) -> tuple[str, ...]:
    cause = _cause(gang, entries)
    if cause:
        return (cause,)
    authors = authors_text(deactivation_of(gang, entry) for entry in entries)
    verb = "is" if len(entries) == 1 else "are"
    consequence = (
        f"so queue {queue} does not admit {subject}" if queue else f"so no queue admits {subject}"
    )
    state = f"{_entry_names(entries)} {verb} deactivated, {consequence}."
    return (sentence(f"Deactivated {authors}"), state) if authors else (state,)


def _entry_names(entries: Sequence[QueueEntry]) -> str:
    listed = names(entry.meta.ref.name for entry in entries)
    return f"{entries[0].meta.ref.kind}{'' if len(entries) == 1 else 's'} {listed}"


def _advice(gang: Gang, entries: Sequence[QueueEntry]) -> tuple[AdvisedStep, ...]:
    """Return the steps that queue the entries again, without those that a person deactivated.

    Activating an entry that the system gave up has no effect, so its own advice is used.
    """
    given_up = [entry.given_up for entry in entries if entry.given_up is not None]
    inactive = [
        entry for entry in entries if entry.given_up is None and not _is_by_person(gang, entry)
    ]
    it = "it" if len(inactive) == 1 else "them"
    steps = tuple(
        dict.fromkeys(AdvisedStep(cause.advice, command=cause.command) for cause in given_up)
    )
    if not inactive:
        return steps
    traits = _traits(gang, inactive[0])
    ref = inactive[0].meta.ref
    resource = dict(traits.resources).get(ref.kind, "")
    patch = merge_patch(resource, ref, {traits.active_field: True})
    step = AdvisedStep(
        f"Set {traits.active_field} of {_entry_names(inactive)} to true to queue {it} again.",
        command=patch if len(inactive) == 1 else (),  # a command changes one object
    )
    return (*steps, step)


def _traits(gang: Gang, entry: QueueEntry) -> QueueTraits:
    return gang.admission.get(entry.meta.ref.group, NO_QUEUE_TRAITS)


def _is_by_person(gang: Gang, entry: QueueEntry) -> bool:
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
    """Return the condition in which the admission system reports that it deactivated the entry, or None."""
    traits = _traits(gang, entry)
    evicted = find_condition(entry.conditions, traits.eviction)
    if evicted is None or not evicted.is_true or not evicted.reason.startswith(traits.deactivation):
        return None
    return evicted


def _cause(gang: Gang, entries: Sequence[QueueEntry]) -> str:
    """Return the admission system's sentence if the system gave up, or empty."""
    for entry in entries:
        if entry.given_up is not None:
            system = gang.admission.get(entry.meta.ref.group, QueueTraits(label="The queue"))
            return f"{system.label} deactivated {_entry_names(entries)}: {entry.given_up.cause}."
    return ""


_UNIT_RULE = UnitRule(_CODE, Stage.ADMISSION, _TITLE, 26, find_in_unit, health=Health.SUSPENDED)
RULE = GangRule(_CODE, Stage.ADMISSION, _TITLE, 35, find, _UNIT_RULE)
