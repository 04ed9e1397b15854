"""URLs of all pages, found in the `urls.py` of each folder."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from django.urls import URLPattern

from gangboard import pages

_NOT_PAGES = frozenset({"core", "templatetags"})

_PATTERNS: list[URLPattern] = [
    pattern
    for module in iter_modules(pages.__path__)
    if module.ispkg and module.name not in _NOT_PAGES
    for pattern in import_module(f"{pages.__name__}.{module.name}.urls").urlpatterns
]

# URLs without a parameter come first, so that `actions/confirm/` is not read as the id of an action.
urlpatterns = sorted(_PATTERNS, key=lambda pattern: "<" in str(pattern.pattern))
