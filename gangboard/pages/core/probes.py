"""Liveness and readiness probes (`/healthz`, `/readyz`). They need no sign-in and contain no names."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.db import Error
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from gangboard.logs import get_logger
from gangboard.store.database_state import can_read, is_migrated

CHECKS = ("database", "migrations")
log = get_logger(__name__)


@login_not_required
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:  # noqa: ARG001  # Django's signature
    """Answer that this process is alive, without a query."""
    return JsonResponse({"status": "alive"})


@login_not_required
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:  # noqa: ARG001  # Django's signature
    """Answer 200 if this process can serve pages, else 503, with the result of each check.

    - database: it answers, and the table that each page reads is not locked.
    - migrations: all are applied.

    Workers are not checked, because pages are served without them and say so. `/metrics` counts them.
    """
    checks = dict.fromkeys(CHECKS, False)
    try:
        checks["migrations"] = is_migrated()
        checks["database"] = not checks["migrations"] or can_read()
    except Error as error:
        log.warning("not ready: the database failed", error=str(error))
    ready = all(checks.values())
    return JsonResponse(
        {"status": "ready" if ready else "not ready", "checks": checks},
        status=200 if ready else 503,
    )
