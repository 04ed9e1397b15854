"""One reading of a page, and one rendering of its news, for everybody who looks at the same.

When something moves, all open pages ask at once; most of them show the same page to people who may
see the same. Without this the cost of a change would grow with the number of open pages.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from gangboard.web.parts import Part, Rows, Version

Page = Sequence[Part | Rows]
MOST_PAGES = 128
MOST_ANSWERS = 64
"""Versions of one page for which the answer is kept."""


def now_in_ms() -> int:
    """Return the time as a version keeps it."""
    return int(time.time() * 1000)


@dataclass(eq=False, slots=True)
class Reading:
    """A page as it was read once."""

    page: Page
    position: str
    """The position that was known before it was read: it holds until that moves."""
    read_at: int
    _answers: dict[frozenset[bytes], bytes | None] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, known: Version, render: Callable[[], bytes | None]) -> bytes | None:
        """Return what a browser with that version is told; None when it has everything."""
        with self._lock:
            if known.fingerprints not in self._answers:
                if len(self._answers) >= MOST_ANSWERS:
                    self._answers.clear()
                self._answers[known.fingerprints] = render()
            return self._answers[known.fingerprints]


@dataclass(eq=False, slots=True)
class _Place:
    """Where the reading of one page is kept; who reads it holds the lock, all others wait."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    reading: Reading | None = None


class Readings:
    """The latest reading of each page that is open somewhere."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: OrderedDict[Hashable, _Place] = OrderedDict()

    def get(
        self, key: Hashable, position: str, known: Version, read: Callable[[], Page]
    ) -> Reading:
        """Return a reading of the page that is not older than its position and the browser's own.

        `key` tells the page and what its viewer may see. An empty position shares nothing.
        """
        place = self._place(key)
        with place.lock:
            kept = place.reading
            if (
                kept is not None
                and position
                and kept.position == position
                and kept.read_at >= known.read_at
            ):
                return kept
            read_at = now_in_ms()
            place.reading = Reading(read(), position, read_at)
            return place.reading

    def _place(self, key: Hashable) -> _Place:
        with self._lock:
            place = self._places.get(key)
            if place is None:
                place = self._places[key] = _Place()
            self._places.move_to_end(key)
            while len(self._places) > MOST_PAGES:
                self._places.popitem(last=False)
            return place


readings = Readings()
"""Those of this process."""
