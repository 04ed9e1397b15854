"""Roles of a person or a group, as rows and in words."""

from __future__ import annotations

from dataclasses import dataclass

from gangboard.pages.core.rows import shown
from gangboard.store.access import ROLES


@dataclass(frozen=True, slots=True)
class RoleRow:
    """A role on a place."""

    role: str = shown("Role", choices=ROLES)
    cluster: str | None = shown("Cluster", "Null for every cluster.", empty="every cluster")
    namespace: str | None = shown("Namespace", "Null for every namespace.", empty="every namespace")


def place_words(cluster: str | None, namespace: str | None) -> str:
    """Return a place in a few words: `everything`, `cluster east`, `research on east`."""
    if not namespace:
        return f"cluster {cluster}" if cluster else "everything"
    return f"{namespace} on {cluster or 'every cluster'}"


def role_words(role: str, cluster: str | None, namespace: str | None) -> str:
    """Return a role in a few words: `viewer of research on east`."""
    return f"{role} of {place_words(cluster, namespace)}"
