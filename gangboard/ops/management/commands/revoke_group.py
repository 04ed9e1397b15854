"""`manage.py revoke_group GROUP --role viewer|operator|admin [--cluster C] [--namespace N]`."""

from typing import Any

from django.core.management.base import CommandParser

from gangboard.ops.database_command import RoleCommand
from gangboard.store import group_roles


class Command(RoleCommand):
    help = "Remove a role that manage.py grant_group gave, with the same options, and print the remaining roles of the group. Members lose the role at once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("group", help="name or id of the group, as the provider sends it")
        super().add_arguments(parser)

    def change(self, **place: Any) -> None:
        group = self.options["group"]
        remaining = group_roles.revoke_group(group=group, **place)
        self.stdout.write(f"Members of group {group} are no longer {self.text}.")
        for row in remaining:
            self.stdout.write(f"Members of group {group} are still {row.text}.")
