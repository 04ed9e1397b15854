"""The cases of each commit are chosen so that they find every bug that is planted in the arithmetic."""

from __future__ import annotations

import pytest

from tests.agreement import kept_cases as kept
from tests.agreement.planted import BUGS, found_by


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str) -> None:
    assert list(found_by(kept.TELLING, BUGS[bug]))


def test_nothing_is_found_where_nothing_is_planted() -> None:
    assert not list(found_by(kept.DRAWN, {}))
