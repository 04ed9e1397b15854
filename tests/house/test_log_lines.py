"""One event is one line, whatever a cluster has put into it."""

from __future__ import annotations

import logging
import sys

import pytest

from gangboard.logs import LineFormatter

NASTY = [
    "\x1b[2J", "\n", "\r", "\x00", "\x7f", "\x85", "\x9b31m", "\u061c", "\u200f", "\u2028",
    "\u2029", "\u202e", "\u2066", "\ufeff", "\ud800",
]  # fmt: skip


def line_of(message: str, error: Exception | None = None, **values: str) -> str:
    info = None
    if error is not None:
        try:
            raise error
        except ValueError:
            info = sys.exc_info()
    event = {"event": message, **values}
    record = logging.LogRecord("x", logging.INFO, "f", 1, event, (), info)
    record._logger, record._name = None, "info"
    return LineFormatter().format(record)


@pytest.mark.parametrize("nasty", NASTY)
def test_nothing_forges_a_line_or_moves_the_cursor(nasty: str) -> None:
    text = f"before{nasty}2026 [error] forged"
    found = line_of(text, ValueError(text), **{f"key{nasty}": text})
    assert nasty not in found
    assert len(found.splitlines()) == 1
    assert "forged" in found
    foreign = logging.LogRecord("y", logging.INFO, "f", 1, text, (), None)
    assert nasty not in LineFormatter().format(foreign)


def test_what_people_write_stays() -> None:
    assert "Größe 8 → 6 GPUs" in line_of("Größe 8 → 6 GPUs")
