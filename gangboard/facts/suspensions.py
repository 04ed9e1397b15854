"""Authors of suspensions, pauses, deactivations and cordons.

The author is in gangboard's record, or else the field manager in `managedFields`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from gangboard.domain.objects import find_condition
from gangboard.domain.owner import Owner
from gangboard.domain.queue import QueueEntry
from gangboard.domain.suspension import FieldWriter, RecordedSuspend, Suspension
from gangboard.domain.text import MOST_NAMED, quote
from gangboard.domain.traits import NO_QUEUE_TRAITS
from gangboard.domain.verdict import Evidence
from gangboard.facts.gang import Gang

_OURS = "gangboard"
_KUBECTL = "kubectl"


def suspension_of(gang: Gang, owner: Owner) -> Suspension | None:
    """Return the author of a suspension, or None if no source names one.

    A field manager other than gangboard wrote the field after our action, so it goes before the record.
    A kind without a suspend field has no field manager, and the record alone tells.
    """
    manager = owner.suspend_set_by
    record = gang.recorded_suspends.get(owner.meta.ref.uid)
    # After a Hold reverted a resume, the field manager is the client that tried to resume (observed on 1.37.0).
    # So it does not show who suspended the Job.
    is_reverted = bool(owner.held_by)
    if record is not None and (manager in ("", _OURS) or is_reverted):
        return recorded(record)
    if not manager or is_reverted:
        return None
    noticed = find_condition(owner.conditions, "Suspended")
    noticed_at = noticed.since if noticed is not None and noticed.is_true else None
    return author_of(_confirmed(FieldWriter(manager, owner.suspend_set_at), noticed_at))


def pause_of(gang: Gang, job: Owner) -> Suspension | None:
    """Return who set the parallelism of a Job to 0, or None if no source names the author.

    A controller writes this field of the Jobs that it makes, so only a person's write counts there.
    """
    record = gang.recorded_suspends.get(job.meta.ref.uid)
    writer = job.paused_by
    # The annotation with the old value says that it was gangboard.
    if record is not None and job.paused_parallelism is not None and _is_ours(writer):
        return recorded(record)
    author = author_of(writer) if writer is not None else None
    if author is None or (job.meta.controller is not None and not author.by_person):
        return None
    return author


def deactivation_of(gang: Gang, entry: QueueEntry) -> Suspension | None:
    """Return who deactivated an entry in a queue, or None if no source names one.

    An action of gangboard is about the owner, never about the entry.
    """
    writer = entry.deactivated_by
    if writer is None:
        return None
    record = gang.recorded_suspends.get(entry.owner_uid)
    if record is not None and _is_ours(writer):
        return recorded(record)
    traits = gang.admission.get(entry.meta.ref.group, NO_QUEUE_TRAITS)
    evicted = find_condition(entry.conditions, traits.eviction)
    noticed_at = evicted.since if evicted is not None and evicted.is_true else None
    return author_of(_confirmed(writer, noticed_at))


def recorded(record: RecordedSuspend) -> Suspension:
    """Return the suspension in gangboard's record."""
    return Suspension(f"by {quote(record.actor)}", record.sent_at, record.reason, by_person=True)


def author_of(writer: FieldWriter) -> Suspension:
    """Return the author that a field manager stands for."""
    by = _with_manager(writer.manager)
    or_before = writer.at is not None and not writer.is_exact
    return Suspension(by, writer.at, by_person=by.startswith("with "), or_before=or_before)


def _is_ours(writer: FieldWriter | None) -> bool:
    return writer is not None and writer.manager == _OURS


def _confirmed(writer: FieldWriter, noticed_at: datetime | None) -> FieldWriter:
    """Return the writer with the time at which a controller noticed the change, if that was earlier.

    A later write of the same manager moves its time, and never the time of the condition.
    """
    if writer.at is None or noticed_at is None:
        return writer
    return FieldWriter(writer.manager, min(writer.at, noticed_at), is_exact=True)


def _with_manager(manager: str) -> str:
    """Return `with kubectl`, `by night-saver`. A person uses the first two, other names are controllers."""
    if manager == _OURS:
        return "with gangboard"
    # kubectl-create, kubectl-patch, kubectl-client-side-apply: readers do not need the subcommand.
    is_kubectl = manager == _KUBECTL or manager.startswith(f"{_KUBECTL}-")
    return f"with {_KUBECTL}" if is_kubectl else f"by {quote(manager)}"


def suspension_text(suspension: Suspension, link: str = "at") -> str:
    """Return `by ada at 2026-11-27 02:19 UTC: make room`, without a full stop.

    The sentence is stored and can be days old when it is read, so it has the date. Its page shows the
    age beside it. `link` stands before the time: `since` after a state, `at` after an event.
    """
    time = ""
    if suspension.time is not None:
        link = "at" if suspension.or_before else link
        before = " or before" if suspension.or_before else ""
        time = f" {link} {minute_text(suspension.time)}{before}"
    reason = f": {quote(suspension.reason)}" if suspension.reason.strip() else ""
    return f"{suspension.by}{time}{reason}"


def authors_text(authors: Iterable[Suspension | None]) -> str:
    """Return the text about several authors, each once. Empty if any author is unknown."""
    known = list(authors)
    texts = list(dict.fromkeys(suspension_text(author) for author in known if author is not None))
    if not texts or None in known or len(texts) > MOST_NAMED:
        return ""
    return "; ".join(texts)


def person_of(writer: FieldWriter | None) -> FieldWriter | None:
    """Return the last writer of a list of taints, if it was a person.

    Controllers also write that list, and their name does not tell who set the other taints.
    """
    return writer if writer is not None and author_of(writer).by_person else None


def writers_text(writers: Iterable[FieldWriter | None], link: str = "at") -> str:
    """Return `with kubectl at …` for the same change of several objects. Empty if their authors differ.

    If the times differ, the text has the last one. `link` stands before a common time.
    """
    candidates = [None if writer is None else author_of(writer) for writer in writers]
    authors = [author for author in candidates if author is not None]
    is_same = len({author.by for author in authors}) == 1
    if not authors or len(authors) < len(candidates) or not is_same:
        return ""
    texts = {suspension_text(author, link) for author in authors}
    if len(texts) == 1:
        return texts.pop()
    last = max(authors, key=lambda author: author.time.timestamp() if author.time else 0.0)
    return f"{last.by}, the last {suspension_text(last).removeprefix(last.by).strip()}"


def minute_text(time: datetime) -> str:
    """Return `2026-11-27 02:19 UTC`."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def suspend_evidence(gang: Gang, owner: Owner) -> Evidence:
    """Return the field that shows the suspension in this kind, with its value."""
    traits = gang.traits_of(owner.meta.ref)
    value = owner.detail.get(traits.suspended_detail, "true") if traits.suspended_detail else "true"
    return Evidence(traits.suspend_field or "spec.suspend", value, owner.meta.ref)
