"""Who is signed in: every page asks for it, unless it is marked as open (`login_not_required`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.http.response import HttpResponseRedirectBase
from django_htmx.http import HttpResponseClientRedirect

from gangboard.peers import client_address
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
        """Return the way to sign-in: of the whole page also where only a part of it was asked for."""
        if request.headers.get("HX-Request"):
            # No form may appear inside a table.
            address = _path(request.headers.get("HX-Current-URL"))
            return HttpResponseClientRedirect(_sign_in(address))
        return HttpResponseRedirect(_sign_in(request.get_full_path()))


def viewer_for(request: HttpRequest) -> Viewer:
    """Return for whom a page is: who is signed in, with the rights of this moment."""
    return viewer_of(request.user, address=client_address(request.META))


def _sign_in(back_to: str) -> str:
    return settings.LOGIN_URL + (f"?next={quote(back_to)}" if back_to not in ("", "/") else "")


def _path(url: str | None) -> str:
    parts = urlsplit(url or "/")
    return parts.path + (f"?{parts.query}" if parts.query else "")
