"""The decoder accepts every event that rules use."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import gangboard
from gangboard.decode.events import EVENT_REASONS

ROOT = Path(gangboard.__path__[0])
ROOMS = ("domain", "facts", "placement", "polling", "rules")


def is_reason_of_an_event(node: ast.expr) -> bool:
    """Whether it reads `event.reason`, as all that reads events calls them, or `x.event.reason`."""
    if not isinstance(node, ast.Attribute) or node.attr != "reason":
        return False
    of = node.value
    return (isinstance(of, ast.Name) and of.id == "event") or (
        isinstance(of, ast.Attribute) and of.attr == "event"
    )


def reasons_read(path: Path) -> Iterator[str]:
    """Yield the values a module compares event reasons with. Names are constants of the module."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare) or not is_reason_of_an_event(node.left):
            continue
        for other in node.comparators:
            if isinstance(other, ast.Name) and other.id.strip("_").isupper():
                name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
                value = getattr(importlib.import_module(name), other.id)
                yield from (value,) if isinstance(value, str) else value
            else:
                yield from (
                    item.value
                    for item in ast.walk(other)
                    if isinstance(item, ast.Constant) and isinstance(item.value, str)
                )


def test_decoder_accepts_every_reason_that_rules_read() -> None:
    read = {
        reason
        for room in ROOMS
        for path in sorted((ROOT / room).rglob("*.py"))
        for reason in reasons_read(path)
    }
    # A sample of each form of comparison, so the result is not empty.
    assert {"FailedCreate", "FailedMount", "Nominated", "NotTriggerScaleUp", "Preempted"} <= read
    assert read <= EVENT_REASONS
