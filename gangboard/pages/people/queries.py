"""People, their roles, and group roles, for admins of everything. Other viewers get no rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.contrib.auth.models import User
from django.db.models import (
    Count,
    DateTimeField,
    Exists,
    IntegerField,
    Max,
    Model,
    OuterRef,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Coalesce, Greatest
from django.urls import reverse
from django.utils import timezone

from gangboard.pages.core.pagination import Rows
from gangboard.pages.people.rows import GivenRoleRow, GroupRoleRow, HeldRoleRow, UserRow
from gangboard.pages.people.sign_ins import NEVER, open_sessions
from gangboard.readmodels.cursors import SortKey, read_page
from gangboard.readmodels.filters import all_occur_in
from gangboard.readmodels.rights import right_texts
from gangboard.store import group_roles
from gangboard.store.access import ROLES, Viewer
from gangboard.store.models import AccessToken, Grant, Identity, SessionRecord
from gangboard.store.role_places import role_text

STATES = ("open", "disabled")
ROLE_FILTERS = (*ROLES, "none")
USER_ORDERINGS: Mapping[str, tuple[SortKey, ...]] = MappingProxyType(
    {
        "name": (SortKey("username"),),
        "-name": (SortKey("username", descending=True),),
        "last_seen_at": (SortKey("seen"), SortKey("username")),
        "-last_seen_at": (SortKey("seen", descending=True), SortKey("username")),
    }
)


@dataclass(frozen=True, slots=True)
class UserFilters:
    """Filters of the list of people. An empty filter matches all."""

    q: str = ""
    """Words that must all occur in the name."""
    role: str = ""
    """One of ROLE_FILTERS: people with this role anywhere, or without any role."""
    state: str = ""
    """One of STATES."""
    ordering: str = ""


def users_page(
    *, viewer: Viewer, filters: UserFilters, cursor: str | None = None, limit: int = 100
) -> Rows[UserRow]:
    """Return one page of people (4 queries). Raises CursorError."""
    users = _users(viewer).filter(all_occur_in(filters.q, ("username",)))
    if filters.state in STATES:
        users = users.filter(is_active=filters.state == "open")
    grants = Grant.objects.filter(user=OuterRef("pk"))
    if filters.role == "none":
        users = users.filter(~Exists(grants))
    elif filters.role in ROLES:
        users = users.filter(Exists(grants.filter(role=filters.role)))
    keys = USER_ORDERINGS.get(filters.ordering, USER_ORDERINGS["name"])
    page, next_cursor = read_page(users, keys, cursor=cursor, limit=limit)
    return Rows(_user_rows(page), next_cursor)


def read_user(name: str, *, viewer: Viewer) -> UserRow | None:
    """Return a person, or None if no person has this name (3 queries)."""
    rows = _user_rows(list(_users(viewer).filter(username=name)))
    return rows[0] if rows else None


def read_group_roles(*, viewer: Viewer) -> tuple[GroupRoleRow, ...]:
    """Return the roles of all groups, by group (2 queries)."""
    if not viewer.is_admin:
        return ()
    groups = Identity.objects.filter(user__is_active=True).values_list("groups", flat=True)
    members = Counter(group for user_groups in groups for group in set(user_groups))
    return tuple(
        GroupRoleRow(
            row.group, row.role, row.cluster, row.namespace or None, members[row.group], row.id
        )
        for row in group_roles.list_group_roles()
    )


def read_held_roles(*, viewer: Viewer) -> tuple[HeldRoleRow, ...]:
    """Return the roles of all people, by name (1 query)."""
    if not viewer.is_admin:
        return ()
    grants = Grant.objects.order_by("user__username", "cluster__name", "namespace", "pk")
    columns = ("user__username", "role", "cluster__name", "namespace", "origin")
    return tuple(
        HeldRoleRow(name, role, cluster, namespace or None, origin)
        for name, role, cluster, namespace, origin in grants.values_list(*columns)
    )


def _users(viewer: Viewer) -> QuerySet[User]:
    if not viewer.is_admin:
        return User.objects.none()
    now = timezone.now()
    sessions = SessionRecord.objects.filter(user=OuterRef("pk"))
    return User.objects.annotate(
        seen=Greatest(
            Coalesce("last_login", Value(NEVER, DateTimeField())),
            Coalesce(
                Subquery(_aggregate_by_user(sessions, Max("last_seen_at"))),
                Value(NEVER, DateTimeField()),
            ),
        ),
        live_tokens=_count(AccessToken.objects.filter(user=OuterRef("pk"), expires_at__gt=now)),
        live_sessions=_count(open_sessions().filter(user=OuterRef("pk"))),
    )


def _aggregate_by_user(rows: QuerySet[Model], value: Max | Count) -> Any:
    return rows.order_by().values("user").annotate(value=value).values("value")


def _count(rows: QuerySet[Model]) -> Coalesce:
    return Coalesce(Subquery(_aggregate_by_user(rows, Count("pk"))), 0, output_field=IntegerField())


def _user_rows(users: Sequence[User]) -> tuple[UserRow, ...]:
    ids = [user.pk for user in users]
    groups = dict(Identity.objects.filter(user__in=ids).values_list("user_id", "groups"))
    roles: dict[int, list[GivenRoleRow]] = {id_: [] for id_ in ids}
    grants = Grant.objects.filter(user__in=ids).order_by("cluster__name", "namespace", "pk")
    for row in grants.values_list(
        "user_id", "user__username", "role", "cluster__name", "namespace", "origin"
    ):
        roles[row[0]].append(_role_row(*row[1:]))
    return tuple(
        _user_row(user, tuple(roles[user.pk]), tuple(sorted(groups.get(user.pk, ()))))
        for user in users
    )


def _role_row(
    name: str, role: str, cluster: str | None, namespace: str, origin: str
) -> GivenRoleRow:
    text = role_text(role, cluster, namespace)
    href = reverse("person-role-take", args=[name])
    return GivenRoleRow(role, cluster, namespace or None, origin, text, href)


def _user_row(user: User, roles: tuple[GivenRoleRow, ...], groups: tuple[str, ...]) -> UserRow:
    name = user.get_username()
    last_seen: datetime = user.seen  # type: ignore[attr-defined]  # annotated by _users
    return UserRow(
        name=name,
        disabled=not user.is_active,
        rights=right_texts((row.role, row.cluster, row.namespace) for row in roles),
        groups=groups,
        last_seen_at=None if last_seen == NEVER else last_seen,
        tokens=user.live_tokens,  # type: ignore[attr-defined]
        sessions=user.live_sessions,  # type: ignore[attr-defined]
        roles=roles,
        state="open" if user.is_active else "disabled",
        href=reverse("person", args=[name]),
    )
