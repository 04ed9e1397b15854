"""`manage.py remove_cluster NAME`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.ops.database_command import DatabaseCommand, command_author
from gangboard.store import clusters


class Command(DatabaseCommand):
    help = "Stop watching a cluster and delete its data and the roles on it. The cluster itself is not touched."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            clusters.remove_cluster(name=options["name"], by=command_author())
        except clusters.ClusterError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Cluster {options['name']} is no longer watched.")
