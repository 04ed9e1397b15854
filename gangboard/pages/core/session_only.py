"""Operations of the API for people who have signed in: a token must not make more of itself."""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from gangboard.problem_codes import ProblemCode
from gangboard.store.access import Viewer
from gangboard.web.fresh import require_fresh

NO_TOKEN = "A token cannot do that: sign in to do it."  # noqa: S105  # a sentence
NOT_FRESH = "Sign in again to do that: your last sign-in is over 15 minutes old."


def signed_in(viewer: Viewer) -> Viewer:
    """Return the viewer of a session. Raises PermissionDenied for a token."""
    if viewer.token:
        raise PermissionDenied(NO_TOKEN, ProblemCode.SESSION_REQUIRED)
    return viewer


def signed_in_lately(request: Request, viewer: Viewer) -> Viewer:
    """Return the viewer of a session whose sign-in is fresh. Raises PermissionDenied for any other."""
    signed_in(viewer)
    django_request = request._request
    assert isinstance(django_request, HttpRequest)  # noqa: S101  # for the type checker
    if require_fresh(django_request):
        raise PermissionDenied(NOT_FRESH, ProblemCode.SIGN_IN_AGAIN)
    return viewer
