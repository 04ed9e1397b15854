"""`manage.py list_roles [--json]`."""

from __future__ import annotations

from collections.abc import Iterable

from gangboard.ops.list_command import SERVER, ListCommand
from gangboard.pages.people.queries import read_held_roles
from gangboard.pages.people.rows import HeldRoleRow


class Command(ListCommand):
    help = (
        "List the roles of all users: where they count, and whether a person or a group gave them. "
        "manage.py list_group_roles lists the roles of groups."
    )
    row = HeldRoleRow
    nothing = "No person has a role. Give one with manage.py create_user."

    def rows(self) -> Iterable[HeldRoleRow]:
        """Return the roles by user."""
        return read_held_roles(viewer=SERVER)
