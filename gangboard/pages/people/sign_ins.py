"""Everybody's tokens and sessions, for admins of everything. Other viewers get no rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.db.models import DateTimeField, Exists, F, OuterRef, QuerySet, Value
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils import timezone

from gangboard.pages.core.account_rows import SessionRow
from gangboard.pages.core.pagination import Rows
from gangboard.pages.people.rows import OwnedTokenRow
from gangboard.readmodels.cursors import SortKey, read_page
from gangboard.readmodels.filters import all_occur_in
from gangboard.store.access import Viewer
from gangboard.store.models import AccessToken, SessionRecord
from gangboard.store.sessions import row_key

NEVER = datetime(1970, 1, 1, tzinfo=UTC)
"""A time before all others. It replaces null, because cursors cannot sort by a nullable column."""
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
class TokenFilters:
    """Filters of the list of tokens. An empty filter matches all."""

    q: str = ""
    """Words that must all occur in the owner's name or the public part."""
    ordering: str = ""


@dataclass(frozen=True, slots=True)
class SessionFilters:
    """Filters of the list of sessions. An empty filter matches all."""

    q: str = ""
    """Words that must all occur in the owner's name or the address."""
    ordering: str = ""


def tokens_page(
    *, viewer: Viewer, filters: TokenFilters, cursor: str | None = None, limit: int = 100
) -> Rows[OwnedTokenRow]:
    """Return one page of everybody's tokens, by default the newest first (1 query).

    Raises CursorError.
    """
    search = filters.q.removeprefix("gb_")
    tokens = _tokens(viewer).filter(all_occur_in(search, ("user__username", "id")))
    keys = TOKEN_ORDERINGS.get(filters.ordering, TOKEN_ORDERINGS["-created_at"])
    page, next_cursor = read_page(tokens, keys, cursor=cursor, limit=limit)
    return Rows(tuple(map(_token_row, page)), next_cursor)


def tokens_of(name: str, *, viewer: Viewer) -> tuple[OwnedTokenRow, ...]:
    """Return the tokens of a person, the newest first."""
    tokens = _tokens(viewer).filter(user__username=name).order_by("-created_at", "pk")
    return tuple(map(_token_row, tokens))


def sessions_page(
    *,
    viewer: Viewer,
    filters: SessionFilters,
    current: SessionBase | None = None,
    cursor: str | None = None,
    limit: int = 100,
) -> Rows[SessionRow]:
    """Return one page of everybody's sessions, by default the last used first (1 query).

    `current` is the session of the request. Raises CursorError.
    """
    sessions = _sessions(viewer).filter(all_occur_in(filters.q, ("user__username", "address")))
    keys = SESSION_ORDERINGS.get(filters.ordering, SESSION_ORDERINGS["-last_seen_at"])
    page, next_cursor = read_page(sessions, keys, cursor=cursor, limit=limit)
    current_key = _key_of(current)
    return Rows(tuple(_session_row(record, current_key) for record in page), next_cursor)


def sessions_of(
    name: str, *, viewer: Viewer, current: SessionBase | None = None
) -> tuple[SessionRow, ...]:
    """Return the sessions of a person, the last used first (1 query)."""
    sessions = _sessions(viewer).filter(user__username=name).order_by("-last_seen_at", "pk")
    return tuple(_session_row(record, _key_of(current)) for record in sessions)


def _tokens(viewer: Viewer) -> QuerySet[AccessToken]:
    if not viewer.is_admin:
        return AccessToken.objects.none()
    used = Coalesce("last_used_at", Value(NEVER, DateTimeField()))
    return AccessToken.objects.select_related("user").annotate(used=used, owner=F("user__username"))


def _sessions(viewer: Viewer) -> QuerySet[SessionRecord]:
    if not viewer.is_admin:
        return SessionRecord.objects.none()
    return open_sessions().select_related("user").annotate(owner=F("user__username"))


def open_sessions() -> QuerySet[SessionRecord]:
    """Return the records of sessions that have not expired, by idle time or age."""
    alive = Session.objects.filter(pk=OuterRef("session_key"), expire_date__gt=timezone.now())
    return SessionRecord.objects.filter(Exists(alive), ends_at__gt=timezone.now())


def _key_of(session: SessionBase | None) -> str:
    return row_key(str(session.session_key)) if session and session.session_key else ""


def _session_row(record: SessionRecord, current_key: str) -> SessionRow:
    owner = record.user.get_username()
    return SessionRow(
        id=record.pk,
        owner=owner,
        method=record.method,
        address=record.address or None,
        created_at=record.created_at,
        last_seen_at=record.last_seen_at,
        ends_at=record.ends_at,
        is_current=record.session_key == current_key,
        href=reverse("person", args=[owner]),
    )


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
