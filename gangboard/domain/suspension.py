"""Suspensions, pauses, deactivations and cordons with author, time and reason."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class RecordedSuspend:
    """The newest suspend of one object in gangboard's own record, not undone by a later action."""

    actor: str
    reason: str
    at: datetime
    """When the request was sent."""


@dataclass(frozen=True, slots=True)
class FieldWriter:
    """The field manager that wrote a field last (`metadata.managedFields`): text of the cluster."""

    manager: str
    at: datetime | None = None
    """When it wrote the field, or a later write of the same manager to the same object.

    The API server keeps one time for all fields of a manager (observed on 1.37.2), cut to the second.
    """
    is_exact: bool = False
    """Another field of the object confirms that time."""


@dataclass(frozen=True, slots=True)
class Suspension:
    """The author, time and reason of a suspension, as far as they are known.

    A pause, a deactivation and a cordon are told in the same way.
    """

    by: str
    """`by ada`, `with kubectl`: what follows the verb in a sentence."""
    at: datetime | None
    reason: str = ""
    or_before: bool = False
    """`at` is the latest possible time, not the time itself."""
    by_person: bool = False
    """With gangboard or kubectl. Any other field manager may be a controller."""
