"""A cache: one reading of a page, and one rendering of its updates, for everybody who sees the same.

When something moves, all open pages ask at once; most of them show the same page to people who may
see the same. Without this the cost of a change would grow with the number of open pages.

What is kept has a bound in bytes for all pages together, and nothing that a browser sends is: an
answer is known by what it contains.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from gangboard.pages.core.live.fragments import (
    Fragment,
    FragmentList,
    Neighbours,
    Version,
    marks_of,
)

Page = Sequence[Fragment | FragmentList]
MOST_PAGES = 128
MOST_BYTES = 64 * 1024 * 1024
"""Of all pages and answers that are kept."""
_PAGE_SHARE = 8
"""The answers of one page have the eighth part of it: they do not drive out all other pages."""
_OVERHEAD = 256
"""Bytes that a text takes besides its own."""
_PER_CHARACTER = 3
"""Bytes that the objects of a page take for each character that it shows; two on a Board of 100 rows."""


def now_in_ms() -> int:
    """Return the time as a version keeps it."""
    return int(time.time() * 1000)


@dataclass(eq=False, slots=True)
class CachedPage:
    """A page as it was read once."""

    page: Page
    position: str
    """The position that was known before it was read: it holds until that moves."""
    read_at: int
    most_bytes: int
    """Of its answers that are kept."""
    marks: frozenset[bytes] = field(init=False)
    """What a browser that shows all of it has in its version."""
    neighbours: Neighbours = field(init=False)
    """What such a browser shows one after the other."""
    page_bytes: int = field(init=False)
    answers_bytes: int = 0
    _answers: dict[bytes, bytes] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.marks = frozenset(marks_of(self.page).values())
        self.neighbours = frozenset[tuple[bytes, bytes]]().union(
            *(piece.neighbours for piece in self.page if isinstance(piece, FragmentList))
        )
        fragments = [
            fragment
            for piece in self.page
            for fragment in (piece.fragments if isinstance(piece, FragmentList) else (piece,))
        ]
        self.page_bytes = sum(
            _OVERHEAD + fragment.length * _PER_CHARACTER for fragment in fragments
        )

    def answer(self, known: Version, render: Callable[[], bytes]) -> bytes | None:
        """Return what a browser with that version is told; None if it has everything."""
        missing = self.marks - known.marks
        if not missing:
            return None
        apart = self.neighbours - known.neighbours
        told = repr((sorted(missing), sorted(apart)))
        key = hashlib.blake2b(told.encode(), digest_size=16).digest()
        with self._lock:
            found = self._answers.get(key)
            if found is None:
                found = render()
                self._keep(key, found)
            return found

    def _keep(self, key: bytes, answer: bytes) -> None:
        if self.answers_bytes + len(answer) + _OVERHEAD > self.most_bytes:
            self._answers.clear()
            self.answers_bytes = 0
        if len(answer) + _OVERHEAD <= self.most_bytes:
            self._answers[key] = answer
            self.answers_bytes += len(answer) + _OVERHEAD


@dataclass(eq=False, slots=True)
class _Entry:
    """Where one page is kept; who reads it holds the lock, all others wait."""

    key_bytes: int
    lock: threading.Lock = field(default_factory=threading.Lock)
    page: CachedPage | None = None

    @property
    def bytes(self) -> int:
        kept = self.page
        return self.key_bytes + (kept.page_bytes + kept.answers_bytes if kept is not None else 0)


class PageCache:
    """Keeps the latest reading of each page that is open somewhere."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    def get(
        self, key: Hashable, position: str, known: Version, read: Callable[[], Page]
    ) -> CachedPage:
        """Return a reading of the page that is not older than its position and the browser's own.

        `key` tells the page and what its viewer may see. An empty position shares nothing.
        """
        entry = self._entry(key)
        with entry.lock:
            kept = entry.page
            if (
                kept is not None
                and position
                and kept.position == position
                and kept.read_at >= known.read_at
            ):
                return kept
            read_at = now_in_ms()
            cached = entry.page = CachedPage(
                read(), position, read_at, self._most_bytes // _PAGE_SHARE
            )
        with self._lock:
            self._evict()
        return cached

    def answer(
        self, cached: CachedPage, known: Version, render: Callable[[], bytes]
    ) -> bytes | None:
        """Return what a browser with that version is told of a page; None if it has everything."""
        before = cached.answers_bytes
        found = cached.answer(known, render)
        if cached.answers_bytes > before:
            with self._lock:
                self._evict()
        return found

    def _entry(self, key: Hashable) -> _Entry:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _Entry(_OVERHEAD + len(repr(key)))
            self._entries.move_to_end(key)
            self._evict()
            return entry

    def _evict(self) -> None:
        """Evict pages, the one that was asked for longest ago first, until the rest may stay."""
        kept = sum(entry.bytes for entry in self._entries.values())
        while kept > self._most_bytes or len(self._entries) > MOST_PAGES:
            _, oldest = self._entries.popitem(last=False)
            kept -= oldest.bytes


page_cache = PageCache()
"""The one of this process."""
