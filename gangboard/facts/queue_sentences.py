"""Sentences, evidence and deadlines for owners and Jobs that wait in a queue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from gangboard.domain.health import Health
from gangboard.domain.objects import find_condition
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueCode, QueueMessage
from gangboard.domain.queue_status import QueueStanding, QueueStatus
from gangboard.domain.quota import Queue, QueueLevel, QueueState
from gangboard.domain.text import is_or_are, label, names, out_of
from gangboard.domain.traits import NO_QUEUE_TRAITS
from gangboard.domain.verdict import Evidence
from gangboard.facts.attempts import latest
from gangboard.facts.gang import Gang
from gangboard.facts.grace_periods import CREATION_GRACE
from gangboard.facts.suspensions import author_of, suspend_evidence, suspension_text
from gangboard.facts.unit import Unit

HEALTH = {
    QueueStanding.WAITS: Health.WAITING,
    QueueStanding.ADMITTED: Health.WAITING,
    QueueStanding.DEACTIVATED: Health.SUSPENDED,
    QueueStanding.UNKNOWN: Health.UNKNOWN,
    QueueStanding.NOT_SERVED: Health.BLOCKED,
}
"""Health of a suspended object by its queue standing."""


def jobs_suspended_by_queue(gang: Gang, jobs: Iterable[Owner]) -> tuple[Owner, ...]:
    """Return the Jobs of a running owner that a queue keeps suspended.

    Jobs with a Hold are not among them, because a Hold keeps its Job suspended even after the queue admits it.
    """
    if gang.owner.suspended or not gang.is_any_queued:
        return ()
    return tuple(
        job
        for job in jobs
        if job.meta.ref.uid != gang.owner.meta.ref.uid
        and job.suspended
        and job.finish is None
        and gang.queue_statuses[job.meta.ref.uid].is_managed
        and gang.hold_of(job) is None
    )


def pods_awaiting_admission(unit: Unit) -> int:
    """Return the number of the unit's pods whose Jobs wait for admission by a queue."""
    if not unit.held:
        return 0
    queue_statuses = unit.gang.queue_statuses
    return sum(
        job.desired
        for job in jobs_suspended_by_queue(unit.gang, unit.jobs)
        if queue_statuses[job.meta.ref.uid].standing is not QueueStanding.DEACTIVATED
    )


def queue_health(gang: Gang, subject: Owner) -> Health:
    """Return the health of a suspended owner or Job by its queue standing.

    It is blocked if its entry has been missing for too long. An entry without conditions is normal, because Kueue
    writes none while other entries precede it in a strict queue (`StrictFIFO`), which can take hours.
    """
    state = gang.queue_statuses[subject.meta.ref.uid]
    if is_not_resumed(gang, subject) or (not state.entries and is_overdue(gang, subject)):
        return Health.BLOCKED
    return HEALTH[state.standing]


def is_overdue(gang: Gang, subject: Owner) -> bool:
    """Return whether its admission system has not responded in the time that a running system takes."""
    due = first_response_due(gang, subject)
    return due is not None and due <= gang.now


def resume_due(gang: Gang, subject: Owner) -> datetime | None:
    """Return the time by which its admission system should resume the admitted owner, or None if no resume is due."""
    state = gang.queue_statuses[subject.meta.ref.uid]
    if state.standing is not QueueStanding.ADMITTED or not subject.suspended:
        return None
    suspended = find_condition(subject.conditions, "Suspended")
    since = suspended.since if suspended is not None and suspended.is_true else None
    admitted = latest(entry.admitted_at for entry in state.entries)
    start = latest((admitted, since)) if admitted is not None else None
    return start + CREATION_GRACE if start is not None else None


def is_not_resumed(gang: Gang, subject: Owner) -> bool:
    """Return whether its admission system admitted it over two minutes ago and left it suspended."""
    due = resume_due(gang, subject)
    return due is not None and due <= gang.now


def first_response_due(gang: Gang, subject: Owner) -> datetime | None:
    """Return when its admission system should have responded. None if it has, or if no response is due.

    A running Kueue responds with a Workload at once, and then with its first condition.
    """
    state = gang.queue_statuses[subject.meta.ref.uid]
    if state.standing is not QueueStanding.WAITS or any(
        entry.conditions for entry in state.entries
    ):
        return None
    created = latest(entry.meta.created_at for entry in state.entries)
    start = created if state.entries else _entry_missing_since(gang, subject)
    return start + CREATION_GRACE if start is not None else None


def _entry_missing_since(gang: Gang, subject: Owner) -> datetime | None:
    """Return since when an entry is missing, which is after its suspension or the end of the last entry.

    None if the system may admit an owner above it instead (jobset-kueue.md §3.2).
    """
    if gang.owner.meta.controller is not None:
        return None
    suspended = find_condition(subject.conditions, "Suspended")
    times = [subject.meta.created_at, suspended.since if suspended is not None else None]
    for entry in gang.entries:
        if entry.owner_uid == subject.meta.ref.uid:
            finished = find_condition(entry.conditions, "Finished")
            times += [entry.meta.deleting_since, finished.since if finished is not None else None]
    return latest(times)


def owner_sentence(gang: Gang) -> str:
    """Return the sentence about a suspended owner that names a queue or has an entry in one."""
    state, name = gang.queue, label(gang.owner.meta.ref)
    if state.standing is QueueStanding.NOT_SERVED:
        return (
            f"{name} waits for queue {state.queue}, but this cluster serves no {system(gang)} "
            f"{entry_kind(gang)}s."
        )
    if state.standing is QueueStanding.UNKNOWN and not gang.cluster.queue_systems:
        return f"{name} is held by queue {state.queue}, which gangboard does not read."
    if state.standing is QueueStanding.UNKNOWN:
        return (
            f"{name} names queue {state.queue}, but its admission is unknown: "
            f"{unreadable_entries_text(gang)}."
        )
    if state.standing is QueueStanding.ADMITTED:
        when = "in over 2 min" if is_not_resumed(gang, gang.owner) else "yet"
        return f"{queue_text(gang, state)} has admitted it, and {system(gang)} has not resumed it {when}."
    is_late = is_overdue(gang, gang.owner)
    return f"{queue_text(gang, state)} has not admitted it yet{_why(gang, state, 'it', is_late)}."


def jobs_sentences(gang: Gang, jobs: Iterable[Owner]) -> str:
    """Return a sentence for each queue about the Jobs that wait in it."""
    alike: dict[tuple[str, QueueStanding, bool, bool, bool], list[Owner]] = {}
    for job in jobs:
        state = gang.queue_statuses[job.meta.ref.uid]
        is_late = is_overdue(gang, job)
        kind = state.queue, state.standing, bool(state.entries), state.by_owner, is_late
        alike.setdefault(kind, []).append(job)
    return " ".join(_sentence_for_queue(gang, group) for group in alike.values())


def _sentence_for_queue(gang: Gang, jobs: list[Owner]) -> str:
    state = gang.queue_statuses[jobs[0].meta.ref.uid]
    noun, pronoun = ("Job", "it") if len(jobs) == 1 else ("Jobs", "them")
    subject = f"{noun} {names(job.meta.ref.name for job in jobs)}"
    if state.by_owner:
        stay = "stays" if len(jobs) == 1 else "stay"
        return f"{owner_sentence(gang)} {subject} {stay} suspended."
    if state.standing is QueueStanding.UNKNOWN and not gang.cluster.queue_systems:
        return f"{subject} {is_or_are(len(jobs))} held by queue {state.queue}, which gangboard does not read."
    if state.standing is QueueStanding.UNKNOWN:
        carry = "carries" if len(jobs) == 1 else "carry"
        return (
            f"{subject} {carry} the queue label {state.queue}; whether "
            f"{'it' if len(jobs) == 1 else 'they'} {is_or_are(len(jobs))} admitted is not known: "
            f"{unreadable_entries_text(gang)}."
        )
    queue = queue_text(gang, state)
    if state.standing is QueueStanding.ADMITTED:
        late = any(is_not_resumed(gang, job) for job in jobs)
        when = "in over 2 min" if late else "yet"
        return (
            f"{queue} has admitted {subject}, and {system(gang)} has not resumed {pronoun} {when}."
        )
    is_late = is_overdue(gang, jobs[0])
    return f"{queue} has not admitted {subject} yet{_why(gang, state, pronoun, is_late)}."


def admitted_jobs_text(gang: Gang) -> str:
    """Return `1 of 3 Jobs is admitted.` for Jobs with their own entries. Empty if none or all are admitted."""
    own = [
        status
        for job in gang.jobs
        if (status := gang.queue_statuses[job.meta.ref.uid]).entries and not status.by_owner
    ]
    admitted = sum(status.standing is QueueStanding.ADMITTED for status in own)
    if not admitted or admitted == len(own):
        return ""
    return f"{out_of(admitted, len(own), 'Job')} {is_or_are(admitted)} admitted."


def queue_text(gang: Gang, state: QueueStatus) -> str:
    """Return its queue at the beginning of a sentence: `Queue gpu-lq`."""
    return f"Queue {state.queue}" if state.queue else system(gang)


def _why(gang: Gang, state: QueueStatus, pronoun: str, is_late: bool) -> str:
    name = system(gang)
    if state.message is not None and state.message.cause:
        return f": {state.message.cause}"
    if not state.entries:
        late = " in over 2 min" if is_late else ""
        return f": {name} has created no {entry_kind(gang)} for {pronoun}{late}"
    unnamed = "" if state.queue else ": it names no queue"
    if not is_late:
        return unnamed
    turn = "its" if pronoun == "it" else "their"
    silence = f"it is not {turn} turn, or {name} does not run"
    return f"{unnamed}; {silence}" if unnamed else f": {silence}"


def system(gang: Gang) -> str:
    """Return the name of its admission system, such as `Kueue`."""
    return gang.queue_system or "the queue system"


def entry_kind(gang: Gang) -> str:
    """Return the kind of entries of its admission system, such as `Workload`."""
    name = system(gang)
    traits = gang.admission.values()
    return next((candidate.entry for candidate in traits if candidate.label == name), "entry")


def unreadable_entries_text(gang: Gang) -> str:
    """Return the clause that says why the admission is unknown."""
    return f"the {entry_kind(gang)}s of {system(gang)} cannot be read"


def preemptor_text(gang: Gang, message: QueueMessage) -> str:
    """Return the preemptor of a message, by name if known."""
    preemptor = gang.preemptors.get(message.taker)
    if preemptor is None:
        return "another workload"
    return f"{preemptor.namespace}/{preemptor.name}"


def with_queue_cause(gang: Gang, message: QueueMessage) -> QueueMessage:
    """Return the message with the cause why its queue admits no entries, if the queue is known.

    A system also reports a stopped queue as inactive, so the state of the queue itself decides.
    """
    queue = _closed_queue(gang, message)
    if queue is None:
        return message
    if gang.queues.is_circular(queue):
        several = names(str(ancestor.name) for ancestor in gang.queues.lineage(queue)[1:])
        return replace(
            message,
            cause=f"{queue.name} is inactive: {several} are each other's parent",
            advice="Remove one of them from the circle.",
            command=(),
        )
    if queue.state is QueueState.STOPPED:
        return replace(
            message,
            cause=f"{queue.name} is stopped{_stop_author(queue)}",
            advice=queue.advice,
            command=queue.command,
        )
    if queue.state is QueueState.INACTIVE:
        why = f": {queue.cause}" if queue.cause else ""
        known = replace(message, cause=f"{queue.name} is inactive{why}")
        return replace(known, advice=queue.advice, command=()) if queue.advice else known
    return message


def _closed_queue(gang: Gang, message: QueueMessage) -> Queue | None:
    """Return the queue that admits no entries, which is the queue of the message or the parent of this alias."""
    if message.code is not QueueCode.QUEUE_STOPPED:
        return None
    queue = gang.queues.get(message.about)
    above = gang.queues.get(queue.parent) if queue is not None else None
    if queue is None or queue.state is QueueState.STOPPED or above is None:
        return queue
    is_alias = queue.level is QueueLevel.ALIAS
    return above if is_alias and queue.state is QueueState.INACTIVE else queue


def _closed_evidence(gang: Gang, message: QueueMessage) -> Iterator[Evidence]:
    queue = _closed_queue(gang, message)
    if queue is not None and (why := closed_queue_text(queue)):
        yield Evidence(f"{queue.name} {queue.state}", why, queue.meta.ref)


def closed_queue_text(queue: Queue) -> str:
    """Return the clause that says why a queue admits no entries. Empty if the reason is unknown.

    A stop by a field names the writer: `stopped (spec.stopPolicy Hold) with kubectl since 2026-11-27 02:18 UTC:
    admitted workloads keep running`.
    """
    if not queue.stop_setting:
        return queue.cause
    stopped = f"stopped ({queue.stop_setting}){_stop_author(queue)}"
    return ": ".join(filter(None, (stopped, queue.cause)))


def _stop_author(queue: Queue) -> str:
    """Return ` with kubectl since 2026-11-27 02:18 UTC`. Empty if the writer is unknown."""
    writer = queue.stopped_by
    return f" {suspension_text(author_of(writer), 'since')}" if writer is not None else ""


def message_evidence(gang: Gang, state: QueueStatus) -> tuple[Evidence, ...]:
    """Return the messages of its admission system about an object, and the preemptors."""
    evidence = []
    for entry in state.entries:
        message = entry.message
        if message is None:
            continue
        evidence.append(Evidence(message.label, message.text, entry.meta.ref))
        evidence += _closed_evidence(gang, message)
        field = gang.admission.get(entry.meta.ref.group, NO_QUEUE_TRAITS).offered_clusters_field
        evidence += (Evidence(field, name, entry.meta.ref) for name in entry.offered_clusters)
        preemptor = gang.preemptors.get(message.taker)
        if preemptor is not None:
            name = preemptor_text(gang, message)
            evidence.append(Evidence(f"preempted by {preemptor.kind}", name, preemptor))
    return tuple(evidence)


def queue_evidence(gang: Gang, state: QueueStatus, subject: Owner) -> tuple[Evidence, ...]:
    """Return the evidence that a queue keeps an object suspended."""
    ref = subject.meta.ref
    queue = (Evidence("queue", state.queue, ref),) if state.queue else ()
    entries = tuple(
        Evidence("admitted", "true" if entry.admitted else "false", entry.meta.ref)
        for entry in state.entries
    )
    without_conditions = tuple(
        Evidence("status.conditions", "none", entry.meta.ref)
        for entry in state.entries
        if not entry.conditions
    )
    missing = state.standing is QueueStanding.WAITS and not state.entries
    none = (Evidence(entry_kind(gang), "none", ref),) if missing else ()
    return (*queue, *entries, *without_conditions, *none, suspend_evidence(gang, subject))
