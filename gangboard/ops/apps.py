"""The Django app that brings the management commands and checks."""

from django.apps import AppConfig


class OpsConfig(AppConfig):
    """Management commands and checks only: no tables."""

    name = "gangboard.ops"
    label = "ops"

    def ready(self) -> None:
        """Have the checks register themselves."""
        from gangboard.ops import checks  # noqa: F401
