"""The time zone of a user: that of the browser if a cookie names it, else UTC."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone

COOKIE = "zone"
"""Cookie that `static/js/zone.js` sets. It is neither secret nor stored on the server."""


class TimeZoneMiddleware:
    """Activates the time zone that the browser sends."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Return the view's answer."""
        with timezone.override(zone_named(request.COOKIES.get(COOKIE, ""))):
            return self.get_response(request)


def zone_named(name: str) -> tzinfo:
    """Return the zone of that name. UTC for an unknown name, because a cookie can be any text."""
    return ZoneInfo(name) if name in _names() else UTC


@cache
def _names() -> frozenset[str]:
    return frozenset(available_timezones())
