"""`manage.py set_read_only [NAME] on|off`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.ops.database_command import DatabaseCommand, command_author
from gangboard.store import clusters


class Command(DatabaseCommand):
    help = "Switch read-only on or off, for one cluster or for all. While it is on, gangboard changes nothing there, and running actions stop before their next request. It is off at first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", nargs="?", help="of the cluster (default: all of them)")
        parser.add_argument("state", choices=["on", "off"])

    def handle(self, *_: Any, **options: Any) -> None:
        name, state = options["name"], options["state"]
        try:
            clusters.set_read_only(name=name, on=state == "on", by=command_author())
        except clusters.ClusterError as error:
            raise CommandError(str(error)) from error
        scope_text = f"cluster {name}" if name else "every cluster"
        self.stdout.write(f"Read-only is {state} for {scope_text}.")
