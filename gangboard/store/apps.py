"""The Django app that holds every table."""

from django.apps import AppConfig
from django.db.models.signals import pre_migrate

from gangboard.store.database_state import refuse_old_tables


class StoreConfig(AppConfig):
    """All tables of gangboard."""

    name = "gangboard.store"
    label = "store"
    verbose_name = "gangboard"

    def ready(self) -> None:
        """Check before each migration that the existing tables can be migrated."""
        pre_migrate.connect(refuse_old_tables, sender=self)
