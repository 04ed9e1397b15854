"""A time to come says how long it is until then."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from gangboard.pages.templatetags.pages import due, http_method

NOW = datetime(2026, 11, 21, 10, tzinfo=UTC)


def test_a_future_time_counts_down() -> None:
    text = due({"now": NOW}, NOW + timedelta(hours=1))
    assert text.startswith("2026-11-21 11:00:00 UTC, <time")
    assert ">in 1 h</time>" in text


def test_a_time_that_has_passed_is_over() -> None:
    assert ">over</time>" in due({"now": NOW}, NOW - timedelta(seconds=1))


def test_a_merge_patch_is_sent_as_patch() -> None:
    assert [http_method(text) for text in ("MERGE", "POST", "PATCH")] == ["PATCH", "POST", "PATCH"]
