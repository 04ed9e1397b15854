"""The section People: its tabs, and the way back after a change."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from gangboard.store.access import Viewer
from gangboard.web.layout import NavigationItem, plain_page

_TABS = (
    ("people", "People"),
    ("people-groups", "Groups"),
    ("people-tokens", "Tokens"),
    ("people-sessions", "Sessions"),
)
"""(name of the address, label)."""


def show(
    request: HttpRequest,
    template: str,
    viewer: Viewer,
    tab: str,
    context: Mapping[str, object],
    *,
    status: int = 200,
) -> HttpResponse:
    """Return a page of the section; `tab` is the name of its address."""
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


def back(page: str, *arguments: str, part: str = "") -> HttpResponse:
    """Return the way to a page after a change."""
    address = reverse(page, args=arguments) + (f"#{part}" if part else "")
    return HttpResponseRedirect(address, status=303)
