"""The viewer's own account: roles, tokens, sessions and saved views."""

from __future__ import annotations

from django.contrib.sessions.backends.base import SessionBase
from django.urls import reverse

from gangboard.pages.account.rows import AccountRow, TokenRow, ViewRow
from gangboard.pages.core.account_rows import RoleRow, SessionRow
from gangboard.readmodels.formatting import printable
from gangboard.readmodels.rights import rights_of
from gangboard.store import board_preferences
from gangboard.store.access import Viewer
from gangboard.store.models import AccessToken, Cluster
from gangboard.store.sessions import list_sessions
from gangboard.store.submitters import names_of


def read_account(*, viewer: Viewer) -> AccountRow:
    """Return the name, roles and rights of the viewer (at most 3 queries)."""
    ids = {scope.cluster_id for scope in viewer.scopes if scope.cluster_id is not None}
    names = dict(Cluster.objects.filter(pk__in=ids).values_list("pk", "name")) if ids else {}
    roles = tuple(
        RoleRow(
            scope.role,
            names.get(scope.cluster_id) if scope.cluster_id is not None else None,
            scope.namespace or None,
        )
        for scope in viewer.scopes
    )
    return AccountRow(
        viewer.name,
        roles,
        rights_of(viewer),
        tuple(map(printable, names_of(viewer.user_id))),
        f"gb_{viewer.token}" if viewer.token else None,
        viewer.operates_somewhere,
    )


def read_tokens(*, viewer: Viewer) -> tuple[TokenRow, ...]:
    """Return the viewer's tokens, the newest first, including expired ones."""
    tokens = AccessToken.objects.filter(user_id=viewer.user_id).order_by("-created_at", "pk")
    return tuple(
        TokenRow(
            f"gb_{token.pk}", token.may_act, token.created_at, token.expires_at, token.last_used_at
        )
        for token in tokens
    )


def read_sessions(*, viewer: Viewer, current: SessionBase | None = None) -> tuple[SessionRow, ...]:
    """Return the viewer's sessions, the last used first (2 queries).

    `current` is the session of the request.
    """
    return tuple(
        SessionRow(
            id=session.id,
            owner=viewer.name,
            method=session.method,
            address=session.address or None,
            created_at=session.created_at,
            last_seen_at=session.last_seen_at,
            ends_at=session.ends_at,
            is_current=session.is_current,
        )
        for session in list_sessions(user_id=viewer.user_id, current=current)
    )


def read_views(*, viewer: Viewer) -> tuple[ViewRow, ...]:
    """Return the viewer's saved views of the Board, by name."""
    board = reverse("board")
    return tuple(
        ViewRow(view.name, view.query, view.id, f"{board}?{view.query}" if view.query else board)
        for view in board_preferences.read_views(viewer.user_id)
    )
