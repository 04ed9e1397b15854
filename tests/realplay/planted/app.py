"""The app that replaces one function of gangboard at the start of each process."""

from __future__ import annotations

import os
from unittest import mock

from django.apps import AppConfig

from tests.realplay.planted import VARIABLE


class PlantedConfig(AppConfig):
    """Plants the bug that the environment names. Raises KeyError for an unknown one."""

    name = "tests.realplay.planted"

    def ready(self) -> None:
        """Replace the function. Django has loaded all models now."""
        from tests.realplay.planted.bugs import BUGS

        name, replacement = BUGS[os.environ[VARIABLE]]
        mock.patch(f"gangboard.{name}", replacement).start()
