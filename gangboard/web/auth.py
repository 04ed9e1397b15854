"""Who is signed in: every page gets its viewer here, and only here."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec
from urllib.parse import quote, urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase, HttpResponseRedirect
from django_htmx.http import HttpResponseClientRedirect

from gangboard.peers import client_address
from gangboard.store.access import Viewer, viewer_of

P = ParamSpec("P")
Page = Callable[Concatenate[HttpRequest, Viewer, P], HttpResponseBase]


def signed_in(page: Page[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Give the page its viewer; send a person who is not signed in to sign in and come back."""

    @wraps(page)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.user.is_authenticated:
            return page(
                request,
                viewer_of(request.user, address=client_address(request.META)),
                *args,
                **kwargs,
            )
        if request.headers.get("HX-Request"):
            # The whole page goes to sign-in: no form may appear inside a table.
            return HttpResponseClientRedirect(
                _sign_in(_path(request.headers.get("HX-Current-URL")))
            )
        return HttpResponseRedirect(_sign_in(request.get_full_path()))

    return guarded


def _sign_in(back_to: str) -> str:
    return settings.LOGIN_URL + (f"?next={quote(back_to)}" if back_to not in ("", "/") else "")


def _path(url: str | None) -> str:
    parts = urlsplit(url or "/")
    return parts.path + (f"?{parts.query}" if parts.query else "")
