"""Who suspended an object, when, and with which reason."""

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
    """What is known about who suspended an object."""

    by: str
    """`by ada`, `with kubectl`: what follows the verb in a sentence."""
    at: datetime | None
    reason: str = ""
    by_person: bool = False
    """With gangboard or kubectl. Any other field manager may be a controller."""
