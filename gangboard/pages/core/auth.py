"""Authentication of page requests: the sign-in that every page requires, and the viewer of a request.

A view marked with `login_not_required` is open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import Http404, HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.http.response import HttpResponseRedirectBase
from django_htmx.http import HttpResponseClientRedirect

from gangboard.client_address import client_address
from gangboard.pages.core.saved_forms import save_form
from gangboard.store import sessions
from gangboard.store.access import Viewer, viewer_of

View = Callable[..., HttpResponseBase]


class SignInRequiredMiddleware(LoginRequiredMiddleware):
    """Redirects a user without a session to the sign-in page, and from there back."""

    def process_view(
        self,
        request: HttpRequest,
        view_func: View,
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        """Return a redirect to the sign-in page, or None if the view may answer."""
        # Django reads the user from the database. Open views must answer without a database.
        if not getattr(view_func, "login_required", True):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)

    def handle_no_permission(  # type: ignore[override]  # Django's own returns one kind of redirect
        self,
        request: HttpRequest,
        view_func: View,  # noqa: ARG002  # Django's signature
    ) -> HttpResponseRedirectBase:
        """Return a redirect of the whole page to the sign-in page, also for an htmx request.

        A submitted form is saved if its user is known, and refilled after the sign-in.
        """
        cookie = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
        is_form = request.method == "POST"
        user_id = sessions.owner_of_ended_session(cookie) if is_form and cookie else None
        form_address = save_form(request, user_id=user_id)
        if request.headers.get("HX-Request"):
            # No form may appear inside a table.
            return HttpResponseClientRedirect(_sign_in(form_address or page_of(request)))
        return HttpResponseRedirect(_sign_in(form_address or page_of(request)))


def page_of(request: HttpRequest) -> str:
    """Return the address to come back to after the sign-in: the requested page, or the page of the form."""
    if request.headers.get("HX-Request"):
        address = request.headers.get("HX-Current-URL", "")
    elif request.method in ("GET", "HEAD"):
        return request.get_full_path()
    else:
        address = request.headers.get("Referer", "")
    url = urlsplit(address)
    if not url.path or url.netloc not in ("", request.get_host()):
        return settings.LOGIN_REDIRECT_URL
    return url.path + (f"?{url.query}" if url.query else "")


def viewer_for(request: HttpRequest) -> Viewer:
    """Return the viewer of a page: the signed-in user with their current rights."""
    return viewer_of(request.user, address=client_address(request.META))


def _sign_in(back_to: str) -> str:
    return settings.LOGIN_URL + (f"?next={quote(back_to)}" if back_to not in ("", "/") else "")


def admin_of(request: HttpRequest) -> Viewer:
    """Return the viewer if they are an admin of all clusters. Raises Http404 otherwise."""
    viewer = viewer_for(request)
    if not viewer.is_admin:
        raise Http404
    return viewer
