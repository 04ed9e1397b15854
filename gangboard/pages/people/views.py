"""The lists of people and of group roles."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods, require_POST

from gangboard.pages.core.auth import admin_of
from gangboard.pages.core.forms import sentence_of
from gangboard.pages.core.fresh_sign_in import require_fresh
from gangboard.pages.core.pagination import PAGE_SIZE, read_rows
from gangboard.pages.core.query_state import make_select, read_address
from gangboard.pages.core.saved_forms import saved_form, saves_form
from gangboard.pages.core.tables import sorting_of
from gangboard.pages.people import changes
from gangboard.pages.people.forms import GroupForm, PersonForm
from gangboard.pages.people.queries import (
    ROLE_FILTERS,
    STATES,
    USER_ORDERINGS,
    UserFilters,
    read_group_roles,
    users_page,
)
from gangboard.pages.people.section import carry_out, redirect_to, show
from gangboard.store.access import Viewer
from gangboard.store.people import PeopleError


@saves_form("people", fields=PersonForm.base_fields, anchor="add")
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: HttpRequest) -> HttpResponse:
    """Show people, or add a person and redirect to their page."""
    viewer = admin_of(request)
    if request.method != "POST":
        return _people_page(request, viewer, PersonForm(saved_form(request), viewer=viewer))
    if redirect := require_fresh(request):
        return redirect
    form = PersonForm(request.POST, viewer=viewer)
    if status := carry_out(
        form, lambda: changes.create_new_user(viewer=viewer, **form.arguments())
    ):
        return _people_page(request, viewer, form, status=status)
    return redirect_to("person", form.cleaned_data["name"])


def _people_page(
    request: HttpRequest, viewer: Viewer, form: PersonForm, *, status: int = 200
) -> HttpResponse:
    address = read_address("people", UserFilters, request.GET)
    filters = address.filters
    rows, pager = read_rows(
        address,
        lambda cursor: users_page(viewer=viewer, filters=filters, cursor=cursor, limit=PAGE_SIZE),
    )
    context = {
        "rows": rows,
        "pager": pager,
        "filters": filters,
        "hidden": address.without("q", "role", "state"),
        "selects": (
            make_select("role", "Role", ROLE_FILTERS, filters.role),
            make_select("state", "Account", STATES, filters.state),
        ),
        "sorting": sorting_of(
            filters.ordering, USER_ORDERINGS, lambda key: address.link(ordering=key), usual="name"
        ),
        "form": form,
    }
    return show(request, "people/page.html", viewer, "people", context, status=status)


@saves_form("people-groups", fields=GroupForm.base_fields, anchor="give")
@require_http_methods(["GET", "HEAD", "POST"])
def groups(request: HttpRequest) -> HttpResponse:
    """Show the roles of groups, or grant one."""
    viewer = admin_of(request)
    if request.method != "POST":
        return _groups_page(request, viewer, GroupForm(saved_form(request), viewer=viewer))
    if redirect := require_fresh(request):
        return redirect
    form = GroupForm(request.POST, viewer=viewer)
    if status := carry_out(
        form, lambda: changes.give_group_role(viewer=viewer, **form.arguments())
    ):
        return _groups_page(request, viewer, form, status=status)
    return redirect_to("people-groups")


@require_POST
def take_group_role(request: HttpRequest, role_id: int) -> HttpResponse:
    """Revoke a role of a group."""
    viewer = admin_of(request)
    try:
        is_revoked = changes.take_group_role(viewer=viewer, role_id=role_id)
    except PeopleError as error:
        form = GroupForm(viewer=viewer)
        return _groups_page(request, viewer, form, refusal=sentence_of(error), status=409)
    if not is_revoked:
        raise Http404
    return redirect_to("people-groups")


def _groups_page(
    request: HttpRequest, viewer: Viewer, form: GroupForm, *, refusal: str = "", status: int = 200
) -> HttpResponse:
    context = {"rows": read_group_roles(viewer=viewer), "form": form, "refusal": refusal}
    return show(request, "people/groups.html", viewer, "people-groups", context, status=status)
