"""Shared reads and rendered fragments, within one limit in bytes."""

from __future__ import annotations

import base64
import gc
import random
import sys
from types import FunctionType, ModuleType

import pytest

from gangboard.pages.core.live import fragments
from gangboard.pages.core.live import views as live_views
from gangboard.pages.core.live.cache import MOST_PAGES, CachedPage, Page, PageCache
from tests.personas import Person
from tests.web.conftest import World
from tests.web.live_requests import Question


def kept_bytes(root: object) -> int:
    """Return the memory of an object and its exclusive references."""
    observed: set[int] = set()
    todo, total = [root], 0
    while todo:
        item = todo.pop()
        if id(item) in observed or isinstance(item, type | ModuleType | FunctionType):
            continue
        observed.add(id(item))
        total += sys.getsizeof(item)
        todo += gc.get_referents(item)
    return total


def test_browser_input_is_not_cached(
    owner: Person, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    page_cache = PageCache()
    monkeypatch.setattr(live_views, "page_cache", page_cache)
    rest = random.Random(5)

    def ask(length: int) -> None:
        version = base64.urlsafe_b64encode(rest.randbytes(length * 3 // 4)).decode()
        address = f"/live/board/?version={version}"
        assert Question(address, version).ask(owner.client).status_code == 200

    ask(4_000)
    before = kept_bytes(page_cache)
    for _ in range(20):
        ask(60_000)
        ask(4_000)
    assert kept_bytes(page_cache) - before < 100_000


class TestPageCache:
    """Reads are shared and never older than the browser's version."""

    PAGE = (
        fragments.Fragment("a", "x.html", {}, "shown"),
        fragments.FragmentList(
            "b", tuple(fragments.Fragment(f"b-{n}", "x.html", {}, n) for n in range(40))
        ),
    )

    def get(
        self, page_cache: PageCache, position: str, read_at: int = 0, key: str = "page"
    ) -> tuple[CachedPage, bool]:
        """Return the reading, and whether the page was read for it."""
        read: list[bool] = []

        def read_page() -> Page:
            read.append(True)
            return self.PAGE

        version = fragments.Version(frozenset(), read_at)
        return page_cache.get(key, position, version, read_page), bool(read)

    def test_pages_at_the_same_position_share_one_read(self) -> None:
        page_cache = PageCache()
        first, read = self.get(page_cache, "p1")
        assert read
        assert self.get(page_cache, "p1") == (first, False)

    def test_a_new_position_is_read_again(self) -> None:
        page_cache = PageCache()
        self.get(page_cache, "p1")
        assert self.get(page_cache, "p2")[1]

    def test_a_newer_browser_triggers_a_new_read(self) -> None:
        page_cache = PageCache()
        first, _ = self.get(page_cache, "p1")
        assert self.get(page_cache, "p1", read_at=first.read_at + 1)[1]

    def test_reads_are_not_shared_before_the_first_position(self) -> None:
        page_cache = PageCache()
        self.get(page_cache, "")
        assert self.get(page_cache, "")[1]

    def test_pages_have_separate_cache_entries(self) -> None:
        page_cache = PageCache()
        self.get(page_cache, "p1", key="one")
        assert self.get(page_cache, "p1", key="other")[1]

    def test_equal_updates_are_rendered_once(self) -> None:
        cached, _ = self.get(PageCache(), "p1")
        rendered: list[int] = []

        def render() -> bytes:
            rendered.append(1)
            return b"news"

        old, new = fragments.Version(), fragments.Version(frozenset({self.PAGE[0].fingerprint}))
        assert [cached.answer(version, render) for version in (old, old, new)] == [b"news"] * 3
        assert len(rendered) == 2

    def test_unknown_fragments_of_a_version_are_ignored(self) -> None:
        cached, _ = self.get(PageCache(), "p1")
        for number in range(100):
            junk = frozenset({number.to_bytes(6, "big")})
            assert cached.answer(fragments.Version(junk), lambda: b"all of it") == b"all of it"
        assert kept_bytes(cached) - kept_bytes(self.PAGE) < 10_000

    def test_an_up_to_date_browser_gets_no_fragments(self) -> None:
        cached, _ = self.get(PageCache(), "p1")
        known = fragments.Version(cached.marks | {b"others"})
        assert cached.answer(known, lambda: b"news") is None

    def test_pages_and_answers_share_one_byte_limit(self) -> None:
        """Each of 20,000 browsers knows another part of one of many pages: 40 MB in all."""
        bound = 1_000_000
        page_cache = PageCache(bound)
        rest = random.Random(5)
        marks = sorted(fragments.marks_of(self.PAGE).values())
        for number in range(20_000):
            cached, _ = self.get(page_cache, "p1", key=f"page {number // 500}")
            version = fragments.Version(frozenset(rest.sample(marks, 20)))
            page_cache.answer(cached, version, lambda: b"x" * 2_000)
        assert kept_bytes(page_cache) - kept_bytes(self.PAGE) < bound * 1.2
        cached, read = self.get(page_cache, "p1", key="page 39")
        assert not read, "the latest one stays"

    def test_an_answer_above_the_limit_is_not_cached(self) -> None:
        page_cache = PageCache(100_000)
        cached, _ = self.get(page_cache, "p1")
        for _ in range(2):
            answer = page_cache.answer(cached, fragments.Version(), lambda: b"x" * 1_000_000)
            assert answer is not None
            assert len(answer) == 1_000_000
        assert kept_bytes(page_cache) < 100_000

    def test_failed_reads_stay_within_the_cache_limit(self) -> None:
        page_cache = PageCache()

        def fail() -> Page:
            raise LookupError

        for number in range(1_000):
            with pytest.raises(LookupError):
                page_cache.get(f"{number}{'x' * 1_000}", "p1", fragments.Version(), fail)
        assert kept_bytes(page_cache) < 1_000_000

    def test_old_pages_are_evicted(self) -> None:
        page_cache = PageCache()
        for number in range(MOST_PAGES + 1):
            self.get(page_cache, "p1", key=f"page {number}")
        assert self.get(page_cache, "p1", key="page 0")[1]
