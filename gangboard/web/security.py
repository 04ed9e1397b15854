"""Headers on every answer that make injected markup harmless."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
"""Own files only: no inline script or style, no other host."""
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # Also the Back button after sign-out must not show what was there.
    "Cache-Control": "no-store",
    # granian names itself if the answer has no such header.
    "Server": "gangboard",
}
"""On every answer that does not say otherwise."""


class SecurityHeadersMiddleware:
    """Adds the policy, and keeps answers with data out of every cache."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Return the view's answer with the headers."""
        response = self.get_response(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response
