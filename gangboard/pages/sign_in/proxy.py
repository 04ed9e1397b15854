"""Sign-in by a proxy such as oauth2-proxy, which sends the name of the user in a header."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings
from django.contrib import auth
from django.http import HttpRequest, HttpResponseBase

from gangboard.client_address import is_trusted_proxy
from gangboard.logs import get_logger
from gangboard.pages.core.browser_sessions import start_session
from gangboard.store import sessions
from gangboard.store.identities import PROXY, Person, sign_in_person
from gangboard.store.people import PeopleError

PAUSE = 600.0
"""Seconds between two warnings, because anybody can send the header."""
_SUBJECT, _GROUPS = "proxy_subject", "proxy_groups"
_OPEN = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths whose answers do not depend on a user and need no session."""
_STARTS_NO_SESSION = ("/api/", "/sign-out/")
"""Paths that use an existing session or a token and start no session."""
_log = get_logger(__name__)


class ProxySignInMiddleware:
    """Signs in the user named by the `GANGBOARD_PROXY_USER_HEADER` of a trusted proxy."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._quiet_until = 0.0

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Return the answer to the request, for the user that the proxy names."""
        if settings.PROXY_USER_HEADER and request.path not in _OPEN:
            self._read(request)
        return self.get_response(request)

    def _read(self, request: HttpRequest) -> None:
        name = request.headers.get(settings.PROXY_USER_HEADER, "").strip()
        if name and not is_trusted_proxy(request.META):
            self._warn("it does not come from GANGBOARD_TRUSTED_PROXIES", request)
            name = ""
        elif "," in name:
            # Two headers of one name are joined by a comma, and one of them may come from the browser.
            self._warn("it is there twice, or the name has a comma", request)
            name = ""
        is_by_proxy = sessions.signed_in_by(request.session) == sessions.PROXY
        if is_by_proxy and request.session.get(_SUBJECT) != name:
            auth.logout(request)
            is_by_proxy = False
        if not name or request.path.startswith(_STARTS_NO_SESSION):
            return
        groups = _groups(request)
        if not is_by_proxy or request.session.get(_GROUPS) != groups:
            self._sign_in(request, name, groups)

    def _sign_in(self, request: HttpRequest, name: str, groups: list[str]) -> None:
        try:
            user = sign_in_person(Person(PROXY, name, name, tuple(groups)))
        except PeopleError as error:
            self._warn(str(error), request)
            auth.logout(request)
            return
        start_session(request, user, method=sessions.PROXY, how="a proxy")
        request.session[_SUBJECT], request.session[_GROUPS] = name, groups

    def _warn(self, reason: str, request: HttpRequest) -> None:
        now = time.monotonic()
        if now >= self._quiet_until:
            self._quiet_until = now + PAUSE
            _log.warning(
                f"{settings.PROXY_USER_HEADER} is not believed",
                why=reason,
                sender=request.META.get("REMOTE_ADDR", ""),
            )


def _groups(request: HttpRequest) -> list[str]:
    if not settings.PROXY_GROUPS_HEADER:
        return []
    value = request.headers.get(settings.PROXY_GROUPS_HEADER, "")
    return sorted({group.strip() for group in value.split(",") if group.strip()})
