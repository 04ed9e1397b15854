"""Signing in and out: a password, or a link that works once."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib import auth
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from gangboard.readmodels.ages import duration_text
from gangboard.store import people

MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"


@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Show the form, or sign in with name and password; attempts are limited."""
    back_to = _safe(request, request.POST.get("next") or request.GET.get("next", ""))
    if request.method == "GET":
        if request.user.is_authenticated:
            return HttpResponseRedirect(back_to)
        return _form(request, back_to)
    name = request.POST.get("name", "").replace("\x00", "")[:150]
    wait = people.count_password_attempt(name=name, address=request.META.get("REMOTE_ADDR", ""))
    if wait:
        response = _form(
            request,
            back_to,
            f"Too many attempts. Try again in {duration_text(timedelta(seconds=wait))}.",
            name=name,
            status=429,
        )
        response["Retry-After"] = str(int(wait))
        return response
    user = auth.authenticate(request, username=name, password=request.POST.get("password", ""))
    if user is None:
        sentence = "This name and password do not belong together."
        return _form(request, back_to, sentence, name=name, status=403)
    people.forget_password_attempts(name=name)
    auth.login(request, user)
    return HttpResponseRedirect(back_to)


@require_GET
def follow_link(request: HttpRequest, secret: str) -> HttpResponse:
    """Sign in whoever follows a one-time link; afterwards the link is worthless."""
    user = people.consume_sign_in_link(secret)
    if user is None:
        sentence = (
            "This sign-in link does not work any more: it was used, or it has expired. "
            "Ask for a new one."
        )
        return _form(request, settings.LOGIN_REDIRECT_URL, sentence, status=403)
    auth.login(request, user, backend=MODEL_BACKEND)
    return HttpResponseRedirect(settings.LOGIN_REDIRECT_URL)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session."""
    auth.logout(request)
    return HttpResponseRedirect(settings.LOGIN_URL)


def _form(
    request: HttpRequest, back_to: str, sentence: str = "", *, name: str = "", status: int = 200
) -> HttpResponse:
    context = {"next": back_to, "sentence": sentence, "name": name}
    return render(request, "sign_in.html", context, status=status)


def _safe(request: HttpRequest, address: str) -> str:
    """Return the address to go on to if it is one of ours."""
    if url_has_allowed_host_and_scheme(
        address, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    ):
        return address
    return str(settings.LOGIN_REDIRECT_URL)
