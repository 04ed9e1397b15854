"""`manage.py create_token USER [--act] [--days N]`."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from gangboard.ops.database_command import DatabaseCommand, command_author
from gangboard.store import authentication, people


class Command(DatabaseCommand):
    help = "Create a token for the REST API and print it alone on the last line. It is not shown again. It has the permissions of its user, but it is read-only unless --act is given."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user")
        parser.add_argument("--act", action="store_true", help="the token may also act")
        parser.add_argument(
            "--days",
            type=int,
            default=authentication.TOKEN_DAYS,
            help=f"how long it is valid, up to {authentication.LONGEST_TOKEN_DAYS} (default %(default)s)",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        user = people.find_user(name=options["user"])
        if user is None:
            raise CommandError(
                f"there is no user {options['user']!r}; create one with manage.py create_user"
            )
        try:
            people.check_enabled(user)
            if options["act"]:
                people.check_may_act(user)
            token = authentication.issue_token(
                user=user, may_act=options["act"], days=options["days"], by=command_author()
            )
        except people.PeopleError as error:
            raise CommandError(str(error)) from error
        # To stderr, so that TOKEN=$(manage.py create_token ...) contains the token alone.
        self.stderr.write(
            f"Token of {user.username}, {'may act' if options['act'] else 'read-only'}, "
            f"for {options['days']} days:",
            self.style.SUCCESS,
        )
        self.stdout.write(token)
