"""`manage.py set_lever NAME parallelism on|off`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.domain.shell import rbac_command
from gangboard.ops.database_command import DatabaseCommand, command_author
from gangboard.store import clusters


class Command(DatabaseCommand):
    help = "Switch a lever on or off for a cluster. Only parallelism has a switch: it pauses a child Job with spec.parallelism 0 if no better lever works. It is off at first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="of the cluster")
        parser.add_argument("lever", choices=["parallelism"])
        parser.add_argument("state", choices=["on", "off"])

    def handle(self, *_: Any, **options: Any) -> None:
        name, state = options["name"], options["state"]
        try:
            clusters.set_parallelism(name=name, on=state == "on", by=command_author())
        except clusters.ClusterError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Lever parallelism is {state} on cluster {name}.")
        # The cluster's policy must also allow the lever for the actor.
        self.stdout.write(
            "To let the cluster allow it, apply the permissions again: "
            f"{rbac_command(name, clusters.find_cluster(name=name).context)}"
        )
