"""Events of one run in a readable form."""

from __future__ import annotations

import traceback
from collections.abc import Callable


class Trace:
    """Lines with the second at which they happened and who did it."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._lines: list[str] = []
        self._names: dict[str, str] = {}

    def write(self, actor: str, event: str) -> None:
        """Add a line. Ids of actions are shortened to `A1`, `A2`, …"""
        for name, short in self._names.items():
            event = event.replace(name, short)
        self._lines.append(f"{self._seconds():9.3f}  {actor:<12} {event}")

    def write_stack(self, error: BaseException) -> None:
        """Add where an error came from."""
        self._lines.extend(traceback.format_exception(error))

    def name(self, long: str, short: str) -> str:
        """Say `short` for `long` from now on; return it."""
        self._names[long] = short
        return short

    def short(self, long: str) -> str:
        """Return the short form of a long name."""
        return self._names.get(long, long)

    def text(self) -> str:
        """Return all lines."""
        return "\n".join(self._lines)
