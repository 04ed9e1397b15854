"""Output of commands, in which text of clusters cannot control the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TextIO

from django.core.management.base import BaseCommand, OutputWrapper
from django.core.management.color import no_style

from gangboard.addresses import hide_passwords
from gangboard.logs import one_line


class Output(OutputWrapper):
    """Standard output of a command. Characters that move the cursor or forge a line are escaped."""

    def write(  # type: ignore[override]  # as Django's own
        self,
        msg: str = "",
        style_func: Callable[[str], str] | None = None,
        ending: str | None = None,
    ) -> None:
        """Write lines. Styles, which contain such characters, are applied afterwards."""
        super().write(_escape(msg), style_func, ending)


class ErrorOutput(Output):
    """Standard error of a command, which also hides passwords of addresses."""

    def write(  # type: ignore[override]  # as Django's own
        self,
        msg: str = "",
        style_func: Callable[[str], str] | None = None,
        ending: str | None = None,
    ) -> None:
        """Write lines, such as the text of a CommandError."""
        super().write(hide_passwords(msg), style_func, ending)


def _escape(text: str) -> str:
    """Return the text with its lines and tabs; other control characters are escaped as in log lines."""
    return "\n".join(one_line(line.expandtabs()) for line in text.split("\n"))


class PrintingCommand(BaseCommand):
    """Base class of all commands. A command escapes texts that must stay on one line itself."""

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
        """Run the command. `stdout` and `stderr` replace the standard streams."""
        # Removed, because Django would wrap them in its own class.
        if stdout := options.pop("stdout", None):
            self.stdout = Output(stdout)
        if stderr := options.pop("stderr", None):
            self.stderr = ErrorOutput(stderr)
        return super().execute(*args, **options)

    def check(self, *args: Any, **options: Any) -> None:
        """Run Django's checks without colours, which would be escaped."""
        style, self.style = self.style, no_style()
        try:
            super().check(*args, **options)
        finally:
            self.style = style
