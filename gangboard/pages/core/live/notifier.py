"""Requests that wait until there are updates: one notifier thread for all of them.

A waiting request holds a thread and never a database connection.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from gangboard.logs import get_logger
from gangboard.readmodels.data_versions import DataVersions, position_in, read_data_versions
from gangboard.store.access import Viewer

POLL_INTERVAL = 0.1
"""Seconds between two looks at the positions while somebody waits."""
MOST_OF_ONE = 20
"""Requests of one person that may wait; further pages of that person ask every 2 seconds."""
RETRY_INTERVAL = 1.0
"""Seconds to the next look after the database has failed."""

log = get_logger(__name__)


class TooManyWaiting(RuntimeError):  # noqa: N818  # a state, named like it
    """A bound on waiting requests is reached: the page must ask again by itself."""


@dataclass(eq=False, slots=True)
class Ticket:
    """One waiting request."""

    person: int
    tab: str
    """The open page that waits; a newer request of it takes the place of this one."""
    superseded: bool = False


class Notifier:
    """Looks at the positions for all waiting requests of this process."""

    def __init__(self, read: Callable[[], DataVersions]) -> None:
        self._read = read
        lock = threading.Lock()
        self._changed = threading.Condition(lock)
        self._joined = threading.Condition(lock)
        self._waiting: dict[tuple[int, str], Ticket] = {}
        self._data_versions: DataVersions | None = None
        self._thread: threading.Thread | None = None

    @property
    def waiting(self) -> int:
        """How many requests wait now."""
        return len(self._waiting)

    def enter(self, person: int, tab: str, *, most: int) -> Ticket:
        """Register a request and let an older one of the same page go. Raises TooManyWaiting.

        `most`: requests of everybody. Nobody takes a place of somebody else, nor more than
        MOST_OF_ONE.
        """
        with self._changed:
            older = self._waiting.pop((person, tab), None)
            if older is not None:
                older.superseded = True
                self._changed.notify_all()
            own = sum(ticket.person == person for ticket in self._waiting.values())
            if len(self._waiting) >= most or own >= MOST_OF_ONE:
                raise TooManyWaiting
            ticket = self._waiting[person, tab] = Ticket(person, tab)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="notifier", daemon=True)
                self._thread.start()
            # Not who waits already: everybody would be woken by everybody who comes.
            self._joined.notify()
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """Forget a request that has its answer."""
        with self._changed:
            if self._waiting.get((ticket.person, ticket.tab)) is ticket:
                del self._waiting[ticket.person, ticket.tab]

    @property
    def roles(self) -> tuple[int, int]:
        """A position that moves when somebody is given or loses a role."""
        return (0, 0) if self._data_versions is None else self._data_versions.roles

    def position(self, viewer: Viewer) -> str:
        """Return the viewer's position as last seen; take it before reading what it stands for."""
        return (
            "" if self._data_versions is None else position_in(self._data_versions, viewer=viewer)
        )

    def wait(self, ticket: Ticket, viewer: Viewer, seen: str, timeout: float) -> bool:
        """Wait until the viewer's position is not `seen`; False when time is up or superseded."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while not ticket.superseded:
                versions = self._data_versions
                if versions is not None and position_in(versions, viewer=viewer) != seen:
                    return True
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self._changed.wait(left)
        return False

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    # Nobody to tell: hold nothing until somebody comes.
                    connection.close()
                    self._joined.wait_for(lambda: bool(self._waiting))
            time.sleep(self._look())

    def _look(self) -> float:
        """Read the positions, tell the waiters when they moved; return seconds to the next look."""
        try:
            versions = self._read()
        except (DatabaseError, InterfaceError) as error:
            log.warning("the positions could not be read", error=str(error))
            connection.close()
            return RETRY_INTERVAL
        if versions != self._data_versions:
            with self._changed:
                self._data_versions = versions
                self._changed.notify_all()
        return POLL_INTERVAL


notifier = Notifier(lambda: read_data_versions(now=timezone.now()))
"""The one of this process; its thread starts with the first waiting request."""
