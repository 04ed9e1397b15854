"""`manage.py print_settings`."""

from typing import Any

from gangboard import env
from gangboard.ops.printing import PrintingCommand


class Command(PrintingCommand):
    help = "Print every environment variable that is read: its value, whether it is set, what it is for."
    requires_system_checks = ()

    def handle(self, *_: Any, **__: Any) -> None:
        for variable in env.variables():
            source = "set" if variable.is_set else "default"
            self.stdout.write(
                f"{variable.name}={variable.shown}  ({source})\n    {variable.meaning}"
            )
        for sentence in env.unknown_variable_warnings():
            self.stderr.write(sentence)
