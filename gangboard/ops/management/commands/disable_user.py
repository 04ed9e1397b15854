"""`manage.py disable_user NAME`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.ops.database_command import DatabaseCommand, command_author
from gangboard.store import people


class Command(DatabaseCommand):
    help = "Disable a user: sessions, password, sign-in links, tokens and roles end at once. The record of past actions stays. manage.py create_user enables the user again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")

    def handle(self, *_: Any, **options: Any) -> None:
        try:
            people.disable_user(name=options["name"], by=command_author())
        except people.PeopleError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"{options['name']} is disabled: sessions, password, sign-in links, tokens and roles "
            "have ended."
        )
