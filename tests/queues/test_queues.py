"""Walk the registry of admission systems: every system has a test."""

from pathlib import Path

import pytest

import gangboard.queues
from gangboard.plugins.registry import queue_systems

ROOM = Path(gangboard.queues.__path__[0])
MEMBERS = sorted(file.stem for file in ROOM.iterdir() if not file.stem.startswith("_"))
"""Files, and folders of those that have several."""


@pytest.mark.parametrize("member", MEMBERS)
def test_every_member_has_a_test_file(member: str) -> None:
    assert (Path(__file__).parent / f"test_{member}.py").is_file()


def test_every_member_is_discovered_and_has_its_label() -> None:
    assert len(queue_systems()) == len(MEMBERS)
    assert all(queue.owner_label for queue in queue_systems())
