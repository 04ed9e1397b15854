"""Error pages: handler500 and handler404, and the filter of Django's debug page."""

from __future__ import annotations

import re
import sys
from http import HTTPStatus

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views.debug import SafeExceptionReporterFilter
from django.views.defaults import page_not_found, server_error

from gangboard.logs import get_logger
from gangboard.pages.core.auth import viewer_for
from gangboard.pages.core.layout import plain_page
from gangboard.problem_codes import problem_document
from gangboard.store.database_state import RETRY_SECONDS, UNAVAILABLE, is_unavailable

_API = "/api/"
log = get_logger(__name__)
_WITHOUT_HEADER = ("/api/", "/static/")


def handle_server_error(request: HttpRequest) -> HttpResponse:
    """Return 503 with Retry-After if the database is unavailable, else 500.

    Django calls it while the exception is handled, whether a view or a middleware raised it. The page
    is made without context, because a context processor would read the session again.
    """
    error = sys.exception()
    if error is None or not is_unavailable(error):
        return server_error(request)
    log.warning("database unavailable", path=request.path, error=str(error))
    status = HTTPStatus.SERVICE_UNAVAILABLE
    response: HttpResponse
    if request.path.startswith(_API):
        problem = problem_document(status.value, UNAVAILABLE)
        response = JsonResponse(problem, status=status, content_type="application/problem+json")
    else:
        response = HttpResponse(render_to_string("503.html"), status=status)
    response.headers["Retry-After"] = str(RETRY_SECONDS)
    # One line is enough: Django would log a traceback for each request while the database is away.
    response._has_been_logged = True  # type: ignore[attr-defined]  # Django's own mark
    return response


def handle_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return 404 with the header of all pages for a signed-in user, else the plain page."""
    if request.path.startswith(_WITHOUT_HEADER):
        return page_not_found(request, exception)
    try:
        user = getattr(request, "user", None)
        if user is None or not user.is_authenticated:
            return page_not_found(request, exception)
        viewer = viewer_for(request)
        return plain_page(
            request, "missing.html", viewer=viewer, section="", context={}, status=404
        )
    except DatabaseError:
        # The page is missing whether or not the database answers.
        return page_not_found(request, exception)


class UrlHidingFilter(SafeExceptionReporterFilter):
    """Hides URLs of brokers and databases on Django's debug page (GANGBOARD_DEBUG): they may contain a password."""

    hidden_settings = re.compile(
        f"{SafeExceptionReporterFilter.hidden_settings.pattern}|URL|BROKER", flags=re.IGNORECASE
    )
