"""`manage.py revoke_token TOKEN`, or all of one person: `manage.py revoke_token --user NAME`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.ops.database_command import DatabaseCommand, command_author
from gangboard.store import authentication, people


class Command(DatabaseCommand):
    help = "Revoke a token, or all tokens of a user, at once."

    def add_arguments(self, parser: CommandParser) -> None:
        choice = parser.add_mutually_exclusive_group(required=True)
        choice.add_argument(
            "token", nargs="?", help="the token, or its public part: gb_ID of gb_ID_SECRET"
        )
        choice.add_argument("--user", metavar="NAME", help="all tokens of this user")

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            if options["user"] is not None:
                number = authentication.revoke_tokens(name=options["user"], by=command_author())
                self.stdout.write(f"Tokens of {options['user']} that were revoked: {number}.")
            else:
                user = authentication.revoke_token(options["token"], by=command_author())
                self.stdout.write(f"A token of {user.username} was revoked.")
        except people.PeopleError as error:
            raise CommandError(str(error)) from error
