"""`manage.py remove_role NAME --role viewer|operator|admin [--cluster C] [--namespace N]`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.ops.database_command import DatabaseCommand
from gangboard.ops.who import command_author
from gangboard.store import people
from gangboard.store.access import ROLES
from gangboard.store.clusters import ClusterError


class Command(DatabaseCommand):
    help = (
        "Take a role back that manage.py create_user gave, with the same options, and print what "
        "the user still is. It counts at once, also for actions that have begun."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--role", required=True, choices=ROLES)
        parser.add_argument(
            "--cluster", help="the role on this cluster (default: on every cluster)"
        )
        parser.add_argument("--namespace", default="", help="in this namespace (default: in all)")

    def handle(self, *_: Any, **options: Any) -> None:
        name, role, cluster = options["name"], options["role"], options["cluster"]
        namespace = options["namespace"]
        try:
            left = people.remove_role(
                name=name, role=role, cluster_name=cluster, namespace=namespace, by=command_author()
            )
        except (people.PeopleError, ClusterError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{name} is no longer {people.role_text(role, cluster, namespace)}.")
        for text in left:
            self.stdout.write(f"{name} is still {text}.")
        if not left:
            self.stdout.write(f"{name} has no role any more, and sees nothing.")
