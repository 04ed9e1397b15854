"""The wait for something new: the long poll of `events/`, or a pause if a server does not have it."""

from __future__ import annotations

from gangboard_client import clock
from gangboard_client.errors import NotReachedError, RefusedError
from gangboard_client.transport import Server

PAUSE_SECONDS = 2.0
LONGEST_POLL = 10
"""Seconds. Not every change is an event: a Hold is not, and neither is silence of a cluster."""
NOW = "now"


class News:
    """A place in the events of a server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._is_served = True
        self._cursor = ""

    def begin(self) -> None:
        """Take the place of now, unless there is one already."""
        if self._is_served and not self._cursor:
            self._ask({"cursor": NOW, "limit": "1"}, seconds=0)

    def wait(self, seconds: float, *, gang_id: str) -> None:
        """Return after an event of the gang, or of any gang without an id, or after some seconds."""
        if not self._cursor:
            clock.sleep(min(PAUSE_SECONDS, seconds))
            return
        poll = max(1, min(LONGEST_POLL, int(seconds)))
        query = {"cursor": self._cursor, "wait": str(poll)}
        pause = self._ask(query | ({"gang": gang_id} if gang_id else {}), seconds=poll)
        if pause:
            clock.sleep(min(pause, seconds))

    def _ask(self, query: dict[str, str], *, seconds: int) -> float:
        """Ask for events, move on, and return the seconds for which the server wants to be left alone."""
        try:
            answer = self._server.ask("list_events", query=query, seconds=seconds + 10)
        except RefusedError as error:
            self._cursor = ""
            # 410: the place is too old. Anything else but a busy server will not be better next time.
            self._is_served = error.status == 410 or error.is_passing
            return PAUSE_SECONDS
        except NotReachedError:
            return PAUSE_SECONDS
        self._cursor = str(answer.data["cursor"])
        return answer.retry_after or 0.0
