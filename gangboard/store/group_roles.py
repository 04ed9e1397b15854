"""Roles of groups of the identity provider. Members get them at each sign-in, and at once after a change."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from gangboard.store.clusters import find_cluster
from gangboard.store.models import Cluster, Grant, GroupRole, Identity
from gangboard.store.models.people import GROUP
from gangboard.store.people import GANGBOARD, record
from gangboard.store.role_places import PeopleError, cluster_of_role, role_text

LONGEST_GROUP = 255
RoleScope = tuple[str, int | None, str]
"""(role, cluster id or None, namespace or "")."""


@dataclass(frozen=True, slots=True)
class GroupGrant:
    """A role of the members of a group."""

    id: int
    group: str
    role: str
    cluster: str | None
    """None for every cluster."""
    namespace: str
    """Empty for every namespace. A pattern such as `team-*` covers all that match."""

    @property
    def text(self) -> str:
        """Return the role as text, such as `viewer of team-a on every cluster`."""
        return role_text(self.role, self.cluster, self.namespace)


def list_group_roles() -> tuple[GroupGrant, ...]:
    """Return the roles of all groups, sorted by group, cluster and namespace (1 query)."""
    rows = GroupRole.objects.order_by("group", "cluster__name", "namespace", "role")
    values = rows.values_list("pk", "group", "role", "cluster__name", "namespace")
    return tuple(GroupGrant(*row) for row in values)


def grant_group(
    *,
    group: str,
    role: str,
    cluster_name: str | None = None,
    namespace: str = "",
    by: str = GANGBOARD,
) -> bool:
    """Give a role to a group. Return False if the group has exactly this role already.

    `cluster_name` None means every cluster, and an empty `namespace` every namespace; a pattern is allowed.
    Members who have an account get the role at once. Raises PeopleError, and ClusterError for an unknown
    cluster.
    """
    _check_group(group)
    cluster = cluster_of_role(role, cluster_name, namespace)
    with transaction.atomic():
        _, created = GroupRole.objects.get_or_create(
            group=group, role=role, cluster=cluster, namespace=namespace
        )
        if created:
            _apply_to_members(group)
            text = role_text(role, cluster_name, namespace)
            _record("role-given", f"Members of group {group} are {text} from now on.", by, cluster)
    return created


def revoke_group(
    *,
    group: str,
    role: str,
    cluster_name: str | None = None,
    namespace: str = "",
    by: str = GANGBOARD,
) -> tuple[GroupGrant, ...]:
    """Take back exactly what `grant_group` gave. Return the remaining roles of the group.

    Members lose the role at once. Raises PeopleError if the group has no such role, and ClusterError.
    """
    cluster = None if cluster_name is None else find_cluster(name=cluster_name)
    text = role_text(role, cluster_name, namespace)
    roles = GroupRole.objects.filter(group=group, role=role, cluster=cluster, namespace=namespace)
    with transaction.atomic():
        if not roles.delete()[0]:
            has = "; ".join(row.text for row in list_group_roles() if row.group == group)
            raise PeopleError(f"group {group!r} is not {text}; it is: {has or 'nothing'}")
        _apply_to_members(group)
        _record("role-taken", f"Members of group {group} are no longer {text}.", by, cluster)
    return tuple(row for row in list_group_roles() if row.group == group)


def revoke_group_role(role_id: int, *, by: str = GANGBOARD) -> bool:
    """Take back the role with this id of `list_group_roles`. Return False if there is none."""
    row = next((row for row in list_group_roles() if row.id == role_id), None)
    if row is None:
        return False
    revoke_group(
        group=row.group, role=row.role, cluster_name=row.cluster, namespace=row.namespace, by=by
    )
    return True


def apply_groups(user: User, groups: list[str]) -> tuple[list[str], list[str]]:
    """Give a user exactly the roles of these groups. Return the added and the removed roles as texts.

    Roles that a person granted stay. Call it in a transaction.
    """
    desired: set[RoleScope] = set(
        GroupRole.objects.filter(group__in=groups).values_list("role", "cluster_id", "namespace")
    )
    rows = {
        (row.role, row.cluster_id, row.namespace): row
        for row in Grant.objects.select_for_update().filter(user=user, origin=GROUP)
    }
    taken = [place for place in rows if place not in desired]
    added = sorted(desired - rows.keys(), key=str)
    # Unchanged rows are not written, because every open page watches this table for new rows.
    Grant.objects.filter(pk__in=[rows[place].pk for place in taken]).delete()
    Grant.objects.bulk_create(
        Grant(user=user, role=role, cluster_id=cluster_id, namespace=namespace, origin=GROUP)
        for role, cluster_id, namespace in added
    )
    names = _cluster_names([*added, *taken])
    return [_scope_text(place, names) for place in added], [
        _scope_text(place, names) for place in taken
    ]


def _apply_to_members(group: str) -> None:
    for identity in Identity.objects.select_related("user").filter(user__is_active=True):
        if group in identity.groups:
            apply_groups(identity.user, identity.groups)


def _cluster_names(places: list[RoleScope]) -> dict[int, str]:
    ids = {cluster_id for _, cluster_id, _ in places if cluster_id is not None}
    return dict(Cluster.objects.filter(pk__in=ids).values_list("pk", "name")) if ids else {}


def _scope_text(place: RoleScope, names: dict[int, str]) -> str:
    role, cluster_id, namespace = place
    return role_text(role, None if cluster_id is None else names[cluster_id], namespace)


def _check_group(group: str) -> None:
    if not group or len(group) > LONGEST_GROUP or not group.isprintable() or group != group.strip():
        raise PeopleError(
            f"{group!r} cannot be the name of a group: 1 to {LONGEST_GROUP} printable characters "
            "without blanks at the ends"
        )


def _record(event: str, sentence: str, by: str, cluster: Cluster | None) -> None:
    record(event, sentence, by, "", cluster)
