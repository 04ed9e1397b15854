"""Who may see what: the one gate through which every query of a viewer goes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db.models import Q

from gangboard.store.models import Grant
from gangboard.store.namespace_patterns import is_pattern, matches

ROLES = ("viewer", "operator", "admin")
"""Each may all that the ones before it may."""


@dataclass(frozen=True, slots=True)
class Scope:
    """One place in which a person may see: namespaces of a cluster. None and "" mean all."""

    cluster_id: int | None
    namespace: str
    """A name, or a pattern such as `team-*`."""
    role: str

    def covers(self, cluster_id: int, namespace: str) -> bool:
        """Return whether the place contains a namespace of a cluster."""
        if self.cluster_id not in (None, cluster_id):
            return False
        if is_pattern(self.namespace):
            return matches(self.namespace, namespace)
        return self.namespace in ("", namespace)


@dataclass(frozen=True, slots=True)
class Viewer:
    """A person (or token) with the places that it may see. No place: it sees nothing."""

    user_id: int
    name: str
    scopes: tuple[Scope, ...]
    may_act: bool = True
    """False for a token that is read-only."""
    token: str = ""
    """Public part of the token that asks; empty for a session."""
    address: str = ""
    """From where the request comes, for the record."""

    @property
    def sees_everything(self) -> bool:
        """Whether some grant covers every namespace of every cluster."""
        return any(scope.cluster_id is None and not scope.namespace for scope in self.scopes)

    @property
    def is_admin(self) -> bool:
        """Whether some grant makes it an admin of everything."""
        return any(
            scope.role == "admin" and scope.cluster_id is None and not scope.namespace
            for scope in self.scopes
        )

    def gang_filter(self, prefix: str = "") -> Q:
        """Condition on rows that have `cluster` and `namespace` columns."""
        if self.sees_everything:
            return Q()
        condition = Q(pk__in=[])
        for scope in self.scopes:
            place: dict[str, Any] = {}
            if scope.cluster_id is not None:
                place[f"{prefix}cluster_id"] = scope.cluster_id
            if scope.namespace:
                lookup = "__matches" if is_pattern(scope.namespace) else ""
                place[f"{prefix}namespace{lookup}"] = scope.namespace
            condition |= Q(**place)
        return condition

    def cluster_filter(self) -> Q:
        """Condition on Cluster rows: those of which it may see at least one namespace."""
        if any(scope.cluster_id is None for scope in self.scopes):
            return Q()
        return Q(pk__in=[scope.cluster_id for scope in self.scopes])

    def sees_cluster(self, cluster_id: int) -> bool:
        """Whether it may see all namespaces of that cluster: nodes and cluster-wide texts."""
        return any(
            not scope.namespace and scope.cluster_id in (None, cluster_id) for scope in self.scopes
        )

    def counts_nodes(self, cluster_id: int) -> bool:
        """Whether it may know how many nodes there are and what is free on them.

        That is for whoever may see a gang of the cluster, on every page: its own numbers are made of them.
        """
        return any(scope.cluster_id in (None, cluster_id) for scope in self.scopes)

    def names_nodes(self, cluster_id: int) -> bool:
        """Whether it may read the names of nodes, and what tells one from another."""
        return self.sees_cluster(cluster_id)

    def whole_cluster_filter(self) -> Q:
        """Condition on rows that have a `cluster` column: of clusters that it may see as a whole."""
        if self.sees_everything:
            return Q()
        return Q(cluster_id__in=[one.cluster_id for one in self.scopes if not one.namespace])

    def may_operate(self, cluster_id: int, namespace: str) -> bool:
        """Whether it may suspend and resume there: as operator or admin, with a credential that may act."""
        return self.may_act and self._has_role(("operator", "admin"), cluster_id, namespace)

    @property
    def operates_somewhere(self) -> bool:
        """Whether there is any place in which it may suspend and resume."""
        return self.may_act and any(scope.role in ("operator", "admin") for scope in self.scopes)

    def may_stop(self, cluster_id: int, namespace: str, *, asked_by: int | None) -> bool:
        """Whether it may stop an action there before it is sent: who asked, and who may ask."""
        if not self.may_act or not self.sees(cluster_id, namespace):
            return False
        return asked_by == self.user_id or self.may_operate(cluster_id, namespace)

    def administers(self, cluster_id: int, namespace: str) -> bool:
        """Whether it is admin there, with a credential that may act."""
        return self.may_act and self._has_role(("admin",), cluster_id, namespace)

    def _has_role(self, roles: tuple[str, ...], cluster_id: int, namespace: str) -> bool:
        return any(
            scope.role in roles and scope.covers(cluster_id, namespace) for scope in self.scopes
        )

    def sees(self, cluster_id: int, namespace: str) -> bool:
        """Whether it may see that namespace."""
        return any(scope.covers(cluster_id, namespace) for scope in self.scopes)


def viewer_of(
    user: AbstractBaseUser | AnonymousUser,
    *,
    may_act: bool = True,
    token: str = "",
    address: str = "",
) -> Viewer:
    """Return the viewer for a signed-in user (one query), or one that sees nothing."""
    if not user.is_authenticated:
        return Viewer(0, "", (), may_act=False)
    grants = Grant.objects.filter(user_id=user.pk)
    rows = grants.values_list("cluster_id", "namespace", "role")
    # A person may have the same role twice: by hand and by a group.
    scopes = tuple(dict.fromkeys(Scope(*row) for row in rows))
    return Viewer(int(user.pk), str(user), scopes, may_act, token, address)


def viewers_of(users: Iterable[User]) -> dict[int, Viewer]:
    """Return the viewers of these people by user id, for what is done in their absence (1 query)."""
    names = {user.pk: str(user) for user in users}
    scopes: dict[int, list[Scope]] = {id_: [] for id_ in names}
    grants = Grant.objects.filter(user_id__in=names)
    for grant in grants:
        scopes[grant.user_id].append(Scope(grant.cluster_id, grant.namespace, grant.role))
    return {
        id_: Viewer(id_, name, tuple(scopes[id_]), may_act=False) for id_, name in names.items()
    }
