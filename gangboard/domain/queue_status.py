"""How a queue stands to an owner or child Job: the one answer that verdicts and actions share.

An admission system keeps what it has not admitted suspended and undoes whoever resumes it, so the
same fact decides what a gang is called and by which lever it is stopped and started.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry, QueueMessage


class QueueVisibility(StrEnum):
    """Whether entries in queues can be there."""

    SERVED = "served"
    """All that exist are known."""
    NOT_SERVED = "not-served"
    """There can be none: no admission system is served."""
    UNKNOWN = ""
    """Nobody can tell."""


class QueueStanding(StrEnum):
    """What a queue does with an object."""

    FREE = "free"
    """No queue has to do with it."""
    NOT_SERVED = "nobody"
    """It names a queue, and nothing is served that could admit it."""
    UNKNOWN = "not-known"
    """It is suspended and names a queue, and whether that has admitted it cannot be seen."""
    WAITS = "waits"
    DEACTIVATED = "deactivated"
    """Every entry that it has is switched off: no queue admits it until somebody activates one."""
    ADMITTED = "admitted"


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """How a queue stands to one object."""

    standing: QueueStanding = QueueStanding.FREE
    queue: str = ""
    """Name of the queue, or empty: an entry need not name one."""
    entries: tuple[QueueEntry, ...] = ()
    """Its own entries that are in use."""
    by_owner: bool = False
    """It is what holds of the owner above, which the queue keeps from running with all that it made."""

    @property
    def is_managed(self) -> bool:
        """Whether a queue decides when it runs, as far as is known: `spec.suspend` is not ours then."""
        return self.standing not in (QueueStanding.FREE, QueueStanding.NOT_SERVED)

    @property
    def message(self) -> QueueMessage | None:
        """What is told first of what its system says of entries that it has not admitted."""
        return self._first_message(self.entries) if self.standing is QueueStanding.WAITS else None

    @property
    def growth(self) -> QueueMessage | None:
        """What is told of an entry by which it would be larger, while it runs by the one that this replaces."""
        if self.standing is not QueueStanding.ADMITTED:
            return None
        return self._first_message(entry for entry in self.entries if entry.replaces)

    @staticmethod
    def _first_message(entries: Iterable[QueueEntry]) -> QueueMessage | None:
        found = [entry.message for entry in entries if entry.message is not None]
        return min(found, key=lambda one: one.code.position(), default=None)

    @property
    def may_run(self) -> bool:
        """Whether no queue keeps it from running."""
        return self.standing in (
            QueueStanding.FREE,
            QueueStanding.NOT_SERVED,
            QueueStanding.ADMITTED,
        )


def queue_statuses_of(
    owner: Owner, jobs: Iterable[Owner], entries: Iterable[QueueEntry], visibility: str
) -> Mapping[str, QueueStatus]:
    """Return how a queue stands to the owner and to each of its Jobs, by uid.

    `entries` are those about any of them, `visibility` is a `QueueVisibility`. An entry says
    that a queue manages its owner, whatever labels that has (`manageJobsWithoutQueueName` of Kueue).
    Without one the label tells, unless the owner above is managed: what that is made of is admitted
    with it and has no entries (jobset-kueue.md §3.2). While it is not admitted, its Jobs are kept
    suspended with it.
    """
    own: dict[str, list[QueueEntry]] = defaultdict(list)
    for entry in entries:
        # Where none are served, what is still stored of them is left over.
        if visibility != QueueVisibility.NOT_SERVED and entry.is_in_use:
            own[entry.owner_uid].append(entry)
    uid = owner.meta.ref.uid
    whole = _queue_status(owner, own.get(uid, ()), visibility, by_label=True)
    above = replace(whole, by_owner=True)
    found = {}
    for job in jobs:
        entries_of_job = own.get(job.meta.ref.uid, ())
        state = _queue_status(job, entries_of_job, visibility, by_label=not whole.is_managed)
        # Also one that was admitted by itself: what it is part of may not run.
        found[job.meta.ref.uid] = above if state.may_run and not whole.may_run else state
    return {**found, uid: whole}


def _queue_status(
    subject: Owner, entries: Iterable[QueueEntry], visibility: str, *, by_label: bool
) -> QueueStatus:
    own = tuple(entries)
    queue = next((entry.queue for entry in own if entry.queue), subject.queue)
    if own:
        return QueueStatus(_of_entries(own), queue, own)
    if not subject.queue or not by_label:
        return QueueStatus()
    return QueueStatus(_of_label(subject, visibility), queue)


def _of_entries(entries: tuple[QueueEntry, ...]) -> QueueStanding:
    # What grows while it runs waits with a second entry; until that has the place it runs by the first.
    running = {entry.meta.ref.name for entry in entries if entry.admitted and entry.active}
    entries = tuple(entry for entry in entries if entry.replaces not in running)
    if not any(entry.active for entry in entries):
        return QueueStanding.DEACTIVATED
    admitted = all(entry.admitted and entry.active for entry in entries)
    return QueueStanding.ADMITTED if admitted else QueueStanding.WAITS


def _of_label(subject: Owner, visibility: str) -> QueueStanding:
    if visibility == QueueVisibility.NOT_SERVED:
        return QueueStanding.NOT_SERVED
    if not subject.suspended:
        # What is not admitted is kept suspended, so before its entry is there that tells.
        return QueueStanding.ADMITTED
    return QueueStanding.WAITS if visibility == QueueVisibility.SERVED else QueueStanding.UNKNOWN
