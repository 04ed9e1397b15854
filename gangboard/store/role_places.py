"""Validation and text of roles, shared by roles of people and of groups."""

from __future__ import annotations

from gangboard.store.access import LOGS, ROLES
from gangboard.store.clusters import check_dns_label, find_cluster
from gangboard.store.models import Cluster
from gangboard.store.namespace_patterns import MOST_STARS, is_pattern, is_valid_pattern


class PeopleError(ValueError):
    """A refused change. The text is one sentence for the requester."""


def cluster_of_role(role: str, cluster_name: str | None, namespace: str) -> Cluster | None:
    """Return the cluster of a role that may be given; None for every cluster.

    Raises PeopleError for an invalid role or namespace, and ClusterError for an unknown cluster.
    """
    if role not in ROLES:
        raise PeopleError(f"there is no role {role!r}; the roles are {', '.join(ROLES)}")
    if is_pattern(namespace):
        _check_pattern(namespace)
    elif namespace:
        check_dns_label(namespace, "a namespace")
    return None if cluster_name is None else find_cluster(name=cluster_name)


def place_text(cluster_name: str | None, namespace: str | None) -> str:
    """Return a scope as text: `everything`, `everything on east`, `research on east`."""
    names = f"namespaces {namespace}" if namespace and is_pattern(namespace) else namespace
    if not names:
        return f"everything on {cluster_name}" if cluster_name else "everything"
    return f"{names} on {cluster_name or 'every cluster'}"


def role_text(role: str, cluster_name: str | None, namespace: str | None) -> str:
    """Return a role as text, such as `viewer of team-a on every cluster`."""
    return f"{role} of {place_text(cluster_name, namespace)}"


def right_text(
    role: str, cluster_name: str | None, namespace: str | None, *, may_act: bool = True
) -> str:
    """Return the rights of a role as text, such as `may see research on east, may not act`.

    `may_act` is False for a read-only token.
    """
    visible_text = f"may see {place_text(cluster_name, namespace)}"
    if role == LOGS:
        return f"{visible_text}, may read logs"
    if role not in ("operator", "admin") or not may_act:
        return f"{visible_text}, may not act"
    if role == "operator":
        return f"{visible_text}, may act"
    if cluster_name or namespace:
        return f"{visible_text}, may act with any lever"
    return f"{visible_text}, may act and administer"


def _check_pattern(pattern: str) -> None:
    if not pattern.strip("*"):
        raise PeopleError(
            "leave out the namespace to select all namespaces: * alone is not a pattern"
        )
    if not is_valid_pattern(pattern):
        raise PeopleError(
            f"{pattern!r} is not a pattern of namespaces: up to 63 lower-case letters, digits, hyphens and at "
            f"most {MOST_STARS} stars, such as team-*"
        )
