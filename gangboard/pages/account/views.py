"""The page of one's own account."""

from __future__ import annotations

from django import forms
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from gangboard.pages.account import tokens
from gangboard.pages.account.queries import read_account, read_tokens, read_views
from gangboard.pages.account.rows import NewTokenRow
from gangboard.pages.core.errors import sentence_of
from gangboard.store import board_choices
from gangboard.store.access import Viewer
from gangboard.store.authentication import LONGEST_TOKEN_DAYS, TOKEN_DAYS
from gangboard.store.people import PeopleError
from gangboard.web.auth import viewer_for
from gangboard.web.fresh import require_fresh
from gangboard.web.layout import plain_page


class TokenForm(forms.Form):
    """A token to make."""

    days = forms.IntegerField(min_value=1, max_value=LONGEST_TOKEN_DAYS, initial=TOKEN_DAYS)
    may_act = forms.BooleanField(required=False)


@require_safe
def account(request: HttpRequest) -> HttpResponse:
    """Show the account."""
    return _page(request, viewer_for(request), TokenForm())


@require_POST
def make_token(request: HttpRequest) -> HttpResponse:
    """Make a token and show it, this once."""
    if again := require_fresh(request):
        return again
    viewer, form = viewer_for(request), TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, viewer, form, status=400)
    try:
        token = tokens.make_token(viewer=viewer, **form.cleaned_data)
    except PeopleError as error:
        form.add_error(None, sentence_of(error))
        return _page(request, viewer, form, status=409)
    return _page(request, viewer, TokenForm(), token=token)


@require_POST
def revoke_token(request: HttpRequest, token_id: str) -> HttpResponse:
    """Revoke a token."""
    if not tokens.revoke_token(viewer=viewer_for(request), token_id=token_id):
        raise Http404
    return _back("tokens")


@require_POST
def remove_view(request: HttpRequest, view_id: str) -> HttpResponse:
    """Forget a view of the Board."""
    board_choices.delete_view(viewer_for(request).user_id, view_id)
    return _back("views")


def _page(
    request: HttpRequest,
    viewer: Viewer,
    form: TokenForm,
    *,
    token: NewTokenRow | None = None,
    status: int = 200,
) -> HttpResponse:
    context = {
        "account": read_account(viewer=viewer),
        "tokens": read_tokens(viewer=viewer),
        "views": read_views(viewer=viewer),
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


def _back(part: str) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('account')}#{part}", status=303)
