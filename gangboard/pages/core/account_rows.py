"""Sessions and roles of people, as rows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gangboard.readmodels.declarations import shown
from gangboard.store.access import ROLES

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
    ends_at: datetime = shown(
        "Ends", "The session ends at this time, or earlier if it is not used."
    )
    is_current: bool = shown("Current", "Whether it is the session of this request.")
    href: str = ""


def role_field() -> Any:
    """Return the field of a role."""
    return shown("Role", choices=ROLES)


def cluster_field() -> Any:
    """Return the field of the cluster of a role."""
    return shown("Cluster", "Null for every cluster.", empty="every cluster")


def namespace_field() -> Any:
    """Return the field of the namespaces of a role."""
    return shown(
        "Namespace",
        "A name, or a pattern such as `team-*`. Null for every namespace.",
        empty="every namespace",
    )


def origin_field(**options: Any) -> Any:
    """Return the field that says who gave a role."""
    choices = ("hand", "group")
    return shown("Given", "By hand, or by a group at sign-in.", choices=choices, **options)


@dataclass(frozen=True, slots=True)
class RoleRow:
    """A role on a place."""

    role: str = role_field()
    cluster: str | None = cluster_field()
    namespace: str | None = namespace_field()
