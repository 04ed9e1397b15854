"""Which lever is pulled on which real cluster, and what each JobSet does with a suspended Job."""

from __future__ import annotations

import pytest

from tests.acting.lasting import lasts
from tests.acting.playing import ACTS, Playing, name_of
from tests.acting.queued import managed_without_a_label

pytestmark = [pytest.mark.slow, pytest.mark.controlplane]

ELSEWHERE = (lasts, managed_without_a_label)
"""Stories with a file of tests of their own."""

STORIES = [
    name_of(cluster, story)
    for cluster, acts in ACTS.items()
    for act in acts
    for story in act.stories
    if story not in ELSEWHERE
]


@pytest.mark.parametrize("story", STORIES)
def test_a_story_ends_as_expected(playing: Playing, story: str) -> None:
    playing.result(story)
