"""Recent Kubernetes events about the objects of one gang."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gangboard.domain.event import Event
from gangboard.domain.health import Health
from gangboard.readmodels.formatting import printable
from gangboard.store.access import Viewer
from gangboard.store.gangs import Detail
from gangboard.store.models import Gang, WatchedObject
from gangboard.store.objects import BATCH, unpack

EVENTS = "events.events.k8s.io"
MOST_EVENTS = 30
MOST_READ = 5000
"""Maximum number of stored events to read, those about the owner and unhealthy members first."""
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event, or several with the same kind of object, reason and note."""

    regarding: str
    """`Pod worker-0-3`, or `11 Pods`."""
    reason: str
    note: str
    type: str
    times: str
    """The count per object, such as `7 times each`. Empty for a single event."""
    names: tuple[str, ...]
    """The names of several objects. Empty for one object."""
    last_seen: datetime | None
    reporter: str


def recent_events(*, gang: Gang, detail: Detail, viewer: Viewer) -> tuple[EventRow, ...]:
    """Return the newest events about the owner, its Jobs, groups and pods (1 query per 500 objects)."""
    if not viewer.sees(gang.cluster_id, gang.namespace):
        return ()
    stored = WatchedObject.objects.filter(
        cluster_id=gang.cluster_id, resource=EVENTS, namespace=gang.namespace
    )
    uids, events = _object_uids(gang, detail), list[Event]()
    for start in range(0, len(uids), BATCH):
        rows = stored.filter(about__in=uids[start : start + BATCH]).values_list("data", flat=True)
        events += (unpack(bytes(data), Event) for data in rows[: MOST_READ - len(events)])
    events.sort(key=_last_seen, reverse=True)
    groups: dict[tuple[str, ...], list[Event]] = {}
    for event in events:
        groups.setdefault(_group_key(event), []).append(event)
    return tuple(_row(group) for group in list(groups.values())[:MOST_EVENTS])


def _last_seen(event: Event) -> datetime:
    return event.last_seen or _LONG_AGO


def _group_key(event: Event) -> tuple[str, ...]:
    """Return the key of events that form one row. The object's name in the note does not count."""
    note = event.note.replace(event.regarding.name, "…") if event.regarding.name else event.note
    return event.regarding.kind, event.reason, event.type, event.reporter, note


def _object_uids(gang: Gang, detail: Detail) -> list[str]:
    """Return the uids of the gang's objects: owner, Jobs, groups, then pods, unhealthy pods first."""
    members = sorted(detail.members, key=lambda member: member.state is Health.RUNNING)
    uids = [gang.uid, *(job.ref.uid for job in detail.jobs), *(ref.uid for ref in detail.groups)]
    return list(dict.fromkeys([*uids, *(member.ref.uid for member in members)]))


def _row(events: Sequence[Event]) -> EventRow:
    """Return similar events, given with the newest first, as one row."""
    newest = events[0]
    kind = newest.regarding.kind
    names = sorted({printable(event.regarding.name) for event in events})
    has_several = len(names) > 1
    return EventRow(
        regarding=printable(f"{len(names):,} {kind}s" if has_several else f"{kind} {names[0]}"),
        reason=printable(newest.reason),
        note=printable(newest.note),
        type=printable(newest.type),
        times=_times(events, has_several=has_several),
        names=tuple(names) if has_several else (),
        last_seen=newest.last_seen,
        reporter=printable(newest.reporter),
    )


def _times(events: Iterable[Event], *, has_several: bool) -> str:
    """Return the count per object in words: `7 times each`, `3 to 7 times each`."""
    counts: dict[str, int] = {}
    for event in events:
        counts[event.regarding.name] = counts.get(event.regarding.name, 0) + max(1, event.count)
    least, most = min(counts.values()), max(counts.values())
    if most == 1:
        return ""
    text = f"{most:,} times" if least == most else f"{least:,} to {most:,} times"
    return f"{text} each" if has_several else text
