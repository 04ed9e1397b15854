"""One Job of three is held for a minute while everything around it happens, on real 1.37 and 1.36."""

from __future__ import annotations

import pytest

from tests.acting.lasting import lasts
from tests.acting.playing import Playing, name_of

pytestmark = [pytest.mark.slow, pytest.mark.controlplane]


@pytest.mark.parametrize(
    "story",
    [
        pytest.param(name_of("k137", lasts), id="1.37"),
        pytest.param(name_of("k136", lasts), id="1.36"),
    ],
)
def test_a_hold_on_one_of_three_jobs_lasts_a_minute(playing: Playing, story: str) -> None:
    playing.result(story)
