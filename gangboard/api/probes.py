"""`/healthz` and `/readyz`: for whoever restarts and routes. No sign-in, and no names in them."""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.db import Error
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from gangboard.logs import get_logger
from gangboard.readmodels.liveness import read_liveness
from gangboard.store.schema import is_migrated

CHECKS = ("database", "migrations", "poll", "act", "beat", "orders")
FOR_PAGES = ("database", "migrations", "poll", "beat", "orders")
"""Without these pages go stale. Without an act worker they stay true, and say so."""
log = get_logger(__name__)


@login_not_required
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:  # noqa: ARG001  # Django's signature
    """Answer that this process is alive. The database is not asked."""
    return JsonResponse({"status": "alive"})


@login_not_required
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:  # noqa: ARG001  # Django's signature
    """Answer 200 when pages are and stay true, else 503; each check is true or false.

    database: it answers. migrations: all are applied. poll, act, beat: a process of that kind gave
    a sign of life lately. orders: false where beat and a poll worker live, and no order passes from
    one to the other. What could not be looked at is false.
    """
    checks = dict.fromkeys(CHECKS, False)
    try:
        checks.update(_look())
    except Error as error:
        log.warning("not ready: the database failed", error=str(error))
    ready = all(checks[name] for name in FOR_PAGES)
    return JsonResponse(
        {"status": "ready" if ready else "not ready", "checks": checks},
        status=200 if ready else 503,
    )


def _look() -> dict[str, bool]:
    if not is_migrated():
        return {"database": True}
    dead = {kind for kind, _ in read_liveness(now=timezone.now()).dead}
    return {
        "database": True,
        "migrations": True,
        "poll": "poll" not in dead,
        "act": "act" not in dead,
        "beat": "beat" not in dead,
        "orders": "poll-orders" not in dead,
    }
