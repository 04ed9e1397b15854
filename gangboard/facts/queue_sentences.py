"""What keeps suspended Jobs waiting in a queue: which they are, and the sentences about it."""

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
from gangboard.domain.verdict import Evidence
from gangboard.facts.attempts import latest
from gangboard.facts.gang import Gang
from gangboard.facts.grace_periods import CREATION_GRACE
from gangboard.facts.suspensions import suspend_evidence
from gangboard.facts.unit import Unit

HEALTH = {
    QueueStanding.WAITS: Health.WAITING,
    QueueStanding.ADMITTED: Health.WAITING,
    QueueStanding.DEACTIVATED: Health.SUSPENDED,
    QueueStanding.UNKNOWN: Health.UNKNOWN,
    QueueStanding.NOT_SERVED: Health.BLOCKED,
}
"""What a suspended object is by how a queue stands to it."""


def jobs_suspended_by_queue(gang: Gang, jobs: Iterable[Owner]) -> tuple[Owner, ...]:
    """Return those of these Jobs of an owner that runs which a queue keeps suspended, and no Hold.

    A Hold keeps its Job suspended also when the queue admits it, so it goes before the queue.
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
    """Return how many pods of the unit come when its queue admits their Jobs."""
    if not unit.held:
        return 0
    queue_statuses = unit.gang.queue_statuses
    return sum(
        job.desired
        for job in jobs_suspended_by_queue(unit.gang, unit.jobs)
        if queue_statuses[job.meta.ref.uid].standing is not QueueStanding.DEACTIVATED
    )


def queue_health(gang: Gang, subject: Owner) -> Health:
    """Return what a suspended owner or Job is by how its queue stands to it.

    Without a Workload for so long it is blocked. One that has no conditions is not: Kueue writes none
    while others are before it in a strict queue, for hours if need be (`StrictFIFO`).
    """
    state = gang.queue_statuses[subject.meta.ref.uid]
    if is_not_resumed(gang, subject) or (not state.entries and is_overdue(gang, subject)):
        return Health.BLOCKED
    return HEALTH[state.standing]


def is_overdue(gang: Gang, subject: Owner) -> bool:
    """Whether its admission system has given no sign about it for longer than one takes that runs."""
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
    """Whether its admission system admitted it over two minutes ago and left it suspended."""
    due = resume_due(gang, subject)
    return due is not None and due <= gang.now


def first_response_due(gang: Gang, subject: Owner) -> datetime | None:
    """Return when its admission system should have given a sign about it; None where it has, or need not.

    The sign is a Workload, which a Kueue that runs makes at once, and then a first condition of it.
    """
    state = gang.queue_statuses[subject.meta.ref.uid]
    if state.standing is not QueueStanding.WAITS or any(
        entry.conditions for entry in state.entries
    ):
        return None
    made = latest(entry.meta.created_at for entry in state.entries)
    start = made if state.entries else _missed_since(gang, subject)
    return start + CREATION_GRACE if start is not None else None


def _missed_since(gang: Gang, subject: Owner) -> datetime | None:
    """Return since when a Workload is missing: it was suspended, or its last one went.

    None where something above it may be what is admitted (jobset-kueue.md §3.2).
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


def of_owner(gang: Gang) -> str:
    """Return the sentence about a suspended owner that names a queue or has an entry in one."""
    state, who = gang.queue, label(gang.owner.meta.ref)
    if state.standing is QueueStanding.NOT_SERVED:
        return (
            f"{who} waits for queue {state.queue}, but nobody admits it: this cluster serves no "
            f"{system(gang)} {entry_kind(gang)}s."
        )
    if state.standing is QueueStanding.UNKNOWN and not gang.cluster.queue_systems:
        return f"{who} is held by queue {state.queue}, which gangboard does not read."
    if state.standing is QueueStanding.UNKNOWN:
        return (
            f"{who} carries the queue label {state.queue}; whether it is admitted is not known: "
            f"{unseen(gang)}."
        )
    if state.standing is QueueStanding.ADMITTED:
        when = "in over 2 min" if is_not_resumed(gang, gang.owner) else "yet"
        return f"{queue_text(gang, state)} has admitted it, and {system(gang)} has not resumed it {when}."
    is_late = is_overdue(gang, gang.owner)
    return f"{queue_text(gang, state)} has not admitted it yet{_why(gang, state, 'it', is_late)}."


def of_jobs(gang: Gang, jobs: Iterable[Owner]) -> str:
    """Return the sentences about Jobs that wait in queues of their own: one for each queue."""
    alike: dict[tuple[str, QueueStanding, bool, bool, bool], list[Owner]] = {}
    for job in jobs:
        state = gang.queue_statuses[job.meta.ref.uid]
        is_late = is_overdue(gang, job)
        kind = state.queue, state.standing, bool(state.entries), state.by_owner, is_late
        alike.setdefault(kind, []).append(job)
    return " ".join(_of_some(gang, found) for found in alike.values())


def _of_some(gang: Gang, jobs: list[Owner]) -> str:
    state = gang.queue_statuses[jobs[0].meta.ref.uid]
    noun, it = ("Job", "it") if len(jobs) == 1 else ("Jobs", "them")
    who = f"{noun} {names(job.meta.ref.name for job in jobs)}"
    if state.by_owner:
        stay = "stays" if len(jobs) == 1 else "stay"
        return f"{of_owner(gang)} {who} {stay} suspended."
    if state.standing is QueueStanding.UNKNOWN and not gang.cluster.queue_systems:
        return f"{who} {is_or_are(len(jobs))} held by queue {state.queue}, which gangboard does not read."
    if state.standing is QueueStanding.UNKNOWN:
        carry = "carries" if len(jobs) == 1 else "carry"
        return (
            f"{who} {carry} the queue label {state.queue}; whether "
            f"{'it' if len(jobs) == 1 else 'they'} {is_or_are(len(jobs))} admitted is not known: "
            f"{unseen(gang)}."
        )
    queue = queue_text(gang, state)
    if state.standing is QueueStanding.ADMITTED:
        late = any(is_not_resumed(gang, job) for job in jobs)
        when = "in over 2 min" if late else "yet"
        return f"{queue} has admitted {who}, and {system(gang)} has not resumed {it} {when}."
    is_late = is_overdue(gang, jobs[0])
    return f"{queue} has not admitted {who} yet{_why(gang, state, it, is_late)}."


def admitted_jobs_text(gang: Gang) -> str:
    """Return `1 of 3 Jobs is admitted.` of Jobs with entries of their own; nothing where none of them is."""
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


def _why(gang: Gang, state: QueueStatus, it: str, is_late: bool) -> str:
    who = system(gang)
    if state.message is not None and state.message.cause:
        return f": {state.message.cause}"
    if not state.entries:
        late = " in over 2 min" if is_late else ""
        return f": {who} has made no {entry_kind(gang)} for {it}{late}"
    unnamed = "" if state.queue else ": no queue is named for it"
    if not is_late:
        return unnamed
    turn = "its" if it == "it" else "their"
    silence = f"it is not {turn} turn, or {who} does not run"
    return f"{unnamed}; {silence}" if unnamed else f": {silence}"


def system(gang: Gang) -> str:
    """Return the name of what admits it: `Kueue`."""
    return gang.queue_system or "the queue system"


def entry_kind(gang: Gang) -> str:
    """Return the kind of the entries that its admission system keeps: `Workload`."""
    name = system(gang)
    return next((one.entry for one in gang.admission.values() if one.label == name), "entry")


def unseen(gang: Gang) -> str:
    """Return why nobody can tell whether something is admitted: half a sentence."""
    return f"the {entry_kind(gang)}s of {system(gang)} cannot be read"


def preemptor_text(gang: Gang, message: QueueMessage) -> str:
    """Return for whom something was preempted, by name where it is known."""
    taker = gang.preemptors.get(message.taker)
    return f"{taker.namespace}/{taker.name}" if taker is not None else "another workload"


def with_queue_cause(gang: Gang, message: QueueMessage) -> QueueMessage:
    """Return the message with why the queue that it is about admits nobody, where that queue is known.

    A system says of one that is stopped that it is inactive: only the queue itself tells the two apart.
    """
    queue = _closed_queue(gang, message)
    if queue is None:
        return message
    if gang.queues.is_circular(queue):
        several = names(str(one.name) for one in gang.queues.lineage(queue)[1:])
        return replace(
            message,
            cause=f"{queue.name} is inactive: {several} are above each other",
            advice="Take one of them out of the circle.",
        )
    if queue.state is QueueState.STOPPED:
        return replace(message, cause=f"{queue.name} is stopped", advice=queue.advice)
    if queue.state is QueueState.INACTIVE:
        why = f": {queue.cause}" if queue.cause else ""
        advice = queue.advice or message.advice
        return replace(message, cause=f"{queue.name} is inactive{why}", advice=advice)
    return message


def _closed_queue(gang: Gang, message: QueueMessage) -> Queue | None:
    """Return the queue that admits nobody: what a message is about, or the one that this leads to."""
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
    if queue is not None and queue.cause:
        yield Evidence(f"{queue.name} {queue.state}", queue.cause, queue.meta.ref)


def message_evidence(gang: Gang, state: QueueStatus) -> tuple[Evidence, ...]:
    """Return what its admission system says of an object, and for whom that was preempted."""
    found = []
    for entry in state.entries:
        message = entry.message
        if message is None:
            continue
        found.append(Evidence(message.label, message.text, entry.meta.ref))
        found += _closed_evidence(gang, message)
        taker = gang.preemptors.get(message.taker)
        if taker is not None:
            found.append(
                Evidence(f"preempted by {taker.kind}", preemptor_text(gang, message), taker)
            )
    return tuple(found)


def queue_evidence(gang: Gang, state: QueueStatus, subject: Owner) -> tuple[Evidence, ...]:
    """Return what says that a queue keeps an object suspended."""
    ref = subject.meta.ref
    queue = (Evidence("queue", state.queue, ref),) if state.queue else ()
    entries = tuple(
        Evidence("admitted", "true" if entry.admitted else "false", entry.meta.ref)
        for entry in state.entries
    )
    untold = tuple(
        Evidence("status.conditions", "none", entry.meta.ref)
        for entry in state.entries
        if not entry.conditions
    )
    missing = state.standing is QueueStanding.WAITS and not state.entries
    none = (Evidence(entry_kind(gang), "none", ref),) if missing else ()
    return (*queue, *entries, *untold, *none, suspend_evidence(gang, subject))
