"""What Kubernetes recorded about the objects of one gang lately."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from datetime import UTC, datetime

from gangboard.domain.event import Event
from gangboard.domain.health import Health
from gangboard.readmodels.printable import printable
from gangboard.store.access import Viewer
from gangboard.store.gangs import Detail
from gangboard.store.models import Gang, WatchedObject
from gangboard.store.objects import BATCH, unpack

EVENTS = "events.events.k8s.io"
MOST_EVENTS = 30
MOST_READ = 5000
"""Stored events that are looked through, those about the owner and about members in trouble first."""
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
    """Return the newest events about the owner, its Jobs, groups and pods.

    One query for 500 of these objects.
    """
    if not viewer.sees(gang.cluster_id, gang.namespace):
        return ()
    stored = WatchedObject.objects.filter(
        cluster_id=gang.cluster_id, resource=EVENTS, namespace=gang.namespace
    )
    own, found = _own(gang, detail), list[Event]()
    for start in range(0, len(own), BATCH):
        rows = stored.filter(about__in=own[start : start + BATCH]).values_list("data", flat=True)
        found += (unpack(bytes(data), Event) for data in rows[: MOST_READ - len(found)])
    newest = heapq.nlargest(MOST_EVENTS, found, key=lambda event: event.last_seen or _LONG_AGO)
    return tuple(_row(event) for event in newest)


def _own(gang: Gang, detail: Detail) -> list[str]:
    """Return the uids of all objects of the gang, those first that most is to be said about."""
    members = sorted(detail.members, key=lambda member: member.state is Health.RUNNING)
    uids = [gang.uid, *(job.ref.uid for job in detail.jobs), *(ref.uid for ref in detail.groups)]
    return list(dict.fromkeys([*uids, *(member.ref.uid for member in members)]))


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
