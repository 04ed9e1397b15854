"""Rights of the signed-in user, one line for each role."""

from __future__ import annotations

from collections.abc import Iterable

from gangboard.domain.reading.wording import sentence_case
from gangboard.readmodels.printable import printable
from gangboard.store.access import ROLES, Viewer
from gangboard.store.models import Cluster
from gangboard.store.role_places import right_text

MOST = 12
"""Lines of a small menu."""
RoleOnPlace = tuple[str, str | None, str | None]
"""(role, name of the cluster or None, namespaces or None)."""


def rights_of(viewer: Viewer) -> tuple[str, ...]:
    """Return a sentence for each role, the strongest first (1 query, none for roles everywhere)."""
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
    """Return what roles allow, each right once, the strongest first: `may see research on east, may not act`.

    A role that a person has by hand and by a group is one right.
    """
    strongest = sorted(roles, key=lambda one: -_rank(one[0]))
    texts = (printable(right_text(*one, may_act=may_act)) for one in strongest)
    return tuple(dict.fromkeys(texts))


def _rank(role: str) -> int:
    return ROLES.index(role) if role in ROLES else -1
