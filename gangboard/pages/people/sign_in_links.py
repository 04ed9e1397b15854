"""The address of a link that signs a person in once."""

from __future__ import annotations

from typing import Protocol

from django.conf import settings
from django.urls import reverse


class HasAddress(Protocol):
    """A request of Django or of the REST framework."""

    def build_absolute_uri(self, location: str | None = None) -> str:
        """Return the whole address of a path on this host."""


def link_address(request: HasAddress, secret: str) -> str:
    """Return the address, at the name by which people reach the pages."""
    path = reverse("sign-in-link", args=[secret])
    if settings.PUBLIC_URL:
        return f"{str(settings.PUBLIC_URL).rstrip('/')}{path}"
    return request.build_absolute_uri(path)
