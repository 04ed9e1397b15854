"""When an answer of the API counts: it is right, and stands for a while."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.scenarios import play
from tests.scenarios.play import SETTLED_SECONDS, Story, UntoldError
from tests.scenarios.scenario import Scenario

RIGHT: dict[str, Any] = {
    "code": "running",
    "health": "running",
    "message": "It runs.",
    "members": {},
    "advice": [],
}
WRONG = {**RIGHT, "code": "starting", "health": "starting"}


def story(within: float) -> Story:
    return Story(
        "k", Scenario("s", "Job", "run", "running", "running", lambda *_: [], within=within)
    )


def test_an_unstable_answer_never_counts() -> None:
    verdicts = story(0.0)
    for second in range(6):
        verdicts.look(RIGHT if second % 2 else WRONG, float(second))
    verdicts.look(WRONG, 6.0)
    with pytest.raises(UntoldError, match="code: 'starting' instead of 'running'") as raised:
        verdicts.wait_told()
    # The failure names the API answer of each second.
    assert "; 1 s: running (right); 2 s: starting (code:" in str(raised.value)


def test_a_right_answer_of_the_last_moment_may_stand_as_long_as_any_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(play, "LATE_SECONDS", 5.0)
    late = story(0.0)
    late.look(RIGHT, 10.0)
    timer = threading.Timer(0.05, late.look, (RIGHT, 10.0 + SETTLED_SECONDS))
    timer.start()
    late.wait_told()
    timer.join()


def test_an_answer_that_was_not_rechecked_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(play, "LATE_SECONDS", 0.0)
    once = story(0.0)
    once.look(RIGHT, 10.0)
    with pytest.raises(UntoldError, match="right, but not for long enough"):
        once.wait_told()
