"""Suspensions with author, time and reason."""

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
class Suspension:
    """The author, time and reason of a suspension, as far as they are known."""

    by: str
    """`by ada`, `with kubectl`: what follows the verb in a sentence."""
    at: datetime | None
    reason: str = ""
    by_person: bool = False
    """With gangboard or kubectl. Any other field manager may be a controller."""
