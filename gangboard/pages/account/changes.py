"""Changes of people to their own account, for the page and for the API: tokens and sessions."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.contrib.sessions.backends.base import SessionBase

from gangboard.pages.account.queries import read_tokens
from gangboard.pages.account.rows import NewTokenRow
from gangboard.store import authentication, sessions
from gangboard.store.access import Viewer
from gangboard.store.models import AccessToken
from gangboard.store.people import PeopleError

MOST_TOKENS = 50
"""Maximum number of tokens of one person."""


def make_token(*, viewer: Viewer, may_act: bool, days: int) -> NewTokenRow:
    """Return a new token of the viewer, with its secret. Raises PeopleError."""
    if may_act and not viewer.operates_somewhere:
        raise PeopleError(
            "you have no permission to act, so your tokens cannot act either: create a read-only token"
        )
    if AccessToken.objects.filter(user_id=viewer.user_id).count() >= MOST_TOKENS:
        raise PeopleError(f"you have {MOST_TOKENS} tokens, the maximum: revoke one first")
    token = authentication.issue_token(
        user=_user_of(viewer), may_act=may_act, days=days, by=viewer.name
    )
    public_part = token.rpartition("_")[0]
    row = next(row for row in read_tokens(viewer=viewer) if row.id == public_part)
    return NewTokenRow(row.id, row.may_act, row.created_at, row.expires_at, row.last_used_at, token)


def revoke_token(*, viewer: Viewer, token_id: str) -> bool:
    """Revoke a token of the viewer. Return False if the viewer has no token with this id."""
    if all(row.id != token_id for row in read_tokens(viewer=viewer)):
        return False
    authentication.revoke_token(token_id, by=viewer.name)
    return True


def end_session(*, viewer: Viewer, session_id: int) -> bool:
    """End a session of the viewer. Return False if the viewer has no session with this id."""
    return sessions.end_session(session_id, user=_user_of(viewer), by=viewer.name)


def end_other_sessions(*, viewer: Viewer, keep: SessionBase) -> int:
    """End all sessions of the viewer except `keep`. Return their number."""
    return sessions.end_sessions(_user_of(viewer), by=viewer.name, keep=keep)


def _user_of(viewer: Viewer) -> User:
    return User.objects.get(pk=viewer.user_id)
