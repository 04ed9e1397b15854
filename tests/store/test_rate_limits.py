"""Limits that are kept exactly, and a table that does not grow."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from gangboard.store import rate_limits
from gangboard.store.models import Attempts

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


def waits(*numbers: int, most: int, kind: str = "x") -> list[bool]:
    """Take these numbers one after the other; return which had to wait."""
    return [
        rate_limits.take(kind, most=most, window=MINUTE, number=number).wait > 0
        for number in numbers
    ]


def test_requests_above_the_limit_wait_for_the_end_of_the_window() -> None:
    assert waits(1, 1, 1, 1, most=3) == [False, False, False, True]
    tried = rate_limits.take("x", most=3, window=MINUTE)
    assert (tried.number, 55 <= tried.wait <= 60) == (3, True)
    Attempts.objects.update(ends_at=timezone.now())
    assert rate_limits.take("x", most=3, window=MINUTE) == rate_limits.RateLimitResult(1, 0)


def test_a_batch_is_accepted_as_a_whole_or_not_at_all() -> None:
    assert waits(50, 40, 30, 10, 1, most=100) == [False, False, True, False, True]


def test_each_kind_and_user_counts_separately() -> None:
    assert waits(1, most=1, kind="a") == [False]
    assert waits(1, most=1, kind="b") == [False]
    assert waits(1, most=1, kind="a") == [True]
    rate_limits.reset_rate_limit("a")
    assert waits(1, most=1, kind="a") == [False]


def test_adjacent_words_are_not_joined() -> None:
    rate_limits.take("ab", "c", most=1, window=MINUTE)
    assert rate_limits.take("a", "bc", most=1, window=MINUTE).wait == 0


def test_a_flood_of_new_names_grows_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "MOST_ROWS", 20)
    monkeypatch.setattr(rate_limits, "_BATCH", 5)
    for number in range(100):
        assert rate_limits.take("x", number, most=1, window=MINUTE).wait == 0
        assert Attempts.objects.count() <= 20
    assert rate_limits.take("x", 99, most=1, window=MINUTE).wait > 0, "the newest stay"
