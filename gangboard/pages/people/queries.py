"""What an admin of everything may read of people; everybody else gets nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.db.models import (
    Count,
    DateTimeField,
    Exists,
    F,
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

from gangboard.pages.core.roles import role_words
from gangboard.pages.core.sessions import SessionRow
from gangboard.pages.people.rows import (
    GivenRoleRow,
    GroupRoleRow,
    HeldRoleRow,
    OwnedTokenRow,
    UserRow,
)
from gangboard.readmodels.cursors import SortKey, read_page
from gangboard.readmodels.word_search import all_occur_in
from gangboard.store import group_roles
from gangboard.store.access import ROLES, Viewer
from gangboard.store.models import AccessToken, Grant, Identity, SessionRecord
from gangboard.store.sessions import row_key

NEVER = datetime(1970, 1, 1, tzinfo=UTC)
"""Sorts before every time: a column that may be null cannot be sorted by."""
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
TOKEN_ORDERINGS: Mapping[str, tuple[SortKey, ...]] = MappingProxyType(
    {
        "owner": (SortKey("owner"), SortKey("id")),
        "-owner": (SortKey("owner", descending=True), SortKey("id")),
        **{
            f"{sign}{name}": (SortKey(column, descending=bool(sign)), SortKey("id"))
            for name, column in (
                ("created_at", "created_at"),
                ("expires_at", "expires_at"),
                ("last_used_at", "used"),
            )
            for sign in ("", "-")
        },
    }
)

SESSION_ORDERINGS: Mapping[str, tuple[SortKey, ...]] = MappingProxyType(
    {
        f"{sign}{name}": (SortKey(name, descending=bool(sign)), SortKey("pk"))
        for name in ("owner", "created_at", "last_seen_at", "ends_at")
        for sign in ("", "-")
    }
)


@dataclass(frozen=True, slots=True)
class UserFilters:
    """Which people are asked for. Empty means all."""

    q: str = ""
    """Words that must all occur in the name."""
    role: str = ""
    """One of ROLE_FILTERS: who has that role anywhere, or none at all."""
    state: str = ""
    """One of STATES."""
    ordering: str = ""


@dataclass(frozen=True, slots=True)
class TokenFilters:
    """Which tokens are asked for. Empty means all."""

    q: str = ""
    """Words that must all occur in the owner's name or the public part."""
    ordering: str = ""


@dataclass(frozen=True, slots=True)
class SessionFilters:
    """Which sessions are asked for. Empty means all."""

    q: str = ""
    """Words that must all occur in the owner's name or the address."""
    ordering: str = ""


@dataclass(frozen=True, slots=True)
class UserPage:
    """Some people, and the cursor of the next page."""

    rows: tuple[UserRow, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class TokenPage:
    """Some tokens, and the cursor of the next page."""

    rows: tuple[OwnedTokenRow, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Some sessions, and the cursor of the next page."""

    rows: tuple[SessionRow, ...]
    next_cursor: str | None


def users_page(
    *, viewer: Viewer, filters: UserFilters, cursor: str | None = None, limit: int = 100
) -> UserPage:
    """Return one page of people (4 queries). Raises CursorError."""
    found = _users(viewer).filter(all_occur_in(filters.q, ("username",)))
    if filters.state in STATES:
        found = found.filter(is_active=filters.state == "open")
    grants = Grant.objects.filter(user=OuterRef("pk"))
    if filters.role == "none":
        found = found.filter(~Exists(grants))
    elif filters.role in ROLES:
        found = found.filter(Exists(grants.filter(role=filters.role)))
    keys = USER_ORDERINGS.get(filters.ordering, USER_ORDERINGS["name"])
    page, following = read_page(found, keys, cursor=cursor, limit=limit)
    return UserPage(_user_rows(page), following)


def read_user(name: str, *, viewer: Viewer) -> UserRow | None:
    """Return a person, None if there is none of that name (3 queries)."""
    rows = _user_rows(list(_users(viewer).filter(username=name)))
    return rows[0] if rows else None


def tokens_page(
    *, viewer: Viewer, filters: TokenFilters, cursor: str | None = None, limit: int = 100
) -> TokenPage:
    """Return one page of everybody's tokens, the newest first if nothing else is asked for (1 query).

    Raises CursorError.
    """
    words = filters.q.removeprefix("gb_")
    found = _tokens(viewer).filter(all_occur_in(words, ("user__username", "id")))
    keys = TOKEN_ORDERINGS.get(filters.ordering, TOKEN_ORDERINGS["-created_at"])
    page, following = read_page(found, keys, cursor=cursor, limit=limit)
    return TokenPage(tuple(map(_token_row, page)), following)


def tokens_of(name: str, *, viewer: Viewer) -> tuple[OwnedTokenRow, ...]:
    """Return the tokens of a person, the newest first."""
    found = _tokens(viewer).filter(user__username=name).order_by("-created_at", "pk")
    return tuple(map(_token_row, found))


def sessions_page(
    *,
    viewer: Viewer,
    filters: SessionFilters,
    current: SessionBase | None = None,
    cursor: str | None = None,
    limit: int = 100,
) -> SessionPage:
    """Return one page of everybody's sessions, those used last first if nothing else is asked for (1 query).

    `current` is the session of the request. Raises CursorError.
    """
    found = _sessions(viewer).filter(all_occur_in(filters.q, ("user__username", "address")))
    keys = SESSION_ORDERINGS.get(filters.ordering, SESSION_ORDERINGS["-last_seen_at"])
    page, following = read_page(found, keys, cursor=cursor, limit=limit)
    here = _key_of(current)
    return SessionPage(tuple(_session_row(record, here) for record in page), following)


def sessions_of(
    name: str, *, viewer: Viewer, current: SessionBase | None = None
) -> tuple[SessionRow, ...]:
    """Return the sessions of a person, those used last first (1 query)."""
    found = _sessions(viewer).filter(user__username=name).order_by("-last_seen_at", "pk")
    return tuple(_session_row(record, _key_of(current)) for record in found)


def read_group_roles(*, viewer: Viewer) -> tuple[GroupRoleRow, ...]:
    """Return the roles of all groups, by group (2 queries)."""
    if not viewer.is_admin:
        return ()
    groups = Identity.objects.filter(user__is_active=True).values_list("groups", flat=True)
    members = Counter(group for named in groups for group in set(named))
    return tuple(
        GroupRoleRow(
            row.group, row.role, row.cluster, row.namespace or None, members[row.group], row.id
        )
        for row in group_roles.list_group_roles()
    )


def read_held_roles(*, viewer: Viewer) -> tuple[HeldRoleRow, ...]:
    """Return who has which role, by name (1 query)."""
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
    seen = SessionRecord.objects.filter(user=OuterRef("pk"))
    return User.objects.annotate(
        seen=Greatest(
            Coalesce("last_login", Value(NEVER, DateTimeField())),
            Coalesce(
                Subquery(_one_of_each_user(seen, Max("last_seen_at"))),
                Value(NEVER, DateTimeField()),
            ),
        ),
        live_tokens=_count(AccessToken.objects.filter(user=OuterRef("pk"), expires_at__gt=now)),
        live_sessions=_count(_open_sessions().filter(user=OuterRef("pk"))),
    )


def _tokens(viewer: Viewer) -> QuerySet[AccessToken]:
    if not viewer.is_admin:
        return AccessToken.objects.none()
    used = Coalesce("last_used_at", Value(NEVER, DateTimeField()))
    return AccessToken.objects.select_related("user").annotate(used=used, owner=F("user__username"))


def _sessions(viewer: Viewer) -> QuerySet[SessionRecord]:
    if not viewer.is_admin:
        return SessionRecord.objects.none()
    return _open_sessions().select_related("user").annotate(owner=F("user__username"))


def _open_sessions() -> QuerySet[SessionRecord]:
    """Return the records of sessions that have not ended, idle or by their age."""
    alive = Session.objects.filter(pk=OuterRef("session_key"), expire_date__gt=timezone.now())
    return SessionRecord.objects.filter(Exists(alive), ends_at__gt=timezone.now())


def _key_of(session: SessionBase | None) -> str:
    return row_key(str(session.session_key)) if session and session.session_key else ""


def _session_row(record: SessionRecord, here: str) -> SessionRow:
    owner = record.user.get_username()
    return SessionRow(
        id=record.pk,
        owner=owner,
        method=record.method,
        address=record.address or None,
        created_at=record.created_at,
        last_seen_at=record.last_seen_at,
        ends_at=record.ends_at,
        is_current=record.session_key == here,
        href=reverse("person", args=[owner]),
    )


def _one_of_each_user(found: QuerySet[Model], value: Max | Count) -> Any:
    return found.order_by().values("user").annotate(value=value).values("value")


def _count(found: QuerySet[Model]) -> Coalesce:
    return Coalesce(Subquery(_one_of_each_user(found, Count("pk"))), 0, output_field=IntegerField())


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
    words = role_words(role, cluster, namespace)
    href = reverse("person-role-take", args=[name])
    return GivenRoleRow(role, cluster, namespace or None, origin, words, href)


def _user_row(user: User, roles: tuple[GivenRoleRow, ...], groups: tuple[str, ...]) -> UserRow:
    name = user.get_username()
    seen: datetime = user.seen  # type: ignore[attr-defined]  # annotated by _users
    return UserRow(
        name=name,
        disabled=not user.is_active,
        rights=_words_of(roles),
        groups=groups,
        last_seen_at=None if seen == NEVER else seen,
        tokens=user.live_tokens,  # type: ignore[attr-defined]
        sessions=user.live_sessions,  # type: ignore[attr-defined]
        roles=roles,
        state="open" if user.is_active else "disabled",
        href=reverse("person", args=[name]),
    )


def _words_of(roles: Iterable[GivenRoleRow]) -> tuple[str, ...]:
    """Return each role once, the strongest first: one given by hand and by a group is one."""
    strongest = sorted(roles, key=lambda row: -ROLES.index(row.role) if row.role in ROLES else 1)
    return tuple(dict.fromkeys(row.words for row in strongest))


def _token_row(token: AccessToken) -> OwnedTokenRow:
    owner = token.user.get_username()
    return OwnedTokenRow(
        f"gb_{token.pk}",
        owner,
        token.may_act,
        token.created_at,
        token.expires_at,
        token.last_used_at,
        reverse("person", args=[owner]),
    )
