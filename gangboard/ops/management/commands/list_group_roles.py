"""`manage.py list_group_roles`: one line per role of a group."""

from typing import Any

from gangboard.ops.database_command import DatabaseCommand
from gangboard.store.group_roles import list_group_roles


class Command(DatabaseCommand):
    help = "Print which groups of the identity provider have which roles, one line for each."

    def handle(self, *_: Any, **__: Any) -> None:
        rows = list_group_roles()
        for row in rows:
            self.stdout.write(f"{row.group}: {row.text}")
        if not rows:
            self.stdout.write("No group has a role. manage.py grant_group gives one.")
