"""`manage.py print_settings`."""

import re
from typing import Any

from django.core.management.base import BaseCommand

from gangboard import env

# user:password@ of DATABASE_URL and REDIS_URL.
_PASSWORD = re.compile(r"(://[^:/@]*:)[^@]*@")


class Command(BaseCommand):
    help = "Print every environment variable that is read: its value, whether it is set, what it is for."
    requires_system_checks = ()

    def handle(self, *_: Any, **__: Any) -> None:
        for variable in env.variables():
            source = "set" if variable.is_set else "default"
            shown = _PASSWORD.sub(r"\1(hidden)@", variable.shown)
            self.stdout.write(f"{variable.name}={shown}  ({source})\n    {variable.meaning}")
