"""What Kubernetes recorded about the objects of one gang lately."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from gangboard.domain.event import Event
from gangboard.readmodels.printable import printable
from gangboard.store.access import Viewer
from gangboard.store.gangs import Detail
from gangboard.store.models import Gang, WatchedObject
from gangboard.store.objects import unpack

EVENTS = "events.events.k8s.io"
MOST_EVENTS = 30
MOST_READ = 2000
"""Stored events of a namespace that are looked through."""
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class EventRow:
    """One event."""

    regarding: str
    """`Pod worker-0-3`."""
    reason: str
    note: str
    type: str
    count: int
    last_seen: datetime | None
    reporter: str


def recent_events(*, gang: Gang, detail: Detail, viewer: Viewer) -> tuple[EventRow, ...]:
    """Return the newest events about the owner, its Jobs, groups and pods (1 query)."""
    if not viewer.sees(gang.cluster_id, gang.namespace):
        return ()
    own = {gang.uid}
    own.update(job.ref.uid for job in detail.jobs)
    own.update(member.ref.uid for member in detail.members)
    own.update(ref.uid for ref in detail.groups)
    rows = WatchedObject.objects.filter(
        cluster_id=gang.cluster_id, resource=EVENTS, namespace=gang.namespace
    ).values_list("data", flat=True)[:MOST_READ]
    events = [event for data in rows if (event := unpack(bytes(data), Event)).regarding.uid in own]
    events.sort(key=lambda event: event.last_seen or _LONG_AGO, reverse=True)
    return tuple(_row(event) for event in events[:MOST_EVENTS])


def _row(event: Event) -> EventRow:
    return EventRow(
        regarding=printable(f"{event.regarding.kind} {event.regarding.name}"),
        reason=printable(event.reason),
        note=printable(event.note),
        type=printable(event.type),
        count=event.count,
        last_seen=event.last_seen,
        reporter=printable(event.reporter),
    )
