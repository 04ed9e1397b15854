"""Signing in and out: a password, or a link that works once."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.contrib import auth
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from gangboard.peers import client_address, network_of
from gangboard.readmodels.ages import duration_text
from gangboard.store import authentication
from gangboard.web.password_throttle import password_throttle

SOON = 2
"""Seconds after which a slot may be free."""
MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"


@login_not_required
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
    sender = network_of(client_address(request.META))
    # Nobody waits for a transaction here, and a flood writes no more than its slots allow.
    with password_throttle.slot(sender) as taken:
        if not taken:
            sentence = "Too many people sign in at this moment. Try again in a few seconds."
            return _later(_form(request, back_to, sentence, name=name, status=503), SOON)
        place = _place(request, name, sender)
        tried = authentication.try_password(name=name, place=place)
        if tried.wait:
            after = duration_text(timedelta(seconds=tried.wait))
            sentence = f"Too many wrong passwords. Try again in {after}, or sign in by a link."
            return _later(_form(request, back_to, sentence, name=name, status=429), tried.wait)
        user = auth.authenticate(request, username=name, password=request.POST.get("password", ""))
    source = client_address(request.META)
    if user is None:
        authentication.record_failed_sign_in(name=name, source=source, number=tried.number)
        sentence = "This name and password do not belong together."
        return _form(request, back_to, sentence, name=name, status=403)
    authentication.forget_passwords(name=name, place=place)
    assert isinstance(user, User)  # noqa: S101  # AUTH_USER_MODEL is Django's own
    with transaction.atomic():
        auth.login(request, user)
        authentication.record_sign_in(user=user, how="a password", source=source)
    return HttpResponseRedirect(back_to)


def _place(request: HttpRequest, name: str, sender: str) -> str:
    """Return where a password is typed: for who is signed in already, the session itself.

    So nobody who shares an address with them can lock them out of it.
    """
    if request.user.is_authenticated and request.user.get_username() == name:
        return f"session {request.session.session_key}"
    return sender


def _later(response: HttpResponse, seconds: int) -> HttpResponse:
    response["Retry-After"] = str(seconds)
    return response


@login_not_required
@require_safe
def follow_link(request: HttpRequest, secret: str) -> HttpResponse:
    """Say whom a one-time link signs in, with the button that does it.

    Previews of chats and filters of mail look at links too, and a link may come from somebody who
    wants this browser to work in another account: looking changes nothing.
    """
    user = authentication.find_sign_in_link(secret)
    if user is None:
        return _no_link(request)
    present = request.user if request.user.is_authenticated and request.user != user else None
    context = {"secret": secret, "user": user, "present": present, "host": request.get_host()}
    response = render(request, "sign_in_link.html", context)
    # The address holds the secret: only the origin may go with what the page loads and sends.
    response["Referrer-Policy"] = "strict-origin"
    return response


@login_not_required
@sensitive_post_parameters("secret")
@require_POST
def use_link(request: HttpRequest) -> HttpResponse:
    """Sign in whom a one-time link is for; afterwards the link is worthless."""
    source = client_address(request.META)
    with transaction.atomic():
        user = authentication.consume_sign_in_link(request.POST.get("secret", ""))
        if user is not None:
            auth.login(request, user, backend=MODEL_BACKEND)
            authentication.record_sign_in(user=user, how="a link", source=source)
    if user is None:
        authentication.record_failed_link(source=source)
        return _no_link(request)
    return HttpResponseRedirect(settings.LOGIN_REDIRECT_URL)


def _no_link(request: HttpRequest) -> HttpResponse:
    sentence = (
        "This sign-in link does not work any more: it was used, or it has expired. "
        "Ask for a new one."
    )
    return _form(request, settings.LOGIN_REDIRECT_URL, sentence, status=403)


@login_not_required
@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session."""
    name = request.user.get_username() if request.user.is_authenticated else ""
    with transaction.atomic():
        auth.logout(request)
        if name:
            authentication.record_sign_out(name=name, source=client_address(request.META))
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
