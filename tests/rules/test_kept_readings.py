"""Readings of the scheduler's texts are kept, but not of texts of any length: clusters write them."""

from __future__ import annotations

from gangboard.facts import scheduler_text
from gangboard.placement.sentences import scheduler_message

LONG = 100_000


def kept() -> int:
    """How much all caches of the two modules hold."""
    caches = (
        item
        for module in (scheduler_text, scheduler_message)
        for item in vars(module).values()
        if hasattr(item, "cache_info")
    )
    return sum(cache.cache_info().currsize for cache in caches)


def test_a_long_text_is_read_and_not_kept() -> None:
    before = kept()
    for letter in "äöü":
        text = f"0/4 nodes are available: 4 {letter * LONG}"
        assert scheduler_text.clean(text) == text
        assert scheduler_message._read(text) is None
    assert kept() == before


def test_a_short_text_is_read_once() -> None:
    text = "0/4 nodes are available: 4 node(s) had no available disk of test_kept_readings."
    assert scheduler_text.clean(text) is scheduler_text.clean(text)
    first = scheduler_message._read(text)
    assert first is not None
    assert scheduler_message._read(text) is first
