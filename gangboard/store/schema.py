"""Whether the database has the tables of this release."""

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.migrations.executor import MigrationExecutor


def is_migrated() -> bool:
    """Return whether every migration is applied. Raises `django.db.Error` when nobody can tell."""
    connection = connections[DEFAULT_DB_ALIAS]
    connection.ensure_connection()
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())
