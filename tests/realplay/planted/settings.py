"""The settings of gangboard, with the app that plants a bug."""

from gangboard.settings import *  # noqa: F403
from gangboard.settings import INSTALLED_APPS as _APPS

INSTALLED_APPS = [*_APPS, "tests.realplay.planted.app.PlantedConfig"]
