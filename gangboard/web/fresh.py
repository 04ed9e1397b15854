"""Fresh sign-ins: what gives a lot away asks again who sits at the browser."""

from __future__ import annotations

from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django_htmx.http import HttpResponseClientRedirect

from gangboard.store import sessions
from gangboard.web.auth import page_of
from gangboard.web.kept_forms import keep_form

_FRESH = "fresh"


def require_fresh(request: HttpRequest) -> HttpResponse | None:
    """Return None if the person has signed in within 15 minutes, else the way to sign in again.

    A view calls it before it shows a form and again before it takes one. After the sign-in the person is
    back on the page of the form. What was typed into a form that took longer than that is filled in again if the
    view keeps it (`kept_forms`). The proxy decides how long a sign-in through it lasts.
    """
    if sessions.signed_in_by(request.session) == sessions.PROXY:
        return None
    if sessions.is_fresh(request.session):
        return None
    kept = keep_form(request, user_id=request.user.pk)
    query = {"next": kept or page_of(request), _FRESH: "1"}
    address = f"{settings.LOGIN_URL}?{urlencode(query)}"
    return (
        HttpResponseClientRedirect(address)
        if request.headers.get("HX-Request")
        else HttpResponseRedirect(address, status=303)
    )


def asks_for_fresh(request: HttpRequest) -> bool:
    """Return whether the sign-in page was opened by `require_fresh`."""
    return _FRESH in request.GET
