"""The answer where there is no page (Django's handler404)."""

from __future__ import annotations

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.views.defaults import page_not_found

from gangboard.web.auth import viewer_for
from gangboard.web.layout import plain_page

_WITHOUT_HEADER = ("/api/", "/static/")


def answer_missing(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return 404 with the header of all pages for who is signed in, else the plain page."""
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
        # There is no such page whether or not the database answers.
        return page_not_found(request, exception)
