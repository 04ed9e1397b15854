"""The answer to a request that ended in an exception (Django's handler500)."""

from __future__ import annotations

import sys
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error

from gangboard.logs import get_logger
from gangboard.problem_codes import problem_document
from gangboard.store.database_state import RETRY_SECONDS, UNAVAILABLE, is_unavailable

_API = "/api/"
log = get_logger(__name__)


def answer_error(request: HttpRequest) -> HttpResponse:
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
