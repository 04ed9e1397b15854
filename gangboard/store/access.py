"""Viewers and their permissions. Every query on behalf of a person is filtered here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.db.models import Q

from gangboard.store.models import Grant
from gangboard.store.namespace_patterns import is_pattern, matches

LOGS = "logs"
ROLES = ("viewer", "operator", "admin", LOGS)
"""Each of the first three includes the rights of the roles before it. `logs` may see and read logs of containers, and
no other role may read them."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The namespaces of a cluster that a role covers. `cluster_id` None and `namespace` "" mean all."""

    cluster_id: int | None
    namespace: str
    """A name, or a pattern such as `team-*`."""
    role: str

    def covers(self, cluster_id: int, namespace: str) -> bool:
        """Return whether the scope contains a namespace of a cluster."""
        if self.cluster_id not in (None, cluster_id):
            return False
        if is_pattern(self.namespace):
            return matches(self.namespace, namespace)
        return self.namespace in ("", namespace)


@dataclass(frozen=True, slots=True)
class Viewer:
    """A person or token with its scopes. A viewer without scopes sees no rows."""

    user_id: int
    name: str
    scopes: tuple[Scope, ...]
    may_act: bool = True
    """False for a read-only token."""
    token: str = ""
    """Public part of the token of the request; empty for a session."""
    address: str = ""
    """Client address of the request, for the audit."""

    @property
    def sees_everything(self) -> bool:
        """Return whether a grant covers every namespace of every cluster."""
        return any(scope.cluster_id is None and not scope.namespace for scope in self.scopes)

    @property
    def is_admin(self) -> bool:
        """Return whether a grant makes the viewer an admin of every cluster."""
        return any(
            scope.role == "admin" and scope.cluster_id is None and not scope.namespace
            for scope in self.scopes
        )

    def gang_filter(self, prefix: str = "") -> Q:
        """Return the condition on rows with `cluster` and `namespace` columns."""
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
        """Return the condition on clusters of which the viewer sees at least one namespace."""
        if any(scope.cluster_id is None for scope in self.scopes):
            return Q()
        return Q(pk__in=[scope.cluster_id for scope in self.scopes])

    def sees_cluster(self, cluster_id: int) -> bool:
        """Return whether the viewer sees all namespaces of a cluster, and so its nodes and cluster-wide texts."""
        return any(
            not scope.namespace and scope.cluster_id in (None, cluster_id) for scope in self.scopes
        )

    def counts_nodes(self, cluster_id: int) -> bool:
        """Return whether the viewer may know the number of nodes and their free resources.

        Every viewer of a gang of the cluster may, because the numbers shown for that gang are made of these.
        """
        return any(scope.cluster_id in (None, cluster_id) for scope in self.scopes)

    def names_nodes(self, cluster_id: int) -> bool:
        """Return whether the viewer may read node names and other properties that identify a node."""
        return self.sees_cluster(cluster_id)

    def whole_cluster_filter(self) -> Q:
        """Return the condition on rows with a `cluster` column whose cluster the viewer sees as a whole."""
        if self.sees_everything:
            return Q()
        return Q(cluster_id__in=[scope.cluster_id for scope in self.scopes if not scope.namespace])

    def may_operate(self, cluster_id: int, namespace: str) -> bool:
        """Return whether the viewer may suspend and resume in a namespace, with this credential."""
        return self.may_act and self._has_role(("operator", "admin"), cluster_id, namespace)

    @property
    def operates_somewhere(self) -> bool:
        """Return whether the viewer may suspend and resume in any namespace."""
        return self.may_act and any(scope.role in ("operator", "admin") for scope in self.scopes)

    def may_stop(self, cluster_id: int, namespace: str, *, asked_by: int | None) -> bool:
        """Return whether the viewer may cancel an unsent action: the requester may, and every operator there."""
        if not self.may_act or not self.sees(cluster_id, namespace):
            return False
        return asked_by == self.user_id or self.may_operate(cluster_id, namespace)

    def administers(self, cluster_id: int, namespace: str) -> bool:
        """Return whether the viewer is an admin of a namespace, with a credential that may act."""
        return self.may_act and self._has_role(("admin",), cluster_id, namespace)

    def may_read_logs(self, cluster_id: int, namespace: str) -> bool:
        """Return whether the viewer may read logs of containers in a namespace. A read-only token may."""
        return self._has_role((LOGS,), cluster_id, namespace)

    def _has_role(self, roles: tuple[str, ...], cluster_id: int, namespace: str) -> bool:
        return any(
            scope.role in roles and scope.covers(cluster_id, namespace) for scope in self.scopes
        )

    def sees(self, cluster_id: int, namespace: str) -> bool:
        """Return whether the viewer sees a namespace."""
        return any(scope.covers(cluster_id, namespace) for scope in self.scopes)


def viewer_of(
    user: AbstractBaseUser | AnonymousUser,
    *,
    may_act: bool = True,
    token: str = "",
    address: str = "",
) -> Viewer:
    """Return the viewer of a user (1 query). An anonymous user sees no rows."""
    if not user.is_authenticated:
        return Viewer(0, "", (), may_act=False)
    grants = Grant.objects.filter(user_id=user.pk)
    rows = grants.values_list("cluster_id", "namespace", "role")
    # A person may hold the same role twice: from another person and from a group.
    scopes = tuple(dict.fromkeys(Scope(*row) for row in rows))
    return Viewer(int(user.pk), str(user), scopes, may_act, token, address)


def viewers_of(users: Iterable[User]) -> dict[int, Viewer]:
    """Return the viewers of some users by user id, for work in the background (1 query)."""
    names = {user.pk: str(user) for user in users}
    scopes: dict[int, list[Scope]] = {id_: [] for id_ in names}
    grants = Grant.objects.filter(user_id__in=names)
    for grant in grants:
        scopes[grant.user_id].append(Scope(grant.cluster_id, grant.namespace, grant.role))
    return {
        id_: Viewer(id_, name, tuple(scopes[id_]), may_act=False) for id_, name in names.items()
    }
