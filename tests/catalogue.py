"""A pytest plugin that records the sentences of rules as a catalogue and compares later runs with it.

`pytest … --write-reasons` rewrites the catalogue (docs/testing.md). In other runs a test named in the catalogue
fails if its sentence has changed, except tests that draw other examples in `make exhaustive`.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from difflib import SequenceMatcher
from functools import wraps
from typing import Any

import pytest

from gangboard.domain.verdict import Finding
from gangboard.plugins import reasons
from tests import random_sets
from tests.advised_commands import EXCEPTIONS, without_command
from tests.evidence_labels import faults_of
from tools.reasons_docs import EXAMPLES, ReasonExample, read_examples

_SHOWN = 4
"""Examples of a reason."""
_ALIKE = 0.7
"""From this share of common text on two sentences are one with other numbers and names."""
_MADE_UP = re.compile(
    r"\w{64}|…|\$\(|; reboot|\d{10}|\bit is so\b|^It is full$|^(Do this|Start it)\.$"
)
"""Names, texts and advice that a test has made up: no example of what people read."""
_HOMES = ("tests/rules/", "tests/groups/", "tests/owners/", "tests/queues/", "tests/diagnosis/")
"""Where a reason has its own tests, those first that are nearest to it."""
_HOSTILE = (
    "tests/diagnosis/test_hostile_text.py",
    "tests/diagnosis/test_largest_numbers.py",
    "tests/groups/test_reasons_in_order.py",
    "tests/rules/test_causes_at_the_end.py",
)
"""Tests whose objects have hostile names, invented errors and the largest numbers: no examples either."""
_said: list[Finding] = []
_recorded: dict[tuple[str, str], ReasonExample] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--write-reasons", action="store_true", help="record the catalogue of sentences anew"
    )


def pytest_configure() -> None:
    """Collect findings made by the product. Findings that tests construct are ignored."""
    make = Finding.__init__

    @wraps(make)
    def listen(self: Finding, *args: Any, **fields: Any) -> None:
        make(self, *args, **fields)
        if sys._getframe(1).f_globals.get("__name__", "").startswith("gangboard."):
            _said.append(self)

    Finding.__init__ = listen  # type: ignore[method-assign]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Record the sentences of a test, or compare them with the catalogue."""
    _said.clear()
    yield
    bare = {text for entry in _said for text in without_command(entry.advice)}
    assert not bare or item.nodeid.startswith((EXCEPTIONS, *_HOSTILE)), (
        f"changes in place without a command, see tests/advised_commands.py: {sorted(bare)}"
    )
    wrong = {fault for entry in _said for fault in faults_of(entry.evidence)}
    assert not wrong, f"labels of evidence, see tests/evidence_labels.py: {sorted(wrong)}"
    if item.config.getoption("--write-reasons"):
        if not item.nodeid.startswith(_HOSTILE):
            for entry in _said:
                _recorded.setdefault((entry.code, entry.message), _example(entry, item.nodeid))
        return
    if random_sets.SIZE == random_sets.EXHAUSTIVE and item.get_closest_marker("hypothesis"):
        return  # other examples are drawn there
    reported = {(entry.code, entry.title, entry.message, _advice(entry)) for entry in _said}
    for example in _expected().get(item.nodeid, ()):
        assert (example.code, example.title, example.message, example.advice) in reported, (
            f"{example.code} does not say “{example.message}” any more: see tests/catalogue.py"
        )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the catalogue if requested."""
    if not session.config.getoption("--write-reasons"):
        return
    by_code: dict[str, list[ReasonExample]] = defaultdict(list)
    for item in _recorded.values():
        by_code[item.code].append(item)
    for unknown in by_code.keys() - reasons.titles().keys():
        del by_code[unknown]  # a toy's
    results = [item for code in sorted(by_code) for item in choose(by_code[code])]
    EXAMPLES.write_text(
        json.dumps([asdict(item) for item in results], indent=1, ensure_ascii=False) + "\n"
    )


def choose(message: Sequence[ReasonExample]) -> list[ReasonExample]:
    """Return the longest of these and some that differ from it and each other, those of its own tests first."""
    fit = [item for item in message if not _MADE_UP.search(item.message)] or list(message)
    chosen = [max(fit, key=lambda item: (len(item.message), item.message))]
    for item in sorted(fit, key=_place):
        if len(chosen) < _SHOWN and not any(_are_alike(item, another) for another in chosen):
            chosen.append(item)
    return sorted(chosen, key=_place)


def _place(item: ReasonExample) -> tuple[bool, int, str]:
    own = f"test_{item.code.replace('-', '_')}.py" in item.test
    home = next(
        (index for index, folder in enumerate(_HOMES) if item.test.startswith(folder)), len(_HOMES)
    )
    return not own, home, item.test


def _are_alike(item: ReasonExample, other: ReasonExample) -> bool:
    return SequenceMatcher(None, item.message, other.message, autojunk=False).ratio() >= _ALIKE


def _example(item: Finding, test: str) -> ReasonExample:
    return ReasonExample(
        item.code,
        item.stage.value,
        item.title,
        item.health.value,
        item.message,
        _advice(item),
        test,
    )


def _advice(item: Finding) -> tuple[str, ...]:
    """Return the steps that a rule has made, without those that a test has put into its mouth."""
    return tuple(text for text in item.advice_texts if not _MADE_UP.search(text))


def _expected() -> dict[str, list[ReasonExample]]:
    if not _by_test:
        for example in read_examples():
            _by_test[example.test].append(example)
    return _by_test


_by_test: dict[str, list[ReasonExample]] = defaultdict(list)
