"""One event is one line for any cluster text."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import pytest

from gangboard.logs import LineFormatter

NASTY = [
    "\x1b[2J", "\n", "\r", "\x00", "\x7f", "\x85", "\x9b31m", "\u061c", "\u200f", "\u2028",
    "\u2029", "\u202e", "\u2066", "\ufeff", "\ud800",
]  # fmt: skip


def line_of(
    message: str, error: Exception | None = None, *, as_json: bool = False, **values: Any
) -> str:
    info = None
    if error is not None:
        try:
            raise error
        except ValueError:
            info = sys.exc_info()
    event = {"event": message, **values}
    record = logging.LogRecord("x", logging.INFO, "f", 1, event, (), info)
    record._logger, record._name = None, "info"
    return LineFormatter(as_json=as_json).format(record)


@pytest.mark.parametrize("nasty", NASTY)
def test_hostile_text_cannot_forge_a_line_or_move_the_cursor(nasty: str) -> None:
    text = f"before{nasty}2026 [error] forged"
    line = line_of(text, ValueError(text), as_json=False, **{f"key{nasty}": text})
    assert nasty not in line
    assert len(line.splitlines()) == 1
    assert "forged" in line
    foreign = logging.LogRecord("y", logging.INFO, "f", 1, text, (), None)
    assert nasty not in LineFormatter(as_json=False).format(foreign)


def test_ordinary_text_is_unchanged() -> None:
    assert "Größe 8 → 6 GPUs" in line_of("Größe 8 → 6 GPUs")


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(
    "password", ["sesame", "ses@me", 'ses"ame', "ses\\ame", "ses/a?m#e", "ses\name"]
)
def test_lines_contain_no_password_of_an_address(password: str, as_json: bool) -> None:
    address = f"redis://ann:{password}@redis/0"
    line = line_of(f"to {address} now", ValueError(address), as_json=as_json, broker=address)
    assert "ses" not in line
    assert line.count("redis://ann:(hidden)@redis/0") >= 2
    requested = line_of("asked", None, as_json=as_json, url='https://h/?token=ses"ame&x=1')
    assert "ses" not in requested
    if as_json:
        assert json.loads(line)["broker"] == "redis://ann:(hidden)@redis/0"
        assert json.loads(requested)["url"].startswith("https://h/?token=(hidden)")
