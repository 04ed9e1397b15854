"""The Django app of the pages (template tags only: no tables)."""

from django.apps import AppConfig


class WebConfig(AppConfig):
    """Pages."""

    name = "gangboard.web"
    label = "web"
