"""Requests that wait for the next event. One thread polls the feed for all of them.

A waiting request holds a thread of the lane of `events/` and never a database connection.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from django.db import DatabaseError, InterfaceError, connection

from gangboard.logs import get_logger
from gangboard.store.feed import Place, newest_number, number_events, read_event_keys

MOST = 300
"""Requests of this process that may wait. The lane has some threads more (`gangboard/asgi.py`)."""
MOST_OF_ONE = 100
"""Requests of one person that may wait."""
POLL_INTERVAL = 0.2
"""Seconds between two reads of the feed while a request waits."""
RETRY_INTERVAL = 1.0
"""Seconds to the next read after a database error."""
MOST_PLACES = 1000
"""Events whose places are remembered."""

Concerns = Callable[[int, str], bool]
"""Whether events of a cluster and namespace concern a reader."""
log = get_logger(__name__)


class FeedCrowdedError(RuntimeError):
    """A bound on waiting requests is reached."""


class FeedWatch:
    """Poller of the feed for all waiting requests of this process. Thread-safe."""

    def __init__(self, read_feed: Callable[[int | None], tuple[int, Sequence[Place]]]) -> None:
        """`read_feed` takes the last known number and returns the newest number and the places after the known one."""
        self._read_feed = read_feed
        self._changed = threading.Condition()
        self._waiting: Counter[int] = Counter()
        self._newest: int | None = None
        self._complete_after = 0
        """The places of all events with a higher number are remembered."""
        self._places: deque[Place] = deque(maxlen=MOST_PLACES)
        self._thread: threading.Thread | None = None

    @contextmanager
    def entered(self, person: int) -> Iterator[None]:
        """Let a request of this person wait inside the block. Raises FeedCrowdedError."""
        with self._changed:
            if self._waiting.total() >= MOST or self._waiting[person] >= MOST_OF_ONE:
                raise FeedCrowdedError
            self._waiting[person] += 1
            if self._thread is None or not self._thread.is_alive():
                self._newest = None
                self._thread = threading.Thread(target=self._run, name="feed", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._changed:
                self._waiting[person] -= 1
                if not self._waiting[person]:
                    del self._waiting[person]

    def wait(self, known: int, concerns: Concerns, timeout: float) -> bool:
        """Wait for an event after the number `known` that concerns the reader. Return False after the timeout."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                newest = self._newest
                if newest is not None and newest > known:
                    if known < self._complete_after or self._concerned(known, concerns):
                        return True
                    known = newest
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    return False
                self._changed.wait(remaining)

    def _concerned(self, known: int, concerns: Concerns) -> bool:
        for number, cluster_id, namespace in reversed(self._places):
            if number <= known:
                return False
            if concerns(cluster_id, namespace):
                return True
        return False

    def _run(self) -> None:
        """Poll until no request waits."""
        while True:
            pause = self._poll()
            with self._changed:
                if not self._waiting:
                    self._thread = None
                    break
            time.sleep(pause)
        connection.close()

    def _poll(self) -> float:
        """Read new events, wake the waiting requests, and return the seconds to the next read."""
        try:
            newest, places = self._read_feed(self._newest)
        except (DatabaseError, InterfaceError) as error:
            log.warning("the feed could not be read", error=str(error))
            connection.close()
            return RETRY_INTERVAL
        if newest != self._newest:
            with self._changed:
                complete = self._newest is not None and newest - self._newest == len(places)
                if not complete:
                    self._places.clear()
                    self._complete_after = newest
                elif len(self._places) + len(places) > MOST_PLACES:
                    self._complete_after = newest - MOST_PLACES
                self._places.extend(places)
                self._newest = newest
                self._changed.notify_all()
        return POLL_INTERVAL


def read_feed(known: int | None) -> tuple[int, Sequence[Place]]:
    """Number the new events and return the newest number and the places after the known one."""
    number_events()
    newest = newest_number()
    if known is None or newest <= known:
        return newest, ()
    return newest, read_event_keys(known, newest, limit=MOST_PLACES)


feed_watch = FeedWatch(read_feed)
"""The feed watch of this process. Its thread lives while a request waits."""
