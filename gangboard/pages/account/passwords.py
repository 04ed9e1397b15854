"""Changes of the viewer's own password."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.views.decorators.debug import sensitive_variables

from gangboard.client_address import client_address, network_of
from gangboard.pages.core.password_throttle import password_throttle
from gangboard.store import authentication, people, sessions
from gangboard.store.models import Identity

BUSY = "Too many sign-ins at this moment. Try again in a few seconds."
TOO_OFTEN = "Too many wrong passwords. Try again in a few minutes."
WRONG = "The current password is wrong."
DIFFERENT = "The two new passwords differ."


def has_password_form(user: User) -> bool:
    """Return whether the person may have a password. People of an identity provider may not."""
    return "password" in settings.LOCAL_SIGN_IN and not Identity.objects.filter(user=user).exists()


class PasswordForm(forms.Form):
    """A new password. People without a password need no current one, because their sign-in is fresh."""

    current = forms.CharField(
        label="Current password",
        strip=False,
        max_length=4096,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    new = forms.CharField(
        label="New password",
        strip=False,
        max_length=4096,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    again = forms.CharField(
        label="New password again",
        strip=False,
        max_length=4096,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def __init__(self, data: Any = None, *, user: User) -> None:
        super().__init__(data, auto_id=False)
        self.user = user
        if not user.has_usable_password():
            del self.fields["current"]

    @sensitive_variables()
    def clean(self) -> dict[str, Any]:
        """Compare the new passwords and validate their strength."""
        data: dict[str, Any] = super().clean() or {}
        new = data.get("new")
        if new and "again" in data and new != data["again"]:
            self.add_error("again", DIFFERENT)
        elif new:
            try:
                validate_password(new, self.user)
            except ValidationError as error:
                self.add_error("new", error)
        return data


@sensitive_variables()
def change_own_password(request: HttpRequest, form: PasswordForm) -> bool:
    """Change the password from a valid form. Return False, with an error in the form, if it is refused.

    All other sessions of the person end. Wrong passwords count towards the limit of the sign-in page.
    """
    user, current = form.user, form.cleaned_data.get("current")
    if current is not None and not _check_password(request, form, current):
        return False
    name = user.get_username()
    with transaction.atomic():
        method = sessions.signed_in_by(request.session) or sessions.PASSWORD
        people.change_password(name=name, password=form.cleaned_data["new"], by=name)
        user.refresh_from_db()
        update_session_auth_hash(request, user)
        sessions.begin_session(
            request.session, user=user, method=method, address=client_address(request.META)
        )
    return True


def _check_password(request: HttpRequest, form: PasswordForm, current: str) -> bool:
    name, source = form.user.get_username(), client_address(request.META)
    place = f"session {request.session.session_key}"
    with password_throttle.slot(network_of(source)) as is_free:
        if not is_free:
            form.add_error(None, BUSY)
            return False
        attempt = authentication.count_password_attempt(name=name, place=place)
        if attempt.wait:
            form.add_error(None, TOO_OFTEN)
            return False
        if form.user.check_password(current):
            authentication.reset_password_attempts(name=name, place=place)
            return True
    authentication.record_failed_sign_in(name=name, source=source, number=attempt.number)
    form.add_error("current", WRONG)
    return False
