"""Who is signed in: every page asks for it, unless it is marked as open (`login_not_required`)."""

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
    """Sends a person who is not signed in to sign in and come back."""

    def process_view(
        self,
        request: HttpRequest,
        view_func: View,
        view_args: tuple[Any, ...],
        view_kwargs: dict[str, Any],
    ) -> HttpResponseBase | None:
        """Return the way to sign-in, or None where the view may answer."""
        # Before Django's own look at who asks: what is open also answers without a database.
        if not getattr(view_func, "login_required", True):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)

    def handle_no_permission(  # type: ignore[override]  # Django's own returns one kind of redirect
        self,
        request: HttpRequest,
        view_func: View,  # noqa: ARG002  # Django's signature
    ) -> HttpResponseRedirectBase:
        """Return the way to sign-in: of the whole page also where only a part of it was asked for.

        A form that was sent is kept, if its person is known, and filled in again after the sign-in.
        """
        cookie = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
        is_form = request.method == "POST"
        user_id = sessions.owner_of_ended(cookie) if is_form and cookie else None
        kept = save_form(request, user_id=user_id)
        if request.headers.get("HX-Request"):
            # No form may appear inside a table.
            return HttpResponseClientRedirect(_sign_in(kept or page_of(request)))
        return HttpResponseRedirect(_sign_in(kept or page_of(request)))


def page_of(request: HttpRequest) -> str:
    """Return the page to come back to: the one that was asked for, or that from which a form was sent."""
    if request.headers.get("HX-Request"):
        page = request.headers.get("HX-Current-URL", "")
    elif request.method in ("GET", "HEAD"):
        return request.get_full_path()
    else:
        page = request.headers.get("Referer", "")
    parts = urlsplit(page)
    if not parts.path or parts.netloc not in ("", request.get_host()):
        return settings.LOGIN_REDIRECT_URL
    return parts.path + (f"?{parts.query}" if parts.query else "")


def viewer_for(request: HttpRequest) -> Viewer:
    """Return for whom a page is: who is signed in, with the rights of this moment."""
    return viewer_of(request.user, address=client_address(request.META))


def _sign_in(back_to: str) -> str:
    return settings.LOGIN_URL + (f"?next={quote(back_to)}" if back_to not in ("", "/") else "")


def admin_of(request: HttpRequest) -> Viewer:
    """Return the admin of everything who asks. Raises Http404 for anybody else."""
    viewer = viewer_for(request)
    if not viewer.is_admin:
        raise Http404
    return viewer
