"""`events`: what changed, from a place in the events on, once or until interrupted."""

from __future__ import annotations

import math
import os
from argparse import Namespace
from pathlib import Path

from gangboard_client import clock
from gangboard_client.clock import read_span
from gangboard_client.context import Context
from gangboard_client.errors import UsageError
from gangboard_client.gangs import PAGE
from gangboard_client.output import Output
from gangboard_client.schema import Change, ChangeList
from gangboard_client.transport import ANSWER_SECONDS, Query

NOW = "now"
LONGEST_POLL = 25
"""Seconds. The server takes no more, because proxies cut silent connections."""
LEAST_PAUSE = 1.0
"""Seconds after an answer without events, for a server that did not wait."""
LONGEST_CURSOR = 200
FILTERS = ("cluster", "namespace", "type", "health", "code")


def follow_events(context: Context, args: Namespace) -> int:
    """Write the events after a cursor, the oldest first; return 0.

    The cursor file is written after the events, so an event may come twice after a crash, and none is missed.
    """
    place = Place(args.cursor_file, is_followed=args.follow)
    filters = {name: getattr(args, name) for name in FILTERS if getattr(args, name) is not None}
    end = clock.monotonic() + read_span(args.wait).total_seconds()
    while True:
        left = LONGEST_POLL if args.follow else math.ceil(end - clock.monotonic())
        poll = max(0, min(LONGEST_POLL, left))
        page, pause = _read(context, {**filters, **place.query, "wait": str(poll)}, poll)
        for change in page["results"]:
            _write(context.output, change)
        place.move(page["cursor"])
        if len(page["results"]) == int(PAGE):
            continue
        if not args.follow and (page["results"] or clock.monotonic() >= end):
            return 0
        clock.sleep(pause if page["results"] else max(pause, LEAST_PAUSE))


def _read(context: Context, query: Query, poll: int) -> tuple[ChangeList, float]:
    """Return some events, and the seconds for which the server wants to be left alone."""
    answer = context.server.ask(
        "list_events", query={**query, "limit": PAGE}, seconds=poll + ANSWER_SECONDS
    )
    page: ChangeList = answer.data
    return page, answer.retry_after or 0.0


def _write(output: Output, change: Change) -> None:
    if output.as_json:
        output.json_line(change)
        return
    gang = change["gang"]
    name = f"{gang['kind']}/{gang['name']}" if gang else "-"
    state = change["action"]["state"] if change["action"] else change["health"]
    output.line(
        f"{change['at']}  {change['cluster']}/{change['namespace']}/{name}  "
        f"{change['type']} {state}: {change['title']}. {change['message']}"
    )


class Place:
    """The cursor of the next request, kept in a file if there is one."""

    def __init__(self, path: str, *, is_followed: bool) -> None:
        """Without a cursor the oldest event comes first; a follower and a new file begin now.

        Raises UsageError for a file that cannot be read.
        """
        self._path = Path(path) if path else None
        self._cursor = NOW if is_followed or self._path else ""
        if self._path and self._path.exists():
            self._cursor = self._read(self._path)

    @staticmethod
    def _read(path: Path) -> str:
        try:
            text = path.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise UsageError(f"The cursor file {path} cannot be read: {reason}.") from error
        if not text or len(text) > LONGEST_CURSOR or not text.isprintable():
            raise UsageError(f"{path} holds no cursor: remove it to begin now.")
        return text

    @property
    def query(self) -> dict[str, str]:
        """The parameter of the next request; none for the oldest event."""
        return {"cursor": self._cursor} if self._cursor else {}

    def move(self, cursor: str) -> None:
        """Go on from here. Raises UsageError if the file cannot be written."""
        is_new = cursor != self._cursor
        self._cursor = cursor
        if self._path is None or not is_new:
            return
        new = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            new.write_text(f"{cursor}\n")
            new.replace(self._path)
        except OSError as error:
            raise UsageError(f"{self._path} cannot be written: {error.strerror}.") from error
