"""Cache of pages and of their rendered updates, shared by viewers with the same rights.

After a change all open pages ask at once, and most of them show the same page to viewers with the same rights.
Without the cache, the cost of a change would grow with the number of open pages.

The cache is limited in bytes for all pages together. The key of an answer is a digest of its content, so the
cache stores nothing that a browser sends.
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
"""Bytes of all cached pages and answers."""
_PAGE_SHARE = 8
"""The answers of one page may take one eighth of the cache, so they do not evict all other pages."""
_OVERHEAD = 256
"""Bytes of a Python object beside its text."""
_PER_CHARACTER = 3
"""Estimated bytes of the objects of a page for each character that it shows. A Board of 100 rows takes two."""


def now_in_ms() -> int:
    """Return the current time in milliseconds, as in a version."""
    return int(time.time() * 1000)


@dataclass(eq=False, slots=True)
class CachedPage:
    """A page that was read once, with its rendered answers."""

    page: Page
    position: str
    """The viewer's position before the page was read. The page is current until the position changes."""
    read_at: int
    most_bytes: int
    """Maximum bytes of the cached answers."""
    marks: frozenset[bytes] = field(init=False)
    """Marks in the version of a browser that shows the whole page."""
    neighbours: Neighbours = field(init=False)
    """Neighbours in a browser that shows the whole page."""
    page_bytes: int = field(init=False)
    answers_bytes: int = 0
    _answers: dict[bytes, bytes] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.marks = frozenset(marks_of(self.page).values())
        self.neighbours = frozenset[tuple[bytes, bytes]]().union(
            *(element.neighbours for element in self.page if isinstance(element, FragmentList))
        )
        fragments = [
            fragment
            for element in self.page
            for fragment in (element.fragments if isinstance(element, FragmentList) else (element,))
        ]
        self.page_bytes = sum(
            _OVERHEAD + fragment.length * _PER_CHARACTER for fragment in fragments
        )

    def answer(self, known: Version, render: Callable[[], bytes]) -> bytes | None:
        """Return the answer to a browser with that version. None: the browser shows everything already."""
        missing = self.marks - known.marks
        if not missing:
            return None
        new_neighbours = self.neighbours - known.neighbours
        content = repr((sorted(missing), sorted(new_neighbours)))
        key = hashlib.blake2b(content.encode(), digest_size=16).digest()
        with self._lock:
            answer = self._answers.get(key)
            if answer is None:
                answer = render()
                self._store(key, answer)
            return answer

    def _store(self, key: bytes, answer: bytes) -> None:
        if self.answers_bytes + len(answer) + _OVERHEAD > self.most_bytes:
            self._answers.clear()
            self.answers_bytes = 0
        if len(answer) + _OVERHEAD <= self.most_bytes:
            self._answers[key] = answer
            self.answers_bytes += len(answer) + _OVERHEAD


@dataclass(eq=False, slots=True)
class _Entry:
    """The cache entry of one page. The thread that reads the page holds the lock, and all others wait."""

    key_bytes: int
    lock: threading.Lock = field(default_factory=threading.Lock)
    page: CachedPage | None = None

    @property
    def bytes(self) -> int:
        page = self.page
        return self.key_bytes + (page.page_bytes + page.answers_bytes if page is not None else 0)


class PageCache:
    """Cache of the latest reading of each open page."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    def get(
        self, key: Hashable, position: str, known: Version, read: Callable[[], Page]
    ) -> CachedPage:
        """Return a reading of the page that is at least as new as the position and the browser's version.

        `key` identifies the page and the rights of its viewer. With an empty position the page is not shared.
        """
        entry = self._entry(key)
        with entry.lock:
            page = entry.page
            if (
                page is not None
                and position
                and page.position == position
                and page.read_at >= known.read_at
            ):
                return page
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
        """Return the answer to a browser with that version. None: the browser shows everything already."""
        bytes_before = cached.answers_bytes
        answer = cached.answer(known, render)
        if cached.answers_bytes > bytes_before:
            with self._lock:
                self._evict()
        return answer

    def _entry(self, key: Hashable) -> _Entry:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _Entry(_OVERHEAD + len(repr(key)))
            self._entries.move_to_end(key)
            self._evict()
            return entry

    def _evict(self) -> None:
        """Evict the least recently used pages until the cache is within its limits."""
        used = sum(entry.bytes for entry in self._entries.values())
        while used > self._most_bytes or len(self._entries) > MOST_PAGES:
            _, oldest = self._entries.popitem(last=False)
            used -= oldest.bytes


page_cache = PageCache()
"""The cache of this process."""
