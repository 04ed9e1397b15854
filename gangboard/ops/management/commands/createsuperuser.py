"""`manage.py createsuperuser`, in place of Django's command, whose account would have no rights here."""

from typing import Any

from django.core.management.base import CommandError

from gangboard.ops.printing import PrintingCommand


class Command(PrintingCommand):
    help = "Not used: manage.py create_user NAME --role admin creates an admin."
    requires_system_checks = ()

    def handle(self, *_: Any, **__: Any) -> None:
        raise CommandError(
            "gangboard has no superusers; use manage.py create_user NAME --role admin"
        )
