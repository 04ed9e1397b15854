"""The commands of docs/client.md work."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from django.utils import timezone

from gangboard.store.models import Action, Gang
from tests.api.conftest import Run as Runs
from tests.client.conftest import FakeClock, Run

PAPER = Path(__file__).resolve().parents[2] / "docs/client.md"
RECIPES = re.findall(r"^\| .*? \| `gangboard (.+?)` \|$", PAPER.read_text(), re.MULTILINE)
BLOCKED, RUNNING = {"health": "blocked"}, {"health": "running"}
CASES: list[tuple[dict[str, str], int]] = [
    *((BLOCKED, 0), (RUNNING, 0), (RUNNING, 0), (RUNNING, 1), (RUNNING, 0), (RUNNING, 0)),
    *((RUNNING, 1), (RUNNING, 1), (RUNNING, 0), (RUNNING, 0)),
]
"""How the gang is, and the exit code.

The Hold is not installed, so dry runs of a hold and of a relocation are not allowed. A release is refused.
"""


def _finish() -> None:
    action = Action.objects.first()
    if action is not None:
        state = "verified" if action.verb == "suspend" else "refused"
        Action.objects.update(state=state, finished_at=timezone.now())


@pytest.mark.parametrize(("line", "case"), list(zip(RECIPES, CASES, strict=True)))
def test_each_recipe_works(
    as_persona: Run,
    runs: dict[str, Runs],
    fake_clock: FakeClock,
    line: str,
    case: tuple[dict[str, str], int],
) -> None:
    columns, code = case
    Gang.objects.filter(pk=runs["east/team-a"].gang.pk).update(**columns)
    fake_clock.then = [_finish]
    result = as_persona("operator", *shlex.split(line))
    assert result.code == code, result
    assert result.out or line.startswith(("holds", "events", "list --mine"))
