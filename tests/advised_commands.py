"""Steps that change a field without a restart, and whether each has its command to copy.

tests/catalogue.py looks at the steps of every finding that a test meets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gangboard.domain.advice import AdvisedStep, ChangeMethod

_IN_PLACE = f"({ChangeMethod.IN_PLACE})."
_WITHOUT_COMMAND = {
    "an image is pushed or loaded by another tool": r"(Push|Load) image ",
    "the number of pods is not known": r"Set spec\.parallelism of .* above 0 ",
    "a patch of a list replaces the whole list": r"Tolerate the taint ",
}
"""Why a step has no command → its pattern."""
EXCEPTIONS = "tests/rules/test_commands_of_steps.py"
"""Tests of steps whose patch is not certain: an unsafe name, a group with parts, a set of another controller."""


def without_command(advice: Iterable[AdvisedStep | str]) -> Iterator[str]:
    """Yield the sentences of changes in place that lack a command."""
    for step in advice:
        text, command = (step, ()) if isinstance(step, str) else (step.text, step.command)
        is_exception = any(re.match(pattern, text) for pattern in _WITHOUT_COMMAND.values())
        if text.endswith(_IN_PLACE) and not command and not is_exception:
            yield text
