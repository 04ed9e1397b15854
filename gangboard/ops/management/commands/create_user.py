"""`manage.py create_user NAME --role viewer|operator|admin [--cluster C] [--namespace N]`."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from gangboard.ops.database_command import RoleCommand, command_author
from gangboard.public_address import sign_in_url
from gangboard.store import authentication, people


def _sign_in_hint(name: str) -> str:
    """Return how a person signs in if links are disabled."""
    off = "GANGBOARD_LOCAL_SIGN_IN switches sign-in links off, so none is printed."
    if "password" in settings.LOCAL_SIGN_IN:
        return f"{off} manage.py changepassword {name} gives a password."
    return f"{off} Passwords are off, too: only the identity provider or the proxy signs people in."


class Command(RoleCommand):
    help = (
        "Create a user, or give an existing one another role, and print a sign-in link on the last "
        "line. The link works once, for one hour; run the command again for a new one. A disabled user is enabled again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        super().add_arguments(parser)

    def change(self, **place: Any) -> None:
        user, created = people.create_user(name=self.options["name"], **place)
        self.stdout.write(f"{user.username} is {self.text}.")
        if "link" not in settings.LOCAL_SIGN_IN:
            self.stdout.write(_sign_in_hint(user.username))
            return
        if not created:
            self.stdout.write(f"{user.username} had an account already. This is a new link.")
        self.stdout.write("This link signs in once, within one hour:")
        self.stdout.write(
            sign_in_url(authentication.create_sign_in_link(user=user, by=command_author()))
        )
