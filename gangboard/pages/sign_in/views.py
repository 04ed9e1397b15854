"""Sign-in by a password or a one-time link, and sign-out."""

from __future__ import annotations

from datetime import timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NoReturn

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, LogoutView
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.http import urlencode
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_POST, require_safe

from gangboard.client_address import client_address, network_of
from gangboard.pages.core.browser_sessions import start_session
from gangboard.pages.core.fresh_sign_in import is_fresh_sign_in_required
from gangboard.pages.core.password_throttle import password_throttle
from gangboard.pages.core.saved_forms import has_saved_form, newest_form_address
from gangboard.readmodels.formatting import duration_text
from gangboard.store import authentication, sessions
from gangboard.store.rate_limits import RateLimitResult

SOON = 2
"""Seconds for Retry-After, when a slot may be free."""
NO_PASSWORDS = "Passwords are switched off here (GANGBOARD_LOCAL_SIGN_IN)."
NO_LINKS = "Sign-in links are switched off here (GANGBOARD_LOCAL_SIGN_IN)."
BUSY = "Too many sign-ins at this moment. Try again in a few seconds."
WRONG = "The name or the password is wrong."


class SignInForm(AuthenticationForm):
    """Form of name and password. The number of attempts is limited."""

    request: HttpRequest
    error_messages = {"invalid_login": WRONG, "inactive": WRONG}  # noqa: RUF012  # as in its base class
    status = 403
    """HTTP status of the answer to an invalid form."""
    tried: RateLimitResult | None = None
    """Result of the rate limit. None if no attempt was counted."""
    wait = 0
    """Seconds after which to try again."""

    def add_prefix(self, field_name: str) -> str:
        """Return the name of a field on the page. Django's `username` is `name` there."""
        return super().add_prefix("name" if field_name == "username" else field_name)

    @sensitive_variables()
    def clean(self) -> dict[str, Any]:
        """Check the password. Raises ValidationError."""
        if self.errors:
            raise ValidationError(WRONG)
        # The slot is taken before any query, so a flood writes only as much as its slots allow.
        with password_throttle.slot(self.sender) as taken:
            if not taken:
                self._refuse(BUSY, status=503, wait=SOON)
            self.tried = authentication.count_password_attempt(name=self.name, place=self.place)
            if self.tried.wait:
                after = duration_text(timedelta(seconds=self.tried.wait))
                sentence = f"Too many wrong passwords. Try again in {after}, or sign in by a link."
                self._refuse(sentence, status=429, wait=self.tried.wait)
            return super().clean()

    @property
    def name(self) -> str:
        """The user name, normalized as Django compares names, so each user has one limit."""
        return str(self.cleaned_data["username"])

    @property
    def sender(self) -> str:
        """The network of the client."""
        return network_of(client_address(self.request.META))

    @property
    def place(self) -> str:
        """The scope of the limit: the network of the client, or the session of a user who is signed in already.

        A stranger with the same address therefore cannot lock a signed-in user out.
        """
        user = self.request.user
        if user.is_authenticated and user.get_username() == self.name:
            return f"session {self.request.session.session_key}"
        return self.sender

    def _refuse(self, sentence: str, *, status: int, wait: int) -> NoReturn:
        """Reject the form without checking the password."""
        self.status, self.wait = status, wait
        raise ValidationError(sentence)


if TYPE_CHECKING:
    _LoginView = LoginView[SignInForm]
else:
    _LoginView = LoginView  # generic in its stubs only


class SignInView(_LoginView):
    """The sign-in page, and the sign-in with name and password."""

    form_class = SignInForm
    template_name = "sign_in.html"
    http_method_names = ["get", "head", "post"]  # noqa: RUF012  # a list, as in its base class

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Show the form. A signed-in user is redirected, unless the sign-in must be fresh."""
        if request.user.is_authenticated and not (
            is_fresh_sign_in_required(request) and not sessions.is_fresh(request.session)
        ):
            return HttpResponseRedirect(self.get_success_url())
        return super().get(request, *args, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Sign in, unless passwords are switched off."""
        if "password" not in settings.LOCAL_SIGN_IN:
            return sign_in_page(request, NO_PASSWORDS, status=403)
        return super().post(request, *args, **kwargs)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return the template context."""
        context = super().get_context_data(**kwargs)
        form: SignInForm = context["form"]
        user = self.request.user
        return {
            **context,
            **sign_in_context(self.request, self.get_success_url()),
            "sentence": "".join(str(error) for error in form.non_field_errors()),
            "name": form["username"].value() or (user.get_username() if user else ""),
        }

    def form_valid(self, form: SignInForm) -> HttpResponse:
        """Sign in."""
        authentication.reset_password_attempts(name=form.name, place=form.place)
        user = form.get_user()
        assert isinstance(user, User)  # noqa: S101  # AUTH_USER_MODEL is Django's own
        start_session(self.request, user, method=sessions.PASSWORD, how="a password")
        return HttpResponseRedirect(self.get_success_url())

    def form_invalid(self, form: SignInForm) -> HttpResponse:
        """Show the form again with the error."""
        if form.tried is not None and not form.tried.wait:
            source = client_address(self.request.META)
            authentication.record_failed_sign_in(
                name=form.name, source=source, number=form.tried.number
            )
        later = {"Retry-After": str(form.wait)} if form.wait else {}
        context = self.get_context_data(form=form)
        return self.render_to_response(context, status=form.status, headers=later)


@login_not_required
@require_safe
def follow_link(request: HttpRequest, secret: str) -> HttpResponse:
    """Show the user of a one-time link, with the button that signs in.

    A GET changes nothing, because chat previews and mail filters open links. A link can also come from an attacker
    who wants this browser to use another account.
    """
    user = authentication.find_sign_in_link(secret) if _links_work() else None
    if user is None:
        return _no_link(request)
    present = request.user if request.user.is_authenticated and request.user != user else None
    context = {"secret": secret, "user": user, "present": present, "host": request.get_host()}
    response = render(request, "sign_in_link.html", context)
    # The address contains the secret, so the Referer header may only contain the origin.
    response["Referrer-Policy"] = "strict-origin"
    return response


@login_not_required
@sensitive_post_parameters("secret")
@require_POST
def use_link(request: HttpRequest) -> HttpResponse:
    """Sign in the user of a one-time link and use the link up."""
    source = client_address(request.META)
    if not _links_work():
        return _no_link(request)
    with transaction.atomic():
        user = authentication.consume_sign_in_link(request.POST.get("secret", ""))
        if user is not None:
            start_session(request, user, method=sessions.LINK, how="a link")
    if user is None:
        authentication.record_failed_link(source=source)
        return _no_link(request)
    return HttpResponseRedirect(newest_form_address(request.session) or settings.LOGIN_REDIRECT_URL)


def _links_work() -> bool:
    return "link" in settings.LOCAL_SIGN_IN


def _no_link(request: HttpRequest) -> HttpResponse:
    sentence = (
        "This sign-in link does not work any more: it was used, or it has expired. "
        "Ask for a new one."
    )
    return sign_in_page(request, sentence if _links_work() else NO_LINKS, status=403)


def sign_in_page(request: HttpRequest, sentence: str, *, status: int) -> HttpResponse:
    """Return the sign-in page with an error."""
    context = {**sign_in_context(request, settings.LOGIN_REDIRECT_URL), "sentence": sentence}
    response = render(request, "sign_in.html", context, status=status)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        response["Retry-After"] = str(SOON)
    return response


def sign_in_context(request: HttpRequest, back_to: str) -> dict[str, Any]:
    """Return the template context of the sign-in methods. `back_to` is the address to open afterwards."""
    must_be_fresh = is_fresh_sign_in_required(request) and request.user.is_authenticated
    query = {"next": back_to} | ({"fresh": "1"} if must_be_fresh else {})
    return {
        "next": back_to,
        "provider": settings.OIDC_NAME if settings.OIDC_ISSUER else "",
        "provider_href": f"{reverse('sign-in-provider')}?{urlencode(query)}",
        "by_password": "password" in settings.LOCAL_SIGN_IN,
        "by_link": "link" in settings.LOCAL_SIGN_IN,
        "must_be_fresh": must_be_fresh,
        "has_saved_form": has_saved_form(request.session, back_to),
        "contact": settings.CONTACT,
    }


@method_decorator(login_not_required, name="dispatch")
class SignOutView(LogoutView):
    """Sign-out."""

    http_method_names = ["post"]  # noqa: RUF012  # a list, as in its base class
    next_page = "sign-in"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Sign the user out and record it in the audit."""
        name = request.user.get_username()
        with transaction.atomic():
            response = super().post(request, *args, **kwargs)
            if name:
                authentication.record_sign_out(name=name, source=client_address(request.META))
        return response
