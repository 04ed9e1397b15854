"""Every lever in the registry has a test and is complete."""

from __future__ import annotations

from pathlib import Path

import pytest

import gangboard.levers
from gangboard.domain.action import ClusterLevers, PolicyState
from gangboard.plugins import registry
from gangboard.plugins.discovery import RegistryError
from gangboard.plugins.lever import Lever

ROOM = Path(gangboard.levers.__path__[0])
MEMBERS = sorted(file.stem for file in ROOM.iterdir() if not file.stem.startswith("_"))


@pytest.mark.parametrize("member", MEMBERS)
def test_every_member_has_a_test_file(member: str) -> None:
    assert (Path(__file__).parent / f"test_{member}.py").is_file()


def test_every_member_is_discovered_including_queue_levers() -> None:
    of_queues = [lever for queue in registry.queue_systems() for lever in queue.levers]
    # The folder of the Hold has three levers.
    assert len(registry.levers()) == len(MEMBERS) + 2 + len(of_queues)


def test_keys_are_those_that_are_stored_and_in_the_api() -> None:
    assert [lever.key for lever in registry.levers()] == [
        "native",
        "hold",
        "hold-exclusion",
        "hold-cordon",
        "parallelism",
        "suspend",
        "exclusion",
        "volcano_command",
        "kueue-active",
        "kueue-exclusion",
    ]


@pytest.mark.parametrize("lever", registry.levers(), ids=lambda lever: lever.key)
def test_no_lever_is_usable_without_write_access(lever: Lever) -> None:
    for parallelism in (False, True):
        cluster = ClusterLevers(hold=PolicyState.INSTALLED, parallelism=parallelism)
        state = lever.readiness(cluster, "JobSet", "gangboard is switched to read-only.")
        assert not state.usable
        assert state.sentence


def test_a_kind_with_an_unknown_lever_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    remaining = tuple(lever for lever in registry.levers() if lever.key != "parallelism")
    monkeypatch.setattr(registry, "levers", lambda: remaining)
    registry.owner_kinds.cache_clear()
    try:
        with pytest.raises(RegistryError, match="JobSet names the lever 'parallelism'"):
            registry.owner_kinds()
    finally:
        registry.owner_kinds.cache_clear()
