"""`manage.py list_tokens [--json]`."""

from __future__ import annotations

from collections.abc import Iterable

from gangboard.ops.list_command import SERVER, ListCommand, every_row
from gangboard.pages.people.rows import OwnedTokenRow
from gangboard.pages.people.sign_ins import TokenFilters, tokens_page


class Command(ListCommand):
    help = "List all tokens by owner: permissions, end, and last use."
    row = OwnedTokenRow
    nothing = "There are no tokens. Create one with manage.py create_token."

    def rows(self) -> Iterable[OwnedTokenRow]:
        """Return the tokens by owner. Expired ones stay until they are revoked."""
        return every_row(
            lambda cursor, limit: tokens_page(
                viewer=SERVER, filters=TokenFilters(ordering="owner"), cursor=cursor, limit=limit
            )
        )
