"""Security headers of answers, and the X-Forwarded-Proto header of requests."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

from gangboard.client_address import is_proxy
from gangboard.logs import get_logger

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
"""Allows files of this host, and neither inline scripts and styles nor other hosts."""
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # The Back button after a sign-out must show no data either.
    "Cache-Control": "no-store",
    # granian names itself if the answer has no such header.
    "Server": "gangboard",
}
"""Defaults for every answer."""
PAUSE = 600.0
"""Seconds between two warnings about an untrusted header, because anybody can send one."""
_HEADER = "HTTP_X_FORWARDED_PROTO"
_log = get_logger(__name__)


class SecurityHeadersMiddleware:
    """Adds the security headers, and forbids caches to store answers."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Return the view's answer with the headers."""
        response = self.get_response(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response


class ForwardedProtoMiddleware:
    """Removes X-Forwarded-Proto from requests that come from no trusted proxy."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._quiet_until = 0.0

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Return the answer to the request without an untrusted header."""
        if _HEADER in request.META and not is_proxy(request.META):
            del request.META[_HEADER]
            if settings.HTTPS:
                self._warn(request.META.get("REMOTE_ADDR", ""))
        return self.get_response(request)

    def _warn(self, peer: str) -> None:
        now = time.monotonic()
        if now >= self._quiet_until:
            self._quiet_until = now + PAUSE
            _log.warning(
                "X-Forwarded-Proto is not believed: where a proxy of yours sends it, name it in "
                "GANGBOARD_TRUSTED_PROXIES, else its pages lead to https for ever",
                sender=peer,
            )
