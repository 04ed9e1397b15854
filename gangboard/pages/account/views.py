"""The page of the viewer's own account."""

from __future__ import annotations

from django import forms
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import NoReverseMatch, reverse
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from gangboard.domain.owner import LONGEST_SUBMITTER
from gangboard.pages.account import changes
from gangboard.pages.account.passwords import (
    PasswordForm,
    change_own_password,
    has_password_form,
)
from gangboard.pages.account.queries import (
    read_account,
    read_sessions,
    read_tokens,
    read_views,
)
from gangboard.pages.account.rows import NewTokenRow
from gangboard.pages.core.auth import viewer_for
from gangboard.pages.core.forms import sentence_of
from gangboard.pages.core.fresh_sign_in import require_fresh
from gangboard.pages.core.layout import plain_page
from gangboard.pages.core.saved_forms import saved_form, saves_form
from gangboard.readmodels.formatting import printable
from gangboard.store import board_preferences
from gangboard.store.access import Viewer
from gangboard.store.authentication import LONGEST_TOKEN_DAYS, TOKEN_DAYS
from gangboard.store.people import PeopleError
from gangboard.store.submitters import MOST_NAMES, declared_names, save_declared_names


class TokenForm(forms.Form):
    """A token to create."""

    days = forms.IntegerField(min_value=1, max_value=LONGEST_TOKEN_DAYS, initial=TOKEN_DAYS)
    may_act = forms.BooleanField(required=False)


class NamesForm(forms.Form):
    """Names under which the person submits gangs, one per line."""

    names = forms.CharField(
        required=False, max_length=(LONGEST_SUBMITTER + 2) * MOST_NAMES, widget=forms.Textarea
    )


@require_safe
def account(request: HttpRequest) -> HttpResponse:
    """Show the account."""
    return _page(request, viewer_for(request), TokenForm(saved_form(request, "account-tokens")))


@saves_form("account", fields=TokenForm.base_fields, anchor="tokens")
@require_POST
def make_token(request: HttpRequest) -> HttpResponse:
    """Create a token and show its secret, only in this response."""
    if redirect := require_fresh(request):
        return redirect
    viewer, form = viewer_for(request), TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, viewer, form, status=400)
    try:
        token = changes.make_token(viewer=viewer, **form.cleaned_data)
    except PeopleError as error:
        form.add_error(None, sentence_of(error))
        return _page(request, viewer, form, status=409)
    return _page(request, viewer, TokenForm(), token=token)


@require_POST
def revoke_token(request: HttpRequest, token_id: str) -> HttpResponse:
    """Revoke a token."""
    if not changes.revoke_token(viewer=viewer_for(request), token_id=token_id):
        raise Http404
    return _redirect_to("tokens")


@require_POST
def end_session(request: HttpRequest, session_id: int) -> HttpResponse:
    """End a session."""
    if not changes.end_session(viewer=viewer_for(request), session_id=session_id):
        raise Http404
    return _redirect_to("sessions")


@require_POST
def end_other_sessions(request: HttpRequest) -> HttpResponse:
    """End all sessions but this one."""
    changes.end_other_sessions(viewer=viewer_for(request), keep=request.session)
    return _redirect_to("sessions")


@require_POST
def save_names(request: HttpRequest) -> HttpResponse:
    """Save the names under which the person submits gangs."""
    form = NamesForm(request.POST)
    if not form.is_valid():
        return HttpResponse(
            f"At most {MOST_NAMES} names of {LONGEST_SUBMITTER} characters.",
            status=400,
            content_type="text/plain; charset=utf-8",
        )
    names = (line.strip() for line in form.cleaned_data["names"].splitlines())
    save_declared_names(viewer_for(request).user_id, names)
    return _redirect_to("names")


@sensitive_post_parameters()
@require_POST
def change_password(request: HttpRequest) -> HttpResponse:
    """Change the viewer's own password."""
    if not has_password_form(_user(request)):
        raise Http404
    if redirect := require_fresh(request):
        return redirect
    viewer, form = viewer_for(request), PasswordForm(request.POST, user=_user(request))
    if not form.is_valid():
        return _page(request, viewer, TokenForm(), password=form, status=400)
    if not change_own_password(request, form):
        return _page(request, viewer, TokenForm(), password=form, status=403)
    return _page(request, viewer, TokenForm(), is_changed=True)


@require_POST
def remove_view(request: HttpRequest, view_id: str) -> HttpResponse:
    """Delete a saved view of the Board."""
    board_preferences.delete_view(viewer_for(request).user_id, view_id)
    return _redirect_to("views")


def _page(
    request: HttpRequest,
    viewer: Viewer,
    form: TokenForm,
    *,
    token: NewTokenRow | None = None,
    password: PasswordForm | None = None,
    is_changed: bool = False,
    status: int = 200,
) -> HttpResponse:
    user, sessions = _user(request), read_sessions(viewer=viewer, current=request.session)
    if password is None and has_password_form(user):
        password = PasswordForm(user=user)
    context = {
        "sessions": sessions,
        "has_others": any(not row.is_current for row in sessions),
        "password": password,
        "is_changed": is_changed,
        "messages_href": _messages_href(),
        "account": read_account(viewer=viewer),
        "tokens": read_tokens(viewer=viewer),
        "views": read_views(viewer=viewer),
        "names": "\n".join(map(printable, declared_names(viewer.user_id))),
        "most_names": MOST_NAMES,
        "form": form,
        "new_token": token,
        "may_act": viewer.operates_somewhere,
    }
    return plain_page(
        request,
        "account/page.html",
        viewer=viewer,
        section="account",
        context=context,
        status=status,
    )


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # noqa: S101  # the middleware requires a sign-in
    return request.user


def _messages_href() -> str:
    """Return the URL of the page of messages, or an empty string if this release has none."""
    try:
        return reverse("notifications")
    except NoReverseMatch:
        return ""


def _redirect_to(section: str) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('account')}#{section}", status=303)
