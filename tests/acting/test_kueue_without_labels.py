"""Kueue that manages also what names no queue: settings of its own, when its other stories are over."""

from __future__ import annotations

import pytest

from tests.acting.playing import Playing, name_of
from tests.acting.queued import managed_without_a_label

pytestmark = [pytest.mark.slow, pytest.mark.controlplane]


@pytest.mark.parametrize("story", [name_of("kueue", managed_without_a_label)])
def test_a_managed_job_without_queue_waits(playing: Playing, story: str) -> None:
    playing.result(story)
