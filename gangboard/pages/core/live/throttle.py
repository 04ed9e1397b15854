"""Few open pages are answered at a time.

When something moves, all open pages ask at once. Threads of one process compute one at a time anyway;
a hundred that try take the interpreter from each other at every query, and so all of them are late.
With few at a time the first answers are out while the last ones still queue. Nobody queues more than some
pages: each holds a thread, and whoever has all of them keeps everybody else out.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase

MOST = 3
"""More than one: while one waits for the database, another computes."""
PATIENCE = 5.0
"""Seconds to wait for a slot, then it goes on without: a query that hangs must not stop what needs
another one."""
MOST_OF_ONE = 40
"""Requests of one session that wait, queue or are answered: twice what may wait for updates, as a page
that asks anew is there twice for a moment."""
FALL_BACK = "2"
"""Seconds between two questions of a page that may not wait."""
LONGEST_SESSION = 64
_LIVE = "/live/"


class Throttle:
    """Lets a few threads work at a time, in the order in which they came.

    A `threading.Semaphore` keeps no order: whoever comes along as a slot becomes free takes it, and with
    a hundred pages some of them lost each time, for seconds.
    """

    def __init__(self, most: int, patience: float) -> None:
        """`patience`: seconds that a thread waits for its slot at most."""
        self._lock = threading.Lock()
        self._free = most
        self._queue: deque[threading.Event] = deque()
        self._patience = patience
        self._held = threading.local()

    @contextmanager
    def acquired(self) -> Iterator[None]:
        """Do the block in a slot."""
        self._acquire()
        try:
            yield
        finally:
            self._release()

    @contextmanager
    def released(self) -> Iterator[None]:
        """Let others work during the block, in which this thread only waits."""
        had_one = self._release()
        try:
            yield
        finally:
            if had_one:
                self._acquire()

    def _acquire(self) -> None:
        mine = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                mine.set()
            else:
                self._queue.append(mine)
        if not mine.wait(self._patience):
            with self._lock:
                # It may have come just now.
                if not mine.is_set():
                    self._queue.remove(mine)
        self._held.slot = mine.is_set()

    def _release(self) -> bool:
        had_one: bool = getattr(self._held, "slot", False)
        if had_one:
            self._held.slot = False
            with self._lock:
                if self._queue:
                    self._queue.popleft().set()
                else:
                    self._free += 1
        return had_one


live_throttle = Throttle(MOST, PATIENCE)
"""The one of this process."""


class LiveThrottleMiddleware:
    """Answers the requests of open pages a few at a time, and everything else as it comes."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._lock = threading.Lock()
        self._requests: Counter[str] = Counter()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Return the view's answer, or tell the page to ask again."""
        if not request.path_info.startswith(_LIVE):
            return self.get_response(request)
        # By the cookie: who it is costs queries, and only what has a slot may make them.
        session = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")[:LONGEST_SESSION]
        with self._lock:
            if self._requests[session] >= MOST_OF_ONE:
                return HttpResponse(status=204, headers={"X-Live-Again": FALL_BACK})
            self._requests[session] += 1
        try:
            with live_throttle.acquired():
                return self.get_response(request)
        finally:
            with self._lock:
                self._requests[session] -= 1
                if not self._requests[session]:
                    del self._requests[session]
