"""Throttle of open pages: a process answers only a few of them at a time.

After a change all open pages ask at once. The threads of a process compute one at a time. A hundred threads take
the interpreter from each other at every query, so all answers are late. With a few at a time, the first answers
are sent while the last requests still queue. Each queued request holds a thread, so a session may queue only
some of them.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase

MOST = 3
"""Answers at a time. While one waits for the database, another computes."""
PATIENCE = 5.0
"""Seconds to wait for a slot. Then the request continues without one, so a hanging query does not block the others."""
MOST_OF_ONE = 40
"""Requests of one session that wait, queue or are answered.

It is twice the limit of waiting requests, because a page that asks again has two requests for a moment.
"""
FALL_BACK = "2"
"""Seconds between two requests of a page that may not wait."""
LONGEST_SESSION = 64
_LIVE = "/live/"


class Throttle:
    """A semaphore that gives slots to threads in their order of arrival.

    A `threading.Semaphore` has no order. With a hundred pages, some threads waited for seconds.
    """

    def __init__(self, most: int, patience: float) -> None:
        """`patience` is the maximum number of seconds that a thread waits for a slot."""
        self._lock = threading.Lock()
        self._free = most
        self._queue: deque[threading.Event] = deque()
        self._patience = patience
        self._held = threading.local()

    @contextmanager
    def acquired(self) -> Iterator[None]:
        """Hold a slot during the block."""
        self._acquire()
        try:
            yield
        finally:
            self._release()

    @contextmanager
    def released(self) -> Iterator[None]:
        """Release the slot during the block, in which the thread only waits."""
        had_slot = self._release()
        try:
            yield
        finally:
            if had_slot:
                self._acquire()

    def _acquire(self) -> None:
        slot = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                slot.set()
            else:
                self._queue.append(slot)
        if not slot.wait(self._patience):
            with self._lock:
                # The slot may have come in the meantime.
                if not slot.is_set():
                    self._queue.remove(slot)
        self._held.slot = slot.is_set()

    def _release(self) -> bool:
        had_slot: bool = getattr(self._held, "slot", False)
        if had_slot:
            self._held.slot = False
            with self._lock:
                if self._queue:
                    self._queue.popleft().set()
                else:
                    self._free += 1
        return had_slot


live_throttle = Throttle(MOST, PATIENCE)
"""The throttle of this process."""


class LiveThrottleMiddleware:
    """Answers the requests of open pages a few at a time. Other requests are not throttled."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._lock = threading.Lock()
        self._requests: Counter[str] = Counter()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Return the view's answer, or tell the page to ask again."""
        if not request.path_info.startswith(_LIVE):
            return self.get_response(request)
        # Count by cookie, because reading the user costs queries before the request has a slot.
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
