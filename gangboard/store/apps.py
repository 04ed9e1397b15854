"""The Django app that holds every table."""

from django.apps import AppConfig


class StoreConfig(AppConfig):
    """All tables of gangboard."""

    name = "gangboard.store"
    label = "store"
    verbose_name = "gangboard"
