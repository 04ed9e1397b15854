"""Suspensions, pauses, deactivations and cordons, with author, time and reason."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class RecordedSuspend:
    """Last suspend of an object in gangboard's record that no later action undid."""

    actor: str
    reason: str
    sent_at: datetime
    """Time at which the request was sent."""


@dataclass(frozen=True, slots=True)
class FieldWriter:
    """Field manager that last wrote a field (`metadata.managedFields`). Text from the cluster."""

    manager: str
    at: datetime | None = None
    """Time of that write, or of a later write of the same manager to the same object.

    The API server stores one time for all fields of a manager, cut to the second (observed on 1.37.2).
    """
    is_exact: bool = False
    """Another field of the object confirms the time."""


@dataclass(frozen=True, slots=True)
class Suspension:
    """Known author, time and reason of a suspension. Pauses, deactivations and cordons use it as well."""

    by: str
    """Text after the verb in a sentence: `by ada`, `with kubectl`."""
    time: datetime | None
    reason: str = ""
    or_before: bool = False
    """`time` is the latest possible time, and the exact time is unknown."""
    by_person: bool = False
    """A user did it with gangboard or kubectl. Any other field manager may be a controller."""
