"""`manage.py grant_group GROUP --role viewer|operator|admin [--cluster C] [--namespace N]`."""

from typing import Any

from django.core.management.base import CommandParser

from gangboard.ops.database_command import RoleCommand
from gangboard.store import group_roles


class Command(RoleCommand):
    help = (
        "Give a role to a group of the identity provider. Members that have signed in before have it at "
        "once, the others when they sign in."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("group", help="name or id of the group, as the provider sends it")
        super().add_arguments(parser)

    def change(self, **place: Any) -> None:
        group = self.options["group"]
        since = "from now on" if group_roles.grant_group(group=group, **place) else "already"
        self.stdout.write(f"Members of group {group} are {self.text} {since}.")
