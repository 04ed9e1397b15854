"""Making and revoking tokens of one's own, for the page and for the API."""

from __future__ import annotations

from django.contrib.auth.models import User

from gangboard.pages.account.queries import read_tokens
from gangboard.pages.account.rows import NewTokenRow
from gangboard.store import authentication
from gangboard.store.access import Viewer
from gangboard.store.models import AccessToken
from gangboard.store.people import PeopleError

MOST_TOKENS = 50
"""Tokens of one person."""


def make_token(*, viewer: Viewer, may_act: bool, days: int) -> NewTokenRow:
    """Return a new token of the viewer, with its secret. Raises PeopleError."""
    if may_act and not viewer.operates_somewhere:
        raise PeopleError("you may act nowhere, so no token of yours can: make one that reads")
    if AccessToken.objects.filter(user_id=viewer.user_id).count() >= MOST_TOKENS:
        raise PeopleError(f"you have {MOST_TOKENS} tokens, which is the most: revoke one first")
    user = User.objects.get(pk=viewer.user_id)
    token = authentication.issue_token(user=user, may_act=may_act, days=days, by=viewer.name)
    public = token.rpartition("_")[0]
    row = next(row for row in read_tokens(viewer=viewer) if row.id == public)
    return NewTokenRow(row.id, row.may_act, row.created_at, row.expires_at, row.last_used_at, token)


def revoke_token(*, viewer: Viewer, token_id: str) -> bool:
    """Revoke a token of the viewer; return False when they have none of that id."""
    if all(row.id != token_id for row in read_tokens(viewer=viewer)):
        return False
    authentication.revoke_token(token_id, by=viewer.name)
    return True
