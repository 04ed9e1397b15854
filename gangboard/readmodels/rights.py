"""Rights of the signed-in user, one line for each role."""

from __future__ import annotations

from gangboard.readmodels.printable import printable
from gangboard.store.access import ROLES, Viewer
from gangboard.store.models import Cluster

_MEANINGS = {
    "viewer": "may look",
    "operator": "may look, suspend and resume",
    "admin": "may look, suspend, resume and switch",
}
MOST = 12
"""Lines of a small menu."""


def rights_of(viewer: Viewer) -> tuple[str, ...]:
    """Return a line for each role, the strongest first (1 query, none for roles everywhere)."""
    ids = {scope.cluster_id for scope in viewer.scopes if scope.cluster_id is not None}
    names = dict(Cluster.objects.filter(pk__in=ids).values_list("pk", "name")) if ids else {}
    lines = []
    for scope in sorted(viewer.scopes, key=lambda one: -_rank(one.role)):
        where = "every namespace" if not scope.namespace else f"namespace {scope.namespace}"
        if scope.cluster_id is not None:
            cluster = f"cluster {names.get(scope.cluster_id, '?')}"
        else:
            cluster = "every cluster"
        meaning = _MEANINGS.get(scope.role, "")
        lines.append(printable(f"{scope.role.capitalize()}, {where} of {cluster}: {meaning}"))
    if len(lines) > MOST:
        return (*lines[: MOST - 1], f"and {len(lines) - MOST + 1} more roles")
    return tuple(lines) or ("No role yet: ask an admin for one.",)


def _rank(role: str) -> int:
    return ROLES.index(role) if role in ROLES else -1
