"""The Django app that brings the management commands."""

from django.apps import AppConfig


class OpsConfig(AppConfig):
    """Management commands only: no tables."""

    name = "gangboard.ops"
    label = "ops"
