"""The app whose template tags print rows."""

from __future__ import annotations

from django.apps import AppConfig


class PagesConfig(AppConfig):
    """Has no tables."""

    name = "gangboard.pages"
    label = "pages"
