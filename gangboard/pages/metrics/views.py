"""`GET /metrics`."""

from __future__ import annotations

from http import HTTPStatus

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.cache import cache
from django.db import Error
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.http import require_safe
from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    Info,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from gangboard import __version__
from gangboard.client_address import is_in
from gangboard.logs import get_logger
from gangboard.pages.metrics.families import MetricsCollector
from gangboard.pages.metrics.queries import read_metrics
from gangboard.pages.metrics.requests import REQUESTS
from gangboard.pages.metrics.rows import Metrics
from gangboard.store.access import Scope, Viewer

CLOSED = "Metrics are closed: set GANGBOARD_METRICS_TOKEN, GANGBOARD_METRICS_NETWORKS or both."
NOT_HERE = "GANGBOARD_METRICS_NETWORKS does not name the network that this request came from."
NO_TOKEN = "Send the token of GANGBOARD_METRICS_TOKEN: Authorization: Bearer TOKEN."  # noqa: S105  # a sentence
SHARED_SECONDS = 5
"""For so long all scrapers of this process get the same figures, so that the database counts less often."""
_CACHE_KEY = "metrics"
_SCRAPER = Viewer(0, "metrics", (Scope(None, "", "viewer"),), may_act=False)
"""Sees everything. Settings decide who may read metrics, and whether they name namespaces."""
_log = get_logger(__name__)

_PROCESS = CollectorRegistry()
ProcessCollector(registry=_PROCESS)
PlatformCollector(registry=_PROCESS)
GCCollector(registry=_PROCESS)
Info("gangboard_build", "The version of gangboard.", registry=_PROCESS).info(
    {"version": __version__}
)


@login_not_required
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer in Prometheus' text format, or refuse a sender that the settings do not admit."""
    refused = refusal(request)
    if refused is not None:
        return refused
    registries = (_PROCESS, REQUESTS, MetricsCollector(_read()))
    text = b"".join(generate_latest(source) for source in registries)
    return HttpResponse(text, content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _read() -> Metrics | None:
    """Return the figures; None if the database fails. The answer then leaves them out."""
    try:
        return cache.get_or_set(_CACHE_KEY, _read_now, SHARED_SECONDS)
    except Error as error:
        _log.warning("metrics without what is stored: the database failed", error=str(error))
        return None


def _read_now() -> Metrics:
    return read_metrics(viewer=_SCRAPER, now=timezone.now(), namespaces=settings.METRICS_NAMESPACES)


def refusal(request: HttpRequest) -> HttpResponse | None:
    """Return the refusal, or None if the sender may read metrics. Each setting must admit it."""
    token, networks = settings.METRICS_TOKEN, settings.METRICS_NETWORKS
    if not token and not networks:
        return _refused(HTTPStatus.FORBIDDEN, CLOSED)
    if networks and not is_in(networks, request.META):
        return _refused(HTTPStatus.FORBIDDEN, NOT_HERE)
    if token and not _has_token(request, token):
        answer = _refused(HTTPStatus.UNAUTHORIZED, NO_TOKEN)
        answer.headers["WWW-Authenticate"] = "Bearer"
        return answer
    return None


def _has_token(request: HttpRequest, token: str) -> bool:
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    return scheme.lower() == "bearer" and constant_time_compare(sent.strip(), token)


def _refused(status: HTTPStatus, sentence: str) -> HttpResponse:
    return HttpResponse(f"{sentence}\n", status=status, content_type="text/plain; charset=utf-8")
