"""Notifier of waiting requests: one thread polls the data versions for all of them.

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
"""Seconds between two reads of the data versions while a request waits."""
MOST_OF_ONE = 20
"""Waiting requests of one user. Further pages of the user ask every 2 seconds."""
RETRY_INTERVAL = 1.0
"""Seconds to the next read after a database error."""

log = get_logger(__name__)


class TooManyWaiting(RuntimeError):  # noqa: N818  # a state, named like it
    """The limit of waiting requests is reached, and the page must ask again later."""


@dataclass(eq=False, slots=True)
class Ticket:
    """One waiting request."""

    person: int
    tab: str
    """The open page that waits. A newer request of the same page replaces this one."""
    superseded: bool = False


class Notifier:
    """Reads the data versions for all waiting requests of this process."""

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
        """The number of waiting requests."""
        return len(self._waiting)

    def enter(self, person: int, tab: str, *, most: int) -> Ticket:
        """Register a request and release an older one of the same page. Raises TooManyWaiting.

        `most` limits the requests of all users together, and MOST_OF_ONE those of one user.
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
            # Wake only the thread. With the other condition, each new request would wake all waiting ones.
            self._joined.notify()
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """Unregister a request that was answered."""
        with self._changed:
            if self._waiting.get((ticket.person, ticket.tab)) is ticket:
                del self._waiting[ticket.person, ticket.tab]

    @property
    def roles(self) -> tuple[int, int]:
        """The version of all roles. It changes when a role is granted or revoked."""
        return (0, 0) if self._data_versions is None else self._data_versions.roles

    def position(self, viewer: Viewer) -> str:
        """Return the viewer's last known position. Take it before reading the data that it describes."""
        return (
            "" if self._data_versions is None else position_in(self._data_versions, viewer=viewer)
        )

    def wait(self, ticket: Ticket, viewer: Viewer, known: str, timeout: float) -> bool:
        """Wait until the viewer's position differs from `known`. False: timeout, or a newer request."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while not ticket.superseded:
                versions = self._data_versions
                if versions is not None and position_in(versions, viewer=viewer) != known:
                    return True
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    return False
                self._changed.wait(remaining)
        return False

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    # No request waits, so hold no connection until one comes.
                    connection.close()
                    self._joined.wait_for(lambda: bool(self._waiting))
            time.sleep(self._poll())

    def _poll(self) -> float:
        """Read the data versions, wake the waiting requests after a change, and return the seconds to the next read."""
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
"""The notifier of this process. Its thread starts with the first waiting request."""
