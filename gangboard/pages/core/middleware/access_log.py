"""Access log: one line of JSON for each request, with the user, the address and the answer, for a SIEM. No secrets."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponseBase
from django.utils.functional import SimpleLazyObject

from gangboard.client_address import client_address
from gangboard.logs import get_logger

MASKED = "(masked)"
_LONGEST = 512
"""Characters of a path or a user agent."""
_SIGN_IN = re.compile(r"sign-?in|accounts?/", re.IGNORECASE)
_OPEN_PATHS = frozenset({"/sign-in/", "/sign-in/link/"})
"""Other addresses of the sign-in may end in a one-time secret."""
_PARAMETER = re.compile(r"[a-z_]{1,32}")
_SECRETS = frozenset({"secret", "token", "key", "uidb36"})
"""Names of URL parameters that are secret on every page."""
_log = get_logger("gangboard.access")


class AccessLogMiddleware:
    """Logs each request when it is answered. It is the first middleware, so refusals are logged as well."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        if not settings.ACCESS_LOG:
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Return the answer."""
        started_at = time.perf_counter()
        response = self.get_response(request)
        match = request.resolver_match
        _log.info(
            "request",
            method=str(request.method)[:16],
            path=masked_path(request)[:_LONGEST],
            # Values may be secrets, so only names are logged.
            parameters=sorted(name for name in request.GET if _PARAMETER.fullmatch(name))[:20],
            view=match.view_name if match else "",
            status=response.status_code,
            seconds=round(time.perf_counter() - started_at, 4),
            user=user_name(request),
            source=client_address(request.META),
            agent=request.headers.get("User-Agent", "")[:_LONGEST],
        )
        return response


def masked_path(request: HttpRequest) -> str:
    """Return the path without one-time secrets."""
    path = request.path
    if _SIGN_IN.search(path) and path not in _OPEN_PATHS:
        match = request.resolver_match
        if match is None or match.kwargs or match.args:
            return f"/sign-in/{MASKED}/"
    for name, value in (request.resolver_match.kwargs if request.resolver_match else {}).items():
        if name in _SECRETS:
            path = path.replace(str(value), MASKED)
    return path


def user_name(request: HttpRequest) -> str:
    """Return the name of the user, if the answer needed it. The log makes no query of its own."""
    user = request.__dict__.get("user")
    if isinstance(user, SimpleLazyObject):
        user = getattr(request, "_cached_user", None)
    return str(user.get_username()) if user is not None else ""
