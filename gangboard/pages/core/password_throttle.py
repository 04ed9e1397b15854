"""Limit of passwords that are hashed at once. A hash takes a core for half a second, on purpose.

Without a limit a flood of sign-ins would take all threads and cores from the pages.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

MOST = 4
MOST_OF_ONE = 2
"""Slots of one sender, so that a flood from one network leaves slots for others."""
WAITING = 16
WAITING_OF_ONE = 4
PATIENCE = 3.0
"""Seconds to wait for a slot. A waiting request holds a thread."""


class PasswordThrottle:
    """Slots for password checks, limited per sender, with a short queue."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._running: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()

    @contextmanager
    def slot(self, sender: str) -> Iterator[bool]:
        """Hold a slot during the block. Yields False if no slot became free in time."""
        taken = self._take(sender)
        try:
            yield taken
        finally:
            if taken:
                self._free(sender)

    def _take(self, sender: str) -> bool:
        with self._changed:
            if not self._is_free(sender):
                if self._waiting.total() >= WAITING or self._waiting[sender] >= WAITING_OF_ONE:
                    return False
                self._waiting[sender] += 1
                free = self._changed.wait_for(lambda: self._is_free(sender), PATIENCE)
                _decrement(self._waiting, sender)
                if not free:
                    return False
            self._running[sender] += 1
            return True

    def _is_free(self, sender: str) -> bool:
        return self._running.total() < MOST and self._running[sender] < MOST_OF_ONE

    def _free(self, sender: str) -> None:
        with self._changed:
            _decrement(self._running, sender)
            self._changed.notify_all()


def _decrement(counter: Counter[str], sender: str) -> None:
    counter[sender] -= 1
    if not counter[sender]:
        del counter[sender]


password_throttle = PasswordThrottle()
"""The throttle of this process."""
