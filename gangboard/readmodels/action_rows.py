"""Actions and Holds as pages and API show them to one viewer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gangboard.domain.action import Plan


@dataclass(frozen=True, slots=True)
class OfferRow:
    """One button of one object: pressed it asks, off it says why."""

    verb: str
    label: str
    """`Suspend`, `Resume`, `Hold`, `Release`: the word on the button."""
    allowed: bool
    lever: str
    """Empty when not allowed."""
    why_not: str
    warnings: tuple[str, ...]
    cluster: str
    api_group: str
    kind: str
    namespace: str
    name: str
    uid: str
    generation: int
    plan: Plan | None = None
    """None when the viewer may not act there at all."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step of an action."""

    name: str
    method: str
    path: str
    patch: str
    dry_run: bool
    state: str
    result: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class ActionRow:
    """One action."""

    id: str
    verb: str
    cluster: str
    api_group: str
    kind: str
    namespace: str
    name: str
    uid: str
    generation: int | None
    gang_id: str
    state: str
    is_final: bool
    label: str
    """The state in words for people: `Suspended, watching`, `Held`, `Reverted by jobset` …"""
    tone: str
    """Name of the tone: as the faces of health."""
    lever: str
    reason: str
    actor: str
    message: str
    warnings: tuple[str, ...]
    reactions: tuple[str, ...]
    steps: tuple[StepRow, ...]
    reverted_by: str
    held_seconds: float | None
    until: datetime | None
    batch: str
    requested_at: datetime
    sent_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class HoldRow:
    """One Hold that is in a cluster."""

    cluster: str
    namespace: str
    name: str
    job: str
    owner_kind: str
    owner_name: str
    owner_uid: str
    gang_id: str
    """Empty when the owner is not there any more."""
    by: str
    reason: str
    since: datetime | None
    until: datetime | None
    in_force: bool | None
    """None: not known."""
    checked_at: datetime | None
    sentence: str
    """What is the matter with it, or empty."""
