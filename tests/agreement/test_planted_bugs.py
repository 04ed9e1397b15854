"""The cases of each commit are chosen so that they find every bug that is planted in the arithmetic."""

from __future__ import annotations

import pytest

from tests.agreement import kept_cases as kept
from tests.agreement.planted import BUGS, found_by


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_detected(bug: str) -> None:
    assert list(found_by(kept.TELLING, BUGS[bug]))


def test_an_unmodified_program_has_no_disagreement() -> None:
    assert not list(found_by(kept.DRAWN, {}))
