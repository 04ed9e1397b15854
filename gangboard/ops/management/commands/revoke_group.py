"""`manage.py revoke_group GROUP --role viewer|operator|admin [--cluster C] [--namespace N]`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.ops.database_command import DatabaseCommand
from gangboard.ops.who import command_author
from gangboard.store import group_roles
from gangboard.store.access import ROLES
from gangboard.store.clusters import ClusterError
from gangboard.store.people import PeopleError, role_text


class Command(DatabaseCommand):
    help = (
        "Take a role back that manage.py grant_group gave, with the same options, and print what the "
        "group still has. Members lose the role at once."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("group", help="name or id of the group, as the provider sends it")
        parser.add_argument("--role", required=True, choices=ROLES)
        parser.add_argument(
            "--cluster", help="the role on this cluster (default: on every cluster)"
        )
        parser.add_argument("--namespace", default="", help="in this namespace (default: in all)")

    def handle(self, *_: Any, **options: Any) -> None:
        group, role = options["group"], options["role"]
        cluster, namespace = options["cluster"], options["namespace"]
        try:
            left = group_roles.revoke_group(
                group=group,
                role=role,
                cluster_name=cluster,
                namespace=namespace,
                by=command_author(),
            )
        except (PeopleError, ClusterError) as error:
            raise CommandError(str(error)) from error
        text = role_text(role, cluster, namespace)
        self.stdout.write(f"Members of group {group} are no longer {text}.")
        for row in left:
            self.stdout.write(f"Members of group {group} are still {row.text}.")
