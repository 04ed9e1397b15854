"""A line of the audit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gangboard.pages.core.rows import shown


@dataclass(frozen=True, slots=True)
class AuditLineRow:
    """A line of the audit. Lines are added and never changed."""

    number: int = shown("Number", "Its place in the chain of hashes.")
    at: datetime = shown("When")
    event: str = shown("Event", "Such as `requested` or `role-given`; a release may add some.")
    sentence: str = shown("What")
    object: str | None = shown("Object", "Such as `Job/train-0` or `User/ada`; null for none.")
    actor: str = shown("By")
    cluster: str | None = shown("Cluster", "Null if it is about none.")
    namespace: str | None = shown("Namespace", "Null if it is about none.")
    action_id: str | None = shown("Action", "Id of its action in `actions/`; null without one.")
    source: str | None = shown(
        "From", "Address from which it came; null if unknown, and for all but admins of everything."
    )
    digest: str = shown("Hash", "SHA-256 of the line and of the hash before it.")
