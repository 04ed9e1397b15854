"""Every regular expression runs in linear time, because pod authors control the text."""

from __future__ import annotations

import importlib
import pkgutil
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from types import FrameType
from typing import Any

import pytest

import gangboard

LENGTH = 100_000
"""Characters of one text: a pattern that is linear reads it in milliseconds, a quadratic one takes
thousands of millions of steps."""
PATIENCE = 2.0
"""Seconds of computing after which a search is given up."""
NOT_FROM_OUTSIDE = ("gangboard.ops",)
# How Python itself reads a pattern: undocumented, and without types.
code: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")
_SAMPLES = " \t,.0a1-/\"':;([{\n_A=~"


def patterns() -> dict[str, re.Pattern[Any]]:
    """Return every pattern that stands in a module, by where it stands."""
    result: dict[str, re.Pattern[Any]] = {}
    for module in pkgutil.walk_packages(gangboard.__path__, "gangboard."):
        if module.name.startswith(NOT_FROM_OUTSIDE) or ".migrations" in module.name:
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            for pattern in _patterns_in(value, 3):
                result.setdefault(f"{module.name}.{name} {pattern.pattern[:30]!r}", pattern)
    return result


def _patterns_in(value: object, depth: int) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, tuple | list):
        for item in value:
            yield from _patterns_in(item, depth - 1)
    elif depth and is_dataclass(value):
        for field in fields(value):
            yield from _patterns_in(getattr(value, field.name, None), depth - 1)


def attacks(pattern: str) -> Iterator[str]:
    """Return texts that begin to match again and again and never do."""
    tree = parser.parse(pattern)
    for before, char in _repeats(tree, ""):
        yield char * LENGTH
        yield before + char * LENGTH
        if before:
            yield (before + char) * (LENGTH // len(before + char))


def _repeats(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    """Return what leads to each repeat without an upper bound, and a character that it repeats."""
    for op, value in tree:
        if op in (code.MAX_REPEAT, code.MIN_REPEAT):
            _, most, body = value
            yield from _repeats(body, before)
            if most == code.MAXREPEAT:
                for char in dict.fromkeys(_members(body)):
                    yield before, char
        elif op is code.SUBPATTERN:
            yield from _repeats(value[-1], before)
        elif op is code.BRANCH:
            for branch in value[1]:
                yield from _repeats(branch, before)
        before += _shortest([(op, value)])


def _members(tree: Any) -> list[str]:
    """Return possible beginnings of a body: a few characters, or its shortest text."""
    short = _shortest(tree)
    if len(short) != 1:
        return [short] if short else []
    match = re.compile(re.escape(short)) if tree[0][0] is code.LITERAL else None
    return [short] if match else [short, *(char for char in _SAMPLES if _is_in(tree[0], char))][:4]


def _is_in(node: Any, char: str) -> bool:
    return _chars_of(node, char) == char


def _shortest(tree: Any) -> str:
    text = ""
    for op, value in tree:
        if op is code.LITERAL:
            text += chr(value)
        elif op in (code.IN, code.ANY, code.NOT_LITERAL):
            text += next((char for char in _SAMPLES if _chars_of((op, value), char)), "x")
        elif op in (code.MAX_REPEAT, code.MIN_REPEAT):
            text += _shortest(value[2]) * value[0]
        elif op is code.SUBPATTERN:
            text += _shortest(value[-1])
        elif op is code.BRANCH:
            text += _shortest(value[1][0])
    return text


_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    code.CATEGORY_DIGIT: str.isdigit,
    code.CATEGORY_NOT_DIGIT: lambda char: not char.isdigit(),
    code.CATEGORY_SPACE: str.isspace,
    code.CATEGORY_NOT_SPACE: lambda char: not char.isspace(),
    code.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
    code.CATEGORY_NOT_WORD: lambda char: not (char.isalnum() or char == "_"),
}


def _chars_of(node: Any, char: str) -> str:
    """Return the character if the node takes it."""
    op, value = node
    if op is code.ANY:
        return "" if char == "\n" else char
    if op is code.LITERAL:
        return char if ord(char) == value else ""
    if op is code.NOT_LITERAL:
        return "" if ord(char) == value else char
    if op is not code.IN:
        return ""
    negated = value[0][0] is code.NEGATE
    inside = any(
        (kind is code.LITERAL and ord(char) == subject)
        or (kind is code.RANGE and subject[0] <= ord(char) <= subject[1])
        or (kind is code.CATEGORY and _CATEGORIES[subject](char))
        for kind, subject in value
    )
    return char if inside is not negated else ""


class TooSlow(Exception):  # noqa: N818  # what it is
    """A search took longer than anything linear can."""


def _give_up(_: int, __: FrameType | None) -> None:
    raise TooSlow


EVERY = patterns()


def test_the_patterns_are_collected() -> None:
    assert len(EVERY) > 40
    assert any("formatting" in name for name in EVERY)


def test_a_quadratic_pattern_is_detected() -> None:
    with pytest.raises(TooSlow):
        _search_all(re.compile(r"\s*[\r\n]+\s*"))


@pytest.mark.parametrize("name", EVERY)
def test_a_pattern_takes_linear_time(name: str) -> None:
    _search_all(EVERY[name])


def _search_all(pattern: re.Pattern[Any]) -> None:
    source = pattern.pattern
    as_text = source.decode("latin-1") if isinstance(source, bytes) else source
    before = signal.signal(signal.SIGPROF, _give_up)
    try:
        for text in attacks(as_text):
            signal.setitimer(signal.ITIMER_PROF, PATIENCE)
            pattern.search(text.encode("latin-1") if isinstance(source, bytes) else text)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
