"""Fresh sign-ins, which sensitive pages and API operations require."""

from __future__ import annotations

from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django_htmx.http import HttpResponseClientRedirect
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from gangboard.pages.core.auth import page_of
from gangboard.pages.core.saved_forms import save_form
from gangboard.problem_codes import ProblemCode
from gangboard.store import sessions
from gangboard.store.access import Viewer

_FRESH = "fresh"


def require_fresh(request: HttpRequest) -> HttpResponse | None:
    """Return a redirect to the sign-in page, or None if the user has signed in within 15 minutes.

    A view calls it before it shows a form and again before it accepts one. After the sign-in the user is
    back on the page of the form. A view with `saves_form` refills the form. A sign-in by a proxy is always
    fresh, because the proxy decides how long it lasts.
    """
    if sessions.signed_in_by(request.session) == sessions.PROXY:
        return None
    if sessions.is_fresh(request.session):
        return None
    form_address = save_form(request, user_id=request.user.pk)
    query = {"next": form_address or page_of(request), _FRESH: "1"}
    address = f"{settings.LOGIN_URL}?{urlencode(query)}"
    return (
        HttpResponseClientRedirect(address)
        if request.headers.get("HX-Request")
        else HttpResponseRedirect(address, status=303)
    )


def is_fresh_sign_in_required(request: HttpRequest) -> bool:
    """Return whether the sign-in page was opened by `require_fresh`."""
    return _FRESH in request.GET


NO_TOKEN = "A token cannot do that: sign in to do it."  # noqa: S105  # a sentence
NOT_FRESH = "Sign in again to do that: your last sign-in is over 15 minutes old."


def signed_in(viewer: Viewer) -> Viewer:
    """Return the viewer of a session. Raises PermissionDenied for a token."""
    if viewer.token:
        raise PermissionDenied(NO_TOKEN, ProblemCode.SESSION_REQUIRED)
    return viewer


def require_fresh_session(request: Request, viewer: Viewer) -> Viewer:
    """Return the viewer of a session whose sign-in is fresh. Raises PermissionDenied for any other."""
    signed_in(viewer)
    django_request = request._request
    assert isinstance(django_request, HttpRequest)  # noqa: S101  # for the type checker
    if require_fresh(django_request):
        raise PermissionDenied(NOT_FRESH, ProblemCode.SIGN_IN_AGAIN)
    return viewer
