"""The tabs of the Actions section."""

from __future__ import annotations

from django.urls import reverse

from gangboard.web.layout import NavigationItem

_TABS = (("actions", "Record"), ("holds", "Holds"), ("audit", "Audit"))
"""(name of the address, label)."""


def tabs(here: str) -> tuple[NavigationItem, ...]:
    """Return the tabs; `here` is the name of the one that is shown."""
    return tuple(
        NavigationItem(label, reverse(name), "page" if name == here else "")
        for name, label in _TABS
    )
