"""Roles of a person or a group, as rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gangboard.pages.core.rows import shown
from gangboard.store.access import ROLES


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
