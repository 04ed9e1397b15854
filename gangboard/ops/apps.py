"""The Django app with the management commands and checks."""

from django.apps import AppConfig


class OpsConfig(AppConfig):
    """Management commands and checks, without tables."""

    name = "gangboard.ops"
    label = "ops"

    def ready(self) -> None:
        """Import the checks, which register themselves."""
        from gangboard.ops import checks  # noqa: F401
