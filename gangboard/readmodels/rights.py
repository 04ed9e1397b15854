"""Rights of a user in words, one line for each role."""

from __future__ import annotations

from collections.abc import Iterable

from gangboard.domain.text import sentence_case
from gangboard.readmodels.formatting import printable
from gangboard.store.access import LOGS, Viewer
from gangboard.store.models import Cluster
from gangboard.store.namespace_patterns import is_pattern, matches
from gangboard.store.role_places import right_text

MOST = 12
"""Lines of a small menu."""
_RANKS = ("viewer", LOGS, "operator", "admin")
_ACTING = frozenset({"operator", "admin"})
RoleOnPlace = tuple[str, str | None, str | None]
"""(role, name of the cluster or None, namespaces or None)."""


def rights_of(viewer: Viewer) -> tuple[str, ...]:
    """Return a sentence for each role, the strongest first (1 query, none if all roles are for all clusters)."""
    ids = {scope.cluster_id for scope in viewer.scopes if scope.cluster_id is not None}
    names = dict(Cluster.objects.filter(pk__in=ids).values_list("pk", "name")) if ids else {}
    roles = (
        (
            scope.role,
            None if scope.cluster_id is None else names.get(scope.cluster_id, "?"),
            scope.namespace,
        )
        for scope in viewer.scopes
    )
    lines = tuple(
        f"{sentence_case(right)}." for right in right_texts(roles, may_act=viewer.may_act)
    )
    if len(lines) > MOST:
        return (*lines[: MOST - 1], f"and {len(lines) - MOST + 1} more roles")
    return lines or ("No role yet: ask an admin for one.",)


def right_texts(roles: Iterable[RoleOnPlace], *, may_act: bool = True) -> tuple[str, ...]:
    """Return the rights of roles, the strongest first: `may see research on east, may not act`.

    A role is left out if another role allows as much on the same place. If a stronger role covers a part of the
    place, the user `may not act elsewhere`.
    """
    listed: list[RoleOnPlace] = []
    texts = []
    for role in sorted(roles, key=lambda candidate: -_rank(candidate[0])):
        if any(_covers(candidate, role) for candidate in listed):
            continue
        acts_in_part = may_act and any(
            candidate[0] in _ACTING and _overlaps(candidate, role) for candidate in listed
        )
        text = right_text(*role, may_act=may_act)
        if acts_in_part and text.endswith("may not act"):
            text += " elsewhere"
        listed.append(role)
        texts.append(printable(text))
    return tuple(texts)


def _covers(role: RoleOnPlace, inner: RoleOnPlace) -> bool:
    """Return whether a role allows as much as another one on its place."""
    if inner[0] == LOGS != role[0]:
        return False
    return role[1] in (None, inner[1]) and _contains(role[2] or "", inner[2] or "")


def _overlaps(role: RoleOnPlace, second: RoleOnPlace) -> bool:
    """Return whether two places may have a namespace in common. Two patterns always may."""
    names, other_names = role[2] or "", second[2] or ""
    if role[1] and second[1] and role[1] != second[1]:
        return False
    both_patterns = is_pattern(names) and is_pattern(other_names)
    return both_patterns or _contains(names, other_names) or _contains(other_names, names)


def _contains(names: str, inner: str) -> bool:
    """Return whether the namespaces of a role, a name or a pattern or "" for all, contain those of another one."""
    if not names or names == inner:
        return True
    return is_pattern(names) and bool(inner) and not is_pattern(inner) and matches(names, inner)


def _rank(role: str) -> int:
    return _RANKS.index(role) if role in _RANKS else -1
