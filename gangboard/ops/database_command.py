"""A command that works on gangboard's tables, and says so where they are not there."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.db import Error

from gangboard.failures import database_sentence
from gangboard.ops.printing import PrintingCommand
from gangboard.store.database_state import is_migrated


class DatabaseCommand(PrintingCommand):
    """Base of all commands that read or write what gangboard keeps."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run the command. Raises CommandError where the database fails or is of another release."""
        try:
            migrated = is_migrated()
        except Error as error:
            raise CommandError(database_sentence(error)) from error
        if not migrated:
            raise CommandError(
                "The database lacks tables of this release: run `manage.py migrate` first "
                "(`manage.py up` does it by itself)."
            )
        return super().execute(*args, **options)
