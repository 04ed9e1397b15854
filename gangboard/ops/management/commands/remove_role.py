"""`manage.py remove_role NAME --role viewer|operator|admin [--cluster C] [--namespace N]`."""

from typing import Any

from django.core.management.base import CommandParser

from gangboard.ops.database_command import RoleCommand
from gangboard.store import people


class Command(RoleCommand):
    help = "Remove a role that manage.py create_user gave, with the same options, and print the remaining roles. It takes effect at once, also for actions that have begun."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        super().add_arguments(parser)

    def change(self, **place: Any) -> None:
        name = self.options["name"]
        remaining = people.remove_role(name=name, **place)
        self.stdout.write(f"{name} is no longer {self.text}.")
        for text in remaining:
            self.stdout.write(f"{name} is still {text}.")
        if not remaining:
            self.stdout.write(f"{name} has no role any more, and sees nothing.")
