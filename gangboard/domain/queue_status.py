"""Queue status of owners and child Jobs, which verdicts and actions share.

An admission system keeps unadmitted objects suspended and reverts every resume. So the status decides both the
reason that a gang shows and the lever that suspends or resumes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry, QueueMessage


class QueueVisibility(StrEnum):
    """Visibility of queue entries in a cluster."""

    SERVED = "served"
    """All existing entries are known."""
    NOT_SERVED = "not-served"
    """The cluster serves no admission system, so no entry exists."""
    UNKNOWN = ""
    """Entries may exist and cannot be read."""


class QueueStanding(StrEnum):
    """Standing of an object in its queue."""

    FREE = "free"
    """It is in no queue."""
    NOT_SERVED = "nobody"
    """It names a queue, and the cluster serves no admission system."""
    UNKNOWN = "not-known"
    """It is suspended and names a queue whose entries cannot be read."""
    WAITS = "waits"
    DEACTIVATED = "deactivated"
    """All its entries are deactivated, so no queue admits it until a user activates one."""
    ADMITTED = "admitted"


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """Queue status of one object."""

    standing: QueueStanding = QueueStanding.FREE
    queue: str = ""
    """Name of the queue. Empty if the entry names none."""
    entries: tuple[QueueEntry, ...] = ()
    """Its own unfinished entries."""
    by_owner: bool = False
    """The status is that of its owner, which the queue keeps suspended with all its Jobs."""

    @property
    def is_managed(self) -> bool:
        """Whether a queue decides when it runs, as far as known. gangboard must not write `spec.suspend` then."""
        return self.standing not in (QueueStanding.FREE, QueueStanding.NOT_SERVED)

    @property
    def message(self) -> QueueMessage | None:
        """Most important message about its unadmitted entries, while it waits."""
        return self._first_message(self.entries) if self.standing is QueueStanding.WAITS else None

    @property
    def growth(self) -> QueueMessage | None:
        """Message about an entry that would enlarge it, while it runs with the entry to be replaced."""
        if self.standing is not QueueStanding.ADMITTED:
            return None
        return self._first_message(entry for entry in self.entries if entry.replaces)

    @staticmethod
    def _first_message(entries: Iterable[QueueEntry]) -> QueueMessage | None:
        messages = [entry.message for entry in entries if entry.message is not None]
        return min(messages, key=lambda message: message.code.position(), default=None)

    @property
    def may_run(self) -> bool:
        """Whether no queue keeps it suspended."""
        return self.standing in (
            QueueStanding.FREE,
            QueueStanding.NOT_SERVED,
            QueueStanding.ADMITTED,
        )


def queue_statuses_of(
    owner: Owner, jobs: Iterable[Owner], entries: Iterable[QueueEntry], visibility: str
) -> Mapping[str, QueueStatus]:
    """Return the queue status of the owner and of each of its Jobs, by uid.

    `entries` are the entries of any of them, and `visibility` is a `QueueVisibility`. An entry proves that a
    queue manages its owner, whatever the owner's labels (`manageJobsWithoutQueueName` of Kueue). Without an
    entry the label decides, unless a queue manages the owner above. Jobs of a managed owner are admitted with it
    and have no entries (jobset-kueue.md §3.2). While it is not admitted, its Jobs stay suspended.
    """
    own: dict[str, list[QueueEntry]] = defaultdict(list)
    for entry in entries:
        # Stored entries are leftovers if the cluster no longer serves them.
        if visibility != QueueVisibility.NOT_SERVED and entry.is_in_use:
            own[entry.owner_uid].append(entry)
    uid = owner.meta.ref.uid
    owner_status = _queue_status(owner, own.get(uid, ()), visibility, by_label=True)
    inherited = replace(owner_status, by_owner=True)
    statuses = {}
    for job in jobs:
        entries_of_job = own.get(job.meta.ref.uid, ())
        status = _queue_status(
            job, entries_of_job, visibility, by_label=not owner_status.is_managed
        )
        # A Job with an admitted entry of its own may not run either while its owner waits.
        is_inherited = status.may_run and not owner_status.may_run
        statuses[job.meta.ref.uid] = inherited if is_inherited else status
    return {**statuses, uid: owner_status}


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
    # A growing object has a second entry that waits, and runs with the first until the second is admitted.
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
        # Unadmitted objects are suspended, so an unsuspended one is admitted even before its entry is read.
        return QueueStanding.ADMITTED
    return QueueStanding.WAITS if visibility == QueueVisibility.SERVED else QueueStanding.UNKNOWN
