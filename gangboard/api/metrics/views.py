"""`GET /metrics`."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.cache import cache
from django.db import Error
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
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
from gangboard.api.metrics.access import refusal
from gangboard.api.metrics.families import MetricsCollector
from gangboard.api.metrics.requests import REQUESTS
from gangboard.logs import get_logger
from gangboard.readmodels.metrics import Metrics, read_metrics
from gangboard.store.access import Scope, Viewer

SHARED_SECONDS = 5
"""For which all scrapers of this process get the same figures: the database counts no oftener."""
_CACHE_KEY = "metrics"
_SCRAPER = Viewer(0, "metrics", (Scope(None, "", "viewer"),), may_act=False)
"""Sees everything: settings say who may read metrics, and whether namespaces are named in them."""
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
    """Answer in Prometheus' text format, or refuse whom the settings do not let in."""
    refused = refusal(request)
    if refused is not None:
        return refused
    parts = (_PROCESS, REQUESTS, MetricsCollector(_read()))
    text = b"".join(generate_latest(part) for part in parts)
    return HttpResponse(text, content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _read() -> Metrics | None:
    """Return the figures; None where the database fails, so that what is not known is left out."""
    try:
        return cache.get_or_set(_CACHE_KEY, _read_now, SHARED_SECONDS)
    except Error as error:
        _log.warning("metrics without what is stored: the database failed", error=str(error))
        return None


def _read_now() -> Metrics:
    return read_metrics(viewer=_SCRAPER, now=timezone.now(), namespaces=settings.METRICS_NAMESPACES)
