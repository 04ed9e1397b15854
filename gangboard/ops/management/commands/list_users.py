"""`manage.py list_users [--json]`."""

from __future__ import annotations

from collections.abc import Iterable

from gangboard.ops.list_command import SERVER, ListCommand, every_row
from gangboard.pages.people.queries import UserFilters, users_page
from gangboard.pages.people.rows import UserRow


class Command(ListCommand):
    help = "List all accounts: roles, groups, last visit, tokens and sessions."
    row = UserRow
    nothing = "There are no users. Create one with manage.py create_user."

    def rows(self) -> Iterable[UserRow]:
        """Return the users by name."""
        return every_row(
            lambda cursor, limit: users_page(
                viewer=SERVER, filters=UserFilters(), cursor=cursor, limit=limit
            )
        )
