"""A command that gives or takes a role on a place."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.ops.database_command import DatabaseCommand
from gangboard.ops.who import command_author
from gangboard.store.access import ROLES
from gangboard.store.clusters import ClusterError
from gangboard.store.people import PeopleError
from gangboard.store.role_places import role_text


class RoleCommand(DatabaseCommand):
    """Base of the commands whose options are a role, a cluster and a namespace."""

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

        May raise PeopleError and ClusterError.
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
        """Return the role of the options, in words."""
        return role_text(self.options["role"], self.options["cluster"], self.options["namespace"])
