"""Fresh sign-ins: what gives a lot away asks again who sits at the browser."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django_htmx.http import HttpResponseClientRedirect

from gangboard.store import sessions

_FRESH = "fresh"


def require_fresh(request: HttpRequest) -> HttpResponse | None:
    """Return None if the person has signed in within 15 minutes, else the way to sign in again.

    A view calls it before it shows a form and again before it takes one. After the sign-in the person is
    back on the page of the form. What was typed into a form that took longer than that is lost, and the
    page says so. The proxy decides how long a sign-in through it lasts.
    """
    if sessions.signed_in_by(request.session) == sessions.PROXY:
        return None
    if sessions.is_fresh(request.session):
        return None
    in_part = bool(request.headers.get("HX-Request"))
    query = {"next": _page_of(request, in_part=in_part), _FRESH: "1"}
    address = f"{settings.LOGIN_URL}?{urlencode(query)}"
    return (
        HttpResponseClientRedirect(address)
        if in_part
        else HttpResponseRedirect(address, status=303)
    )


def asks_for_fresh(request: HttpRequest) -> bool:
    """Return whether the sign-in page was opened by `require_fresh`."""
    return _FRESH in request.GET


def _page_of(request: HttpRequest, *, in_part: bool) -> str:
    """Return the page to come back to: the one that asked. A form that was sent is shown again, empty."""
    if in_part:
        page = request.headers.get("HX-Current-URL", "")
    elif request.method in ("GET", "HEAD"):
        return request.get_full_path()
    else:
        page = request.headers.get("Referer", "")
    parts = urlsplit(page)
    if not parts.path or parts.netloc not in ("", request.get_host()):
        return settings.LOGIN_REDIRECT_URL
    return parts.path + (f"?{parts.query}" if parts.query else "")
