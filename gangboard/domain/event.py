"""A Kubernetes event of one of the reasons that rules use."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.objects import Meta, ObjectRef


@dataclass(frozen=True, slots=True)
class Event:
    """One event, coalesced by uid: the newest note and time win."""

    meta: Meta
    regarding: ObjectRef
    reason: str
    type: str
    note: str
    count: int
    first_seen: datetime | None
    last_seen: datetime | None
    reporter: str = ""
    related: ObjectRef | None = None
    """The other object of it: for `Preempted` the pod or PodGroup that took the room, without a
    name and namespace where only the note tells its uid."""


@dataclass(frozen=True, slots=True)
class CreationFailure:
    """An event by which a controller says that it could not make what it makes for an owner."""

    event: Event
    cause: str
    """Its note without the words before the cause."""


def last_seen_seconds(event: Event) -> float:
    """Return when it was seen last, in seconds since 1970 to sort by; 0 when it has no time."""
    return event.last_seen.timestamp() if event.last_seen is not None else 0.0
