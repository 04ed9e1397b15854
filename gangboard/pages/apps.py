"""The Django app of the pages. It has template tags and no tables."""

from __future__ import annotations

from django.apps import AppConfig


class PagesConfig(AppConfig):
    """The app of the pages."""

    name = "gangboard.pages"
    label = "pages"
