"""The page of one person."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_POST, require_safe

from gangboard.pages.core.auth import admin_of
from gangboard.pages.core.forms import sentence_of
from gangboard.pages.core.fresh_sign_in import require_fresh
from gangboard.pages.core.saved_forms import saved_form, saves_form
from gangboard.pages.people import changes
from gangboard.pages.people.forms import RoleForm
from gangboard.pages.people.queries import read_user
from gangboard.pages.people.rows import SignInLinkRow, UserRow
from gangboard.pages.people.section import carry_out, redirect_to, show
from gangboard.pages.people.sign_ins import sessions_of, tokens_of
from gangboard.store.access import Viewer
from gangboard.store.people import PeopleError


@require_safe
def person(request: HttpRequest, name: str) -> HttpResponse:
    """Show a person."""
    viewer, _ = _find_person(request, name)
    form = RoleForm(saved_form(request, "person-roles"), viewer=viewer)
    return _page(request, viewer, name, form=form)


@saves_form("person", fields=RoleForm.base_fields, anchor="roles")
@require_POST
def give_role(request: HttpRequest, name: str) -> HttpResponse:
    """Grant a role."""
    viewer, _ = _find_person(request, name)
    if redirect := require_fresh(request):
        return redirect
    form = RoleForm(request.POST, viewer=viewer)
    if status := carry_out(
        form, lambda: changes.give_role(viewer=viewer, name=name, **form.arguments())
    ):
        return _page(request, viewer, name, form=form, status=status)
    return redirect_to("person", name, anchor="roles")


@require_POST
def take_role(request: HttpRequest, name: str) -> HttpResponse:
    """Revoke a role."""
    viewer, _ = _find_person(request, name)
    form = RoleForm(request.POST, viewer=viewer)
    if status := carry_out(
        form, lambda: changes.take_role(viewer=viewer, name=name, **form.arguments())
    ):
        return _page(request, viewer, name, form=form, status=status)
    return redirect_to("person", name, anchor="roles")


@require_POST
def make_link(request: HttpRequest, name: str) -> HttpResponse:
    """Create a link that signs the person in, and show it, only in this response."""
    viewer, _ = _find_person(request, name)
    if redirect := require_fresh(request):
        return redirect
    try:
        secret, expires_at = changes.make_link(viewer=viewer, name=name)
    except PeopleError as error:
        return _page(request, viewer, name, refusal=sentence_of(error), status=409)
    link = SignInLinkRow(changes.link_address(request, secret), expires_at)
    return _page(request, viewer, name, link=link)


@require_POST
def disable(request: HttpRequest, name: str) -> HttpResponse:
    """Disable the account."""
    return _set_disabled(request, name, disabled=True)


@require_POST
def reopen(request: HttpRequest, name: str) -> HttpResponse:
    """Reopen the account."""
    return _set_disabled(request, name, disabled=False)


def _set_disabled(request: HttpRequest, name: str, *, disabled: bool) -> HttpResponse:
    viewer, _ = _find_person(request, name)
    try:
        changes.set_disabled(viewer=viewer, name=name, disabled=disabled)
    except PeopleError as error:
        return _page(request, viewer, name, refusal=sentence_of(error), status=409)
    return redirect_to("person", name)


def _find_person(request: HttpRequest, name: str) -> tuple[Viewer, UserRow]:
    viewer = admin_of(request)
    # PostgreSQL refuses a NUL in a comparison.
    row = None if "\x00" in name else read_user(name, viewer=viewer)
    if row is None:
        raise Http404
    return viewer, row


def _page(
    request: HttpRequest,
    viewer: Viewer,
    name: str,
    *,
    form: RoleForm | None = None,
    link: SignInLinkRow | None = None,
    refusal: str = "",
    status: int = 200,
) -> HttpResponse:
    context = {
        "person": read_user(name, viewer=viewer),
        "tokens": tokens_of(name, viewer=viewer),
        "sessions": sessions_of(name, viewer=viewer, current=request.session),
        "has_links": "link" in settings.LOCAL_SIGN_IN,
        "form": form or RoleForm(viewer=viewer),
        "link": link,
        "refusal": refusal,
        "is_self": name == viewer.name,
    }
    return show(request, "people/person.html", viewer, "people", context, status=status)
