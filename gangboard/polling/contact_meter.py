"""How fast an API server answers and how many events its watches send, by requests that a poll makes anyway."""

from __future__ import annotations

import threading
import time
from collections import deque

MINUTE = 60


class ContactMeter:
    """The pace of one cluster. The reflectors of all its resources write to it, each in its own thread."""

    def __init__(self) -> None:
        self.answer_seconds: float | None = None
        """How long the last small request took: a list of one object, which etcd has to confirm."""
        self._lock = threading.Lock()
        self._begun = time.monotonic()
        self._seconds: deque[list[int]] = deque()
        """[second, events in it] of the last minute, at most 61 entries."""

    def take_answer(self, seconds: float) -> None:
        """Take the duration of a small request."""
        self.answer_seconds = seconds

    def count_event(self) -> None:
        """Count a line of a watch that tells of an object."""
        now = int(time.monotonic())
        with self._lock:
            if not self._seconds or self._seconds[-1][0] < now:
                self._forget(now)
                self._seconds.append([now, 0])
            self._seconds[-1][1] += 1

    @property
    def answer_ms(self) -> int | None:
        """`answer_seconds` in milliseconds, at least 1. None before the first such request."""
        return None if self.answer_seconds is None else max(1, round(self.answer_seconds * 1000))

    @property
    def events_a_minute(self) -> int | None:
        """Events of the last minute; None before a whole minute was counted."""
        now = time.monotonic()
        if now - self._begun < MINUTE:
            return None
        with self._lock:
            self._forget(int(now))
            return sum(events for _, events in self._seconds)

    def _forget(self, now: int) -> None:
        while self._seconds and self._seconds[0][0] <= now - MINUTE:
            self._seconds.popleft()
