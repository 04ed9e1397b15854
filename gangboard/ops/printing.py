"""What every command prints: text of clusters in it cannot steer the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TextIO

from django.core.management.base import BaseCommand, OutputWrapper
from django.core.management.color import no_style

from gangboard.addresses import hide_passwords
from gangboard.logs import one_line


class Output(OutputWrapper):
    """Standard output of a command: what would move the cursor or forge a line is escaped."""

    def write(  # type: ignore[override]  # as Django's own
        self,
        msg: str = "",
        style_func: Callable[[str], str] | None = None,
        ending: str | None = None,
    ) -> None:
        """Write lines; styles, which are such characters themselves, come after."""
        super().write(_plain(msg), style_func, ending)


class ErrorOutput(Output):
    """Standard error of a command: no password of an address either."""

    def write(  # type: ignore[override]  # as Django's own
        self,
        msg: str = "",
        style_func: Callable[[str], str] | None = None,
        ending: str | None = None,
    ) -> None:
        """Write lines, such as the text of a CommandError."""
        super().write(hide_passwords(msg), style_func, ending)


def _plain(text: str) -> str:
    """Return the text with its lines and tabs, and all else as a line of the log has it."""
    return "\n".join(one_line(line.expandtabs()) for line in text.split("\n"))


class PrintingCommand(BaseCommand):
    """Base of all commands. What may be one line only (a text of a cluster) they escape by themselves."""

    def __init__(
        self,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        no_color: bool = False,  # Django's
        force_color: bool = False,
    ) -> None:
        super().__init__(stdout, stderr, no_color, force_color)
        self.stdout = Output(stdout or sys.stdout)
        self.stderr = ErrorOutput(stderr or sys.stderr)
        self.stderr.style_func = self.style.ERROR

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run the command; `stdout` and `stderr` are other places to print to."""
        # Taken out, because Django would wrap them in its own.
        if stdout := options.pop("stdout", None):
            self.stdout = Output(stdout)
        if stderr := options.pop("stderr", None):
            self.stderr = ErrorOutput(stderr)
        return super().execute(*args, **options)

    def check(self, *args: Any, **options: Any) -> None:
        """Run Django's checks; it would write their colours as text, so they have none."""
        style, self.style = self.style, no_style()
        try:
            super().check(*args, **options)
        finally:
            self.style = style
