"""Kubernetes events with the reasons that rules use."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.objects import Meta, ObjectRef


@dataclass(frozen=True, slots=True)
class Event:
    """Event with its newest note and time, identified by uid."""

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
    """Secondary object. For `Preempted` it is the preemptor, a pod or PodGroup.

    Its name and namespace are empty if only the note has its uid."""


@dataclass(frozen=True, slots=True)
class CreationFailure:
    """Event in which a controller reports that it could not create an object for an owner."""

    event: Event
    cause: str
    """Note of the event without the prefix before the cause."""


def last_seen_seconds(event: Event) -> float:
    """Return the last time of the event as a sort key, in seconds since 1970. 0 if it has no time."""
    return event.last_seen.timestamp() if event.last_seen is not None else 0.0
