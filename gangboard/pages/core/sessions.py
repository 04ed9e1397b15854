"""Sessions of signed-in browsers, as rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gangboard.pages.core.rows import shown

METHODS = ("password", "link", "provider", "proxy")
"""Ways to sign in."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A browser in which a person is signed in."""

    id: int = shown("Session", on_page=False)
    owner: str = shown("Owner", link="href")
    method: str = shown("Signed in by", choices=METHODS)
    address: str | None = shown("From", "Address of its last request; null if unknown.")
    created_at: datetime = shown("Signed in")
    last_seen_at: datetime = shown("Last seen", "To the minute.")
    ends_at: datetime = shown("Ends", "At the latest; earlier if nobody uses it.")
    is_current: bool = shown("This one", "Whether it is the session of this request.")
    href: str = ""
