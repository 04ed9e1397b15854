"""Durations as Go writes them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gangboard.decode.quantities import read_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("60s", 60),
        ("1m0s", 60),
        ("1h30m", 5400),
        ("1.5s", 1.5),
        ("250ms", 0.25),
        ("-1s", -1),
        ("0", 0),
        ("0s", 0),
    ],
)
def test_durations_are_parsed(text: str, seconds: float) -> None:
    assert read_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "text", [None, "", "60", "soon", "1s soon", "s", "1d", "9" * 12 + "h", "1s" * 99]
)
def test_invalid_durations_are_rejected(text: str | None) -> None:
    assert read_duration(text) is None
