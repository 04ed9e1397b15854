"""Tables, JSON and notes on a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TextIO

_GAP = "  "


def printable(text: object) -> str:
    """Return a text of a cluster in one line, without what moves a cursor or forges a line."""
    return "".join(
        one if one.isprintable() else " " if one.isspace() else "\ufffd" for one in str(text)
    )


class Output:
    """Writes results to one stream and notes to another."""

    def __init__(self, out: TextIO, notes: TextIO, *, as_json: bool, secret: str = "") -> None:
        self._out = out
        self._notes = notes
        self.as_json = as_json
        self.secret = secret
        """The token: it is taken out of whatever is written."""

    def json(self, data: object) -> None:
        """Write a result as JSON. Non-ASCII characters are escaped, so nothing moves the cursor."""
        self._write(self._out, json.dumps(data, indent=2))

    def json_line(self, data: object) -> None:
        """Write one of many results as JSON on one line."""
        self._write(self._out, json.dumps(data))

    def line(self, text: str = "") -> None:
        """Write one line of a result."""
        self._write(self._out, printable(text))

    def note(self, text: str) -> None:
        """Write a sentence about the result, or an error, beside it."""
        self._write(self._notes, printable(text))

    def table(self, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Write a table with a head; the last column has any width."""
        texts = [[printable(cell) for cell in row] for row in ([*head], *rows)]
        widths = [max(len(row[index]) for row in texts) for index in range(len(head))]
        for row in texts:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self.line(_GAP.join(cells).rstrip())

    def _write(self, stream: TextIO, text: str) -> None:
        if self.secret:
            text = text.replace(self.secret, "(hidden)")
        stream.write(f"{text}\n")
        stream.flush()
