"""Browser sessions: their start at a sign-in, and the extension of their idle time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.contrib import auth
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponseBase

from gangboard.client_address import client_address
from gangboard.pages.core.saved_forms import forget_forms_of_others
from gangboard.store import authentication, sessions

NO_GROUPS = "no_groups_claim"
"""Key of the session: the claim in which the identity provider sent no groups."""


def start_session(
    request: HttpRequest,
    user: User,
    *,
    method: str,
    how: str,
    authenticated_at: datetime | None = None,
) -> None:
    """Sign a user in: create a session with a new key, its record, and an entry of the audit.

    `how` ends the sentence "NAME signed in by …"; see `store.sessions.begin_session` for the rest.
    """
    source = client_address(request.META)
    with transaction.atomic():
        key_before = request.session.session_key
        auth.login(request, user)
        if request.session.session_key == key_before and key_before is not None:
            # The same user signs in again. A new key keeps a copied one from becoming fresh.
            request.session.cycle_key()
        forget_forms_of_others(request.session, user_id=user.pk)
        sessions.begin_session(
            request.session,
            user=user,
            method=method,
            address=source,
            authenticated_at=authenticated_at,
        )
        authentication.record_sign_in(user=user, how=how, source=source)


class SessionUseMiddleware:
    """Extends the idle time of a session when its user is active."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Return the view's answer. Automatic requests of an open page do not count as use."""
        response = self.get_response(request)
        session = request.session
        if (
            isinstance(session, sessions.SessionStore)
            and session.stored_end is not None
            and "X-Live-Version" not in request.headers
        ):
            sessions.record_session_use(session, address=client_address(request.META))
        return response
