"""`manage.py rotate_keys`."""

from typing import Any

from django.core.management.base import CommandError

from gangboard.ops.database_command import DatabaseCommand, command_author
from gangboard.store.secrets import rotate_keys


class Command(DatabaseCommand):
    help = (
        "Encrypt all stored credentials and channels with the first key of GANGBOARD_ENCRYPTION_KEY. Older "
        "keys that follow it there can be removed afterwards. It can be run again at any time."
    )

    def handle(self, *_: Any, **__: Any) -> None:
        rotation = rotate_keys(by=command_author())
        self.stdout.write(
            f"{rotation.encrypted} stored credentials are encrypted with the first key."
        )
        if rotation.unreadable:
            raise CommandError(
                f"No key reads the credentials of {', '.join(rotation.unreadable)}. Add the missing key "
                "and run this again, or add these clusters and channels again."
            )
