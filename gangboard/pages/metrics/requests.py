"""The duration of requests to this process: the only figure that is not in the database."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from prometheus_client import CollectorRegistry, Histogram, disable_created_metrics

METHODS = frozenset({"GET", "HEAD", "POST"})
"""All others are `other`, because a sender can write any text there."""
NO_VIEW = "none"

# Prometheus ignores the creation time of a series in this format.
disable_created_metrics()  # type: ignore[no-untyped-call]  # untyped there
REQUESTS = CollectorRegistry()
_SECONDS = Histogram(
    "gangboard_http_request_duration_seconds",
    "Time until Django's answer, of this web process since it started, by name of the view (none: a "
    "file, or no such address) and class of the status. That of …-updates includes waiting for news. "
    "What was refused before Django (408, 413, 503) is not in it.",
    ("method", "view", "status"),
    registry=REQUESTS,
    buckets=(0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
)


class RequestDurationMiddleware:
    """Measures every request, as the first of the middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Return the answer."""
        started_at = time.perf_counter()
        response = self.get_response(request)
        seconds = time.perf_counter() - started_at
        method = request.method if request.method in METHODS else "other"
        view = request.resolver_match.view_name if request.resolver_match else NO_VIEW
        _SECONDS.labels(method, view, f"{response.status_code // 100}xx").observe(seconds)
        return response
