"""Base classes of commands that use gangboard's tables, and the author that they record."""

from __future__ import annotations

import os
import pwd
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import Error

from gangboard.failures import database_sentence
from gangboard.ops.printing import PrintingCommand
from gangboard.store.access import ROLES
from gangboard.store.clusters import ClusterError
from gangboard.store.database_state import is_migrated
from gangboard.store.people import PeopleError
from gangboard.store.role_places import role_text


class DatabaseCommand(PrintingCommand):
    """Base class of commands that read or write the database."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run the command. Raises CommandError if the database fails or belongs to another release."""
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


class RoleCommand(DatabaseCommand):
    """Base class of commands whose options are a role, a cluster and a namespace."""

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options of a role."""
        parser.add_argument("--role", required=True, choices=ROLES)
        parser.add_argument("--cluster", help="only on this cluster (default: on every cluster)")
        parser.add_argument(
            "--namespace",
            default="",
            help="only in this namespace, or in those of a pattern such as 'team-*' (default: all)",
        )

    def change(self, **place: Any) -> None:
        """Make the change and print it. `place` has role, cluster_name, namespace and by; see `store.people`.

        It may raise PeopleError and ClusterError.
        """
        raise NotImplementedError

    def handle(self, *_: Any, **options: Any) -> None:
        """Make the change. Raises CommandError."""
        self.options = options
        try:
            self.change(
                role=options["role"],
                cluster_name=options["cluster"],
                namespace=options["namespace"],
                by=command_author(),
            )
        except (PeopleError, ClusterError) as error:
            raise CommandError(str(error)) from error

    @property
    def text(self) -> str:
        """Return the role of the options as text."""
        return role_text(self.options["role"], self.options["cluster"], self.options["namespace"])


def command_author() -> str:
    """Return `ada (manage.py)`, or the uid if the container has no such user."""
    uid = os.getuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = f"uid {uid}"
    return f"{name} (manage.py)"
