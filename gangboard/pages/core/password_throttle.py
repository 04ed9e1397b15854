"""How many passwords are looked at once: to hash one takes a core for half a second, on purpose.

Without a bound a flood of sign-ins would take every thread and core from the pages.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

MOST = 4
MOST_OF_ONE = 2
"""Most slots of one sender: a flood from there leaves the others for everybody else."""
WAITING = 16
WAITING_OF_ONE = 4
PATIENCE = 3.0
"""Seconds; whoever waits for a slot holds a thread."""


class PasswordThrottle:
    """Gives slots to senders, some at once and a few waiting."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()

    @contextmanager
    def slot(self, sender: str) -> Iterator[bool]:
        """Hold a slot until the end of the block; yields False where none was free in time."""
        taken = self._take(sender)
        try:
            yield taken
        finally:
            if taken:
                self._end(sender)

    def _take(self, sender: str) -> bool:
        with self._changed:
            if not self._is_free(sender):
                if self._waiting.total() >= WAITING or self._waiting[sender] >= WAITING_OF_ONE:
                    return False
                self._waiting[sender] += 1
                free = self._changed.wait_for(lambda: self._is_free(sender), PATIENCE)
                _less(self._waiting, sender)
                if not free:
                    return False
            self._running[sender] += 1
            return True

    def _is_free(self, sender: str) -> bool:
        return self._running.total() < MOST and self._running[sender] < MOST_OF_ONE

    def _end(self, sender: str) -> None:
        with self._changed:
            _less(self._running, sender)
            self._changed.notify_all()


def _less(counter: Counter[str], sender: str) -> None:
    counter[sender] -= 1
    if not counter[sender]:
        del counter[sender]


password_throttle = PasswordThrottle()
"""The one of this process."""
