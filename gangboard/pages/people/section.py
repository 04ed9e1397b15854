"""The section People: its tabs, its forms, and the redirect after a change."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from gangboard.pages.core.forms import sentence_of
from gangboard.pages.core.layout import NavigationItem, plain_page
from gangboard.store.access import Viewer
from gangboard.store.clusters import ClusterError
from gangboard.store.people import PeopleError

_TABS = (
    ("people", "People"),
    ("people-groups", "Groups"),
    ("people-tokens", "Tokens"),
    ("people-sessions", "Sessions"),
)
"""(URL name, label) of each tab."""


def show(
    request: HttpRequest,
    template: str,
    viewer: Viewer,
    tab: str,
    context: Mapping[str, object],
    *,
    status: int = 200,
) -> HttpResponse:
    """Return a page of the section. `tab` is the URL name of its tab."""
    tabs = tuple(_tab(name, label, name == tab, request.path) for name, label in _TABS)
    return plain_page(
        request,
        template,
        viewer=viewer,
        section="people",
        context={**context, "tabs": tabs},
        status=status,
    )


def _tab(name: str, label: str, is_current: bool, path: str) -> NavigationItem:
    href = reverse(name)
    return NavigationItem(label, href, ("page" if href == path else "true") if is_current else "")


def carry_out(form: forms.Form, change: Callable[[], object]) -> int:
    """Apply the change of a form. Return 0, or the HTTP status of the page that shows the form's errors."""
    if not form.is_valid():
        return 400
    try:
        change()
    except (PeopleError, ClusterError) as error:
        form.add_error(None, sentence_of(error))
        return 409
    return 0


def redirect_to(page: str, *arguments: str, anchor: str = "") -> HttpResponse:
    """Return the redirect to a page after a change."""
    address = reverse(page, args=arguments) + (f"#{anchor}" if anchor else "")
    return HttpResponseRedirect(address, status=303)
