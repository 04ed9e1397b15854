"""`manage.py changepassword NAME`, in place of Django's command, which writes no audit entry."""

import getpass
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from gangboard.ops.database_command import DatabaseCommand, command_author
from gangboard.store import people

TRIES = 3


class Command(DatabaseCommand):
    help = "Set the password of a person, which you type twice. Their sessions end."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")

    def handle(self, *_: Any, **options: Any) -> None:
        name: str = options["name"]
        user = people.find_user(name=name)
        if user is None:
            raise CommandError(f"there is no user {name!r}; create one with manage.py create_user")
        password = self._ask_password(user)
        try:
            people.change_password(name=name, password=password, by=command_author())
        except people.PeopleError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{name} has a new password; all sessions have ended.")

    def _ask_password(self, user: User) -> str:
        """Return a valid password. Raises CommandError."""
        for _ in range(TRIES):
            password = getpass.getpass("Password: ")
            if not password:
                raise CommandError("no password was given, so it is unchanged")
            if getpass.getpass("Password (again): ") != password:
                self.stderr.write("The two passwords differ.")
                continue
            try:
                validate_password(password, user)
            except ValidationError as error:
                for message in error.messages:
                    self.stderr.write(message)
            else:
                return password
        raise CommandError(f"{TRIES} tries failed, so the password is unchanged")
